"""Finds a language by name or by file, third parties' included; and the oracle's part of a mixed file."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from verdigris.core.languages import (
    DEFAULT_LANGUAGE,
    FACTS,
    READ_LANGUAGES,
    Facts,
    facts_named,
    facts_of,
    facts_of_manifest,
    has_tests_in_source,
    known_languages,
    register,
)
from verdigris.core.paths import PathClass
from verdigris.core.value import replace
from verdigris.languages.protocol import Language

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.core.actions import FileWrite
    from verdigris.core.settings import Settings, Stack
    from verdigris.languages.assertions import TestReading
    from verdigris.languages.conventions import Usual
    from verdigris.languages.findings import StubFinding


GROUP = "verdigris.languages"
"""The group of entry points; each entry names a `Language`."""
UNREAD = Language(Facts("", ()))
"""The language of files whose ending is not known."""
_THIRD: dict[str, Language] = {}


def language_named(name: str) -> Language:
    """The language of this name; `UNREAD` if none is known."""
    facts = facts_named(name)
    if facts is None:
        load_third_parties()
        facts = facts_named(name)
    return UNREAD if facts is None else _language(facts.name)


@cache
def _language(name: str) -> Language:
    if name in READ_LANGUAGES:
        language: Language = import_module(f"verdigris.languages.{name}").LANGUAGE
        return language
    return _THIRD.get(name) or Language(FACTS[name])


def load_third_parties() -> None:
    """Registers languages of other packages. A broken one raises an error.

    It is called when a project names an unknown language, so a broken one stops no project without it.
    """
    from verdigris.seams import Seam

    for language in Seam(GROUP, dict.fromkeys(known_languages(), "")).others():
        _THIRD[language.name] = language
        register(language.facts)


def register_languages_of(settings: Settings) -> None:
    """Registers the languages that the stacks name, so that the endings of their files are known."""
    for stack in settings.stacks:
        language_named(stack.language)


def language_for(path: str) -> Language | None:
    """The language that the file's ending names."""
    facts = facts_of(path)
    return None if facts is None else _language(facts.name)


def reader_of(path: str) -> Language:
    """Like `language_for`, but with the default language for a file without a known ending, e.g. a script."""
    return language_for(path) or _language(DEFAULT_LANGUAGE)


def readers() -> tuple[Language, ...]:
    """All languages that have a reader; our own come first."""
    return tuple(_language(name) for name in (*READ_LANGUAGES, *_THIRD))


def all_languages() -> tuple[Language, ...]:
    return tuple(map(_language, known_languages()))


def by_language(paths: Iterable[str]) -> dict[Language, list[str]]:
    """Groups files by language; files of no known language are left out."""
    groups: dict[Language, list[str]] = {}
    for path in paths:
        if (language := language_for(path)) is not None:
            groups.setdefault(language, []).append(path)
    return groups


# -- questions about one file --------------------------------------------------------------------------------


def usual(stack: Stack) -> Usual:
    """The usual places of a stack."""
    return language_named(stack.language).project.conventions(stack.runner)


def is_traced(path: str) -> bool:
    """Whether runs of the file can be traced line by line."""
    language = language_for(path)
    return language is not None and path.endswith(language.traced_suffixes)


def has_grammar(path: str) -> bool:
    """Whether a grammar reads the file."""
    language = language_for(path)
    return language is not None and language.tests.has_grammar(path)


def beyond_stubs(path: str, before: bytes | None, after: bytes) -> StubFinding | None:
    """Where and why a change of source adds more than stubs; tests among the source are ignored."""
    return reader_of(path).stubs.beyond_stubs(path, before, after)


def is_same_tree(path: str, before: bytes, after: bytes) -> bool:
    """Whether only comments and layout differ; False if nothing here reads the language."""
    return reader_of(path).source.same_tree(path, before, after)


def with_stub_facts(file: FileWrite, finding: StubFinding | None) -> FileWrite:
    """Adds to a write whether it adds more than stubs, and where. `finding`: from `beyond_stubs`."""
    why = "" if finding is None else f"line {finding.line}: {finding.why}"
    language = language_for(file.path or "")
    stub = "" if language is None else language.stubs.stub_of_edit(file.before or b"", file.after or b"")
    return replace(file, beyond_stubs=why, stub=stub)


def read_all(files: Mapping[str, bytes]) -> dict[str, TestReading]:
    """Reads the tests of files that have a grammar; if a text does not parse, as many as possible."""
    readings: dict[str, TestReading] = {}
    for language, paths in by_language(files).items():
        readings |= language.tests.read_tests({path: files[path] for path in paths})
    return {path: readings[path] for path in files}


def runner_keys(name: str, data: bytes) -> bytes:
    """Canonical bytes of the part of a file that the runner reads; empty if there is none.

    A file that cannot be parsed counts as a whole, so that broken syntax counts as a change.
    """
    facts = facts_of_manifest(name)
    if facts is None:
        return b""
    try:
        return language_named(facts.name).project.runner_keys(name, data.decode())
    except (ValueError, RecursionError):
        return data


def holds_tests(path: str, cls: PathClass) -> bool:
    """Whether this source file may contain tests."""
    return cls is PathClass.SOURCE and has_tests_in_source(path)


def is_mixed(path: str, cls: PathClass) -> bool:
    """Whether a part of the file may belong to the oracle while the rest does not."""
    folder, _, name = path.rpartition("/")
    is_manifest = facts_of_manifest(name) is not None and "node_modules" not in folder.split("/")
    return is_manifest or holds_tests(path, cls)


def oracle_part(path: str, data: bytes) -> bytes:
    """Canonical bytes of the oracle's part, empty if there is none. An unreadable text counts as a whole."""
    name = path.rpartition("/")[2]
    if facts_of_manifest(name) is not None:
        return runner_keys(name, data)
    regions = reader_of(path).test_regions()
    return b"" if regions is None else regions.oracle_part(data)


def same_oracle_part(path: str, before: bytes | None, after: bytes | None) -> bool:
    return before == after or oracle_part(path, before or b"") == oracle_part(path, after or b"")
