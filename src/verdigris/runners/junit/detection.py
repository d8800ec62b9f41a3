"""Detects stacks that Maven, PHPUnit or RSpec test, and tools for which there is no preset."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.settings import JUnit, Stack
from verdigris.languages.folders import Folder, FoundStacks, folders_with, outermost_of, text_in
from verdigris.runners.junit import PHPUNIT, RSPEC, SUREFIRE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


_RUNNER = "junit"
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


def find_stacks(root: Path, folders: Sequence[Folder]) -> FoundStacks:
    stacks = (*_maven(root, folders), *_phpunit(root, folders), *_rspec(root, folders))
    marks = {name: outermost_of(folders_with(folders, [name])) for name in _UNSET}
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


def _maven(root: Path, folders: Sequence[Folder]) -> Iterator[Stack]:
    for place in outermost_of(folders_with(folders, ["pom.xml"])):
        home = root / place
        kotlin = (home / "src/main/kotlin").is_dir() or (home / "src/test/kotlin").is_dir()
        wrapped = (home / "mvnw").is_file()
        yield Stack(
            root=place,
            language="kotlin" if kotlin else "java",
            runner=_RUNNER,
            junit=JUnit(
                preset="surefire",
                command=("./mvnw", *SUREFIRE.command[1:]) if wrapped else (),
                everything=("./mvnw", *SUREFIRE.everything[1:]) if wrapped else (),
                path="src/test/kotlin/{class}.kt" if kotlin else None,
                source="src/main/kotlin/{package}/{file}" if kotlin else None,
            ),
        )


def _phpunit(root: Path, folders: Sequence[Folder]) -> Iterator[Stack]:
    marked = folders_with(folders, ["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"])
    marked += [
        at for at in folders_with(folders, ["composer.json"]) if "phpunit/phpunit" in _composer(root, at)
    ]
    for place in outermost_of(set(marked)):
        local = "phpunit/phpunit" in _composer(root, place)
        command = ("vendor/bin/phpunit", *PHPUNIT.command[1:]) if local else ()
        yield Stack(
            root=place, language="php", runner=_RUNNER, junit=JUnit(preset="phpunit", command=command)
        )


def _composer(root: Path, place: str) -> str:
    return text_in(root / place, "composer.json")


def _rspec(root: Path, folders: Sequence[Folder]) -> Iterator[Stack]:
    marked = folders_with(folders, [".rspec"])
    marked += [at for at in folders_with(folders, ["Gemfile"]) if _gem(root, at)]
    for place in outermost_of(set(marked)):
        command = ("bundle", "exec", *RSPEC.command) if _gem(root, place) else ()
        yield Stack(root=place, language="ruby", runner=_RUNNER, junit=JUnit(preset="rspec", command=command))


def _gem(root: Path, place: str) -> bool:
    return bool(re.search(r"\brspec\b", _gems(root, place)))


def _gems(root: Path, place: str) -> str:
    return text_in(root / place, "Gemfile", "Gemfile.lock")
