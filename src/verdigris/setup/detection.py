"""Detects the stacks of a project that has no `tdd.yaml` yet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.languages import GO, JUNIT, JVM, NODE, PYTHON, RUST, SUFFIXES
from verdigris.core.settings import JUnit, Stack
from verdigris.languages.folders import Found, folders, holding, holds_suffix, outermost, text_in
from verdigris.languages.node import detection as node_detecting
from verdigris.languages.python import detection as python_detecting
from verdigris.runners.junit import PHPUNIT, RSPEC, SUREFIRE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from verdigris.languages.folders import Folder


_ALSO = {
    **dict.fromkeys(("js", "javascript", "ts", "typescript", "nodejs"), NODE),
    "py": PYTHON,
    "rs": RUST,
    "golang": GO,
    "rb": "ruby",
    "c#": "csharp",
}
_BARE = {PYTHON: "pytest", NODE: "node-test", RUST: "cargo", GO: "go"}
"""What tests a language where nothing is there yet; node's own tool needs no package."""


def detect(root: Path, lang: str | None = None) -> Found:
    """The stacks, outermost first; with `lang` those of that language alone."""
    known = folders(root)
    others = (
        node_detecting.found(root, known),
        rust(known),
        go(known),
        found(root, known),
    )
    elsewhere = tuple(stack for found in others for stack in found.stacks)
    only_python = lang is not None and language_named(lang) == PYTHON
    seen = (python_detecting.found(root, known, alone=only_python or not elsewhere), *others)
    stacks = sorted((s for found in seen for s in found.stacks), key=lambda s: (s.root != ".", s.root))
    if lang is not None:
        return Found(_of_language(stacks, language_named(lang)))
    notes = tuple(note for found in seen for note in found.notes)
    return Found(tuple(stacks), notes) if stacks or notes else node_detecting.bare(root, known)


def language_named(lang: str) -> str:
    """As a person may call it."""
    name = _ALSO.get(lang.lower(), lang.lower())
    if name not in SUFFIXES:
        raise UserError(f"{lang} is no language that is known here.", hint=f"use {', '.join(SUFFIXES)}")
    return name


def _of_language(stacks: list[Stack], language: str) -> tuple[Stack, ...]:
    family = JVM if language in JVM else (language,)
    found = tuple(stack for stack in stacks if stack.language in family)
    if not found and language in _BARE:
        return (Stack(language=language, runner=_BARE[language]),)
    if not found:
        raise UserError(
            f"no test tool of {language} is found here.",
            hint="write tdd.yaml with `runner: junit` (`tdd help configuration`), then `tdd init` again",
        )
    return found


def rust(known: Sequence[Folder]) -> Found:
    """A workspace is one stack at its root: cargo builds and tests it as one."""
    places = outermost(holding(known, ["Cargo.toml"]))
    return Found(tuple(Stack(root=place, language=RUST, runner="cargo") for place in places))


def go(known: Sequence[Folder]) -> Found:
    """Each module is its own: `./...` ends where another module begins, in a workspace (`go.work`) too."""
    modules = holding(known, ["go.mod"])
    outer = outermost(modules)
    places = [m for m in modules if m in outer or holds_suffix(known, m, ("_test.go",))]
    return Found(tuple(Stack(root=place, language=GO, runner="go") for place in places))


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


def found(root: Path, known: Sequence[Folder]) -> Found:
    stacks = (*_maven(root, known), *_phpunit(root, known), *_rspec(root, known))
    marks = {name: outermost(holding(known, [name])) for name in _UNSET}
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
    return Found(stacks, tuple(notes))


def _maven(root: Path, known: Sequence[Folder]) -> Iterator[Stack]:
    for place in outermost(holding(known, ["pom.xml"])):
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
    marked = holding(known, ["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"])
    marked += [at for at in holding(known, ["composer.json"]) if "phpunit/phpunit" in _composer(root, at)]
    for place in outermost(set(marked)):
        local = "phpunit/phpunit" in _composer(root, place)
        command = ("vendor/bin/phpunit", *PHPUNIT.command[1:]) if local else ()
        yield Stack(root=place, language="php", runner=JUNIT, junit=JUnit(preset="phpunit", command=command))


def _composer(root: Path, place: str) -> str:
    return text_in(root / place, "composer.json")


def _rspec(root: Path, known: Sequence[Folder]) -> Iterator[Stack]:
    marked = holding(known, [".rspec"])
    marked += [at for at in holding(known, ["Gemfile"]) if _gem(root, at)]
    for place in outermost(set(marked)):
        command = ("bundle", "exec", *RSPEC.command) if _gem(root, place) else ()
        yield Stack(root=place, language="ruby", runner=JUNIT, junit=JUnit(preset="rspec", command=command))


def _gem(root: Path, place: str) -> bool:
    return bool(re.search(r"\brspec\b", _gems(root, place)))


def _gems(root: Path, place: str) -> str:
    return text_in(root / place, "Gemfile", "Gemfile.lock")
