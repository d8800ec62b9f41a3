"""Detects the stacks of a project that has no `tdd.yaml` yet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.languages import JUNIT, family_of, known_languages
from verdigris.core.settings import JUnit, Stack
from verdigris.languages.folders import FoundStacks, folders, folders_with, outermost_of, text_in
from verdigris.languages.registry import all_languages, language_named, load_third_parties, readers
from verdigris.runners.junit import PHPUNIT, RSPEC, SUREFIRE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from verdigris.languages.folders import Folder


def detect(root: Path, lang: str | None = None) -> FoundStacks:
    """The stacks, outermost first; with `lang` those of that language alone."""
    known = folders(root)
    load_third_parties()
    wanted = None if lang is None else name_of_language(lang)
    default, *rest = readers()
    others = [
        *(language.detect(root, known, alone=False) for language in rest),
        find_junit_stacks(root, known),
    ]
    elsewhere = any(one.stacks for one in others if one is not None)
    first = default.detect(root, known, alone=wanted == default.name or not elsewhere)
    seen = [one for one in (first, *others) if one is not None]
    stacks = sorted((s for one in seen for s in one.stacks), key=lambda s: (s.root != ".", s.root))
    if wanted is not None:
        return FoundStacks(_of_language(stacks, wanted))
    notes = tuple(note for one in seen for note in one.notes)
    if stacks or notes:
        return FoundStacks(tuple(stacks), notes)
    bare = (language.detect_bare(root, known) for language in readers())
    return next((one for one in bare if one is not None), FoundStacks())


def name_of_language(lang: str) -> str:
    """Our name for a language, however a person calls it."""
    load_third_parties()
    word = lang.lower()
    name = next((one.name for one in all_languages() if word in (one.name, *one.facts.aliases)), None)
    if name is None:
        hint = f"use {', '.join(known_languages())}"
        raise UserError(f"{lang} is not a language that Verdigris knows.", hint=hint)
    return name


def _of_language(stacks: list[Stack], language: str) -> tuple[Stack, ...]:
    family = family_of(language)
    found = tuple(stack for stack in stacks if stack.language in family)
    if not found and (runner := language_named(language).bare_runner) is not None:
        return (Stack(language=language, runner=runner),)
    if not found:
        raise UserError(
            f"no test tool of {language} is found here.",
            hint="write tdd.yaml with `runner: junit` (`tdd help configuration`), then `tdd init` again",
        )
    return found


_DOCS = "a stack with `runner: junit` can run it: `tdd help configuration`, `stacks[].junit`"
_FORMATTER = "rspec_junit_formatter"
_UNSET = {
    "build.gradle": "Gradle",
    "build.gradle.kts": "Gradle",
    "build.sbt": "sbt",
    "mix.exs": "Elixir",
    "Package.swift": "Swift",
}
"""Tools that can write JUnit XML, and for which there is no preset."""


def find_junit_stacks(root: Path, known: Sequence[Folder]) -> FoundStacks:
    stacks = (*_maven(root, known), *_phpunit(root, known), *_rspec(root, known))
    marks = {name: outermost_of(folders_with(known, [name])) for name in _UNSET}
    notes = [
        f"{at}/{name} is of {_UNSET[name]}, for which nothing is preset; {_DOCS}".removeprefix("./")
        for name, places in marks.items()
        for at in places
    ]
    notes += [
        f"{stack.root}/pom.xml has modules: give each that has tests a stack of its own".removeprefix("./")
        for stack in stacks
        if stack.language in {"java", "kotlin"} and "<modules>" in text_in(root / stack.root, "pom.xml")
    ]
    if any(stack.language == "ruby" and _FORMATTER not in _gems(root, stack.root) for stack in stacks):
        notes.append(f"RSpec writes JUnit XML by the gem {_FORMATTER}: add it to the Gemfile")
    return FoundStacks(stacks, tuple(notes))


def _maven(root: Path, known: Sequence[Folder]) -> Iterator[Stack]:
    for place in outermost_of(folders_with(known, ["pom.xml"])):
        home = root / place
        kotlin = (home / "src/main/kotlin").is_dir() or (home / "src/test/kotlin").is_dir()
        wrapped = (home / "mvnw").is_file()
        yield Stack(
            root=place,
            language="kotlin" if kotlin else "java",
            runner=JUNIT,
            junit=JUnit(
                preset="surefire",
                command=("./mvnw", *SUREFIRE.command[1:]) if wrapped else (),
                everything=("./mvnw", *SUREFIRE.everything[1:]) if wrapped else (),
                path="src/test/kotlin/{class}.kt" if kotlin else None,
                source="src/main/kotlin/{package}/{file}" if kotlin else None,
            ),
        )


def _phpunit(root: Path, known: Sequence[Folder]) -> Iterator[Stack]:
    marked = folders_with(known, ["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"])
    marked += [
        at for at in folders_with(known, ["composer.json"]) if "phpunit/phpunit" in _composer(root, at)
    ]
    for place in outermost_of(set(marked)):
        local = "phpunit/phpunit" in _composer(root, place)
        command = ("vendor/bin/phpunit", *PHPUNIT.command[1:]) if local else ()
        yield Stack(root=place, language="php", runner=JUNIT, junit=JUnit(preset="phpunit", command=command))


def _composer(root: Path, place: str) -> str:
    return text_in(root / place, "composer.json")


def _rspec(root: Path, known: Sequence[Folder]) -> Iterator[Stack]:
    marked = folders_with(known, [".rspec"])
    marked += [at for at in folders_with(known, ["Gemfile"]) if _gem(root, at)]
    for place in outermost_of(set(marked)):
        command = ("bundle", "exec", *RSPEC.command) if _gem(root, place) else ()
        yield Stack(root=place, language="ruby", runner=JUNIT, junit=JUnit(preset="rspec", command=command))


def _gem(root: Path, place: str) -> bool:
    return bool(re.search(r"\brspec\b", _gems(root, place)))


def _gems(root: Path, place: str) -> str:
    return text_in(root / place, "Gemfile", "Gemfile.lock")
