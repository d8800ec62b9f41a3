"""Finds the oracle's part of a mixed file: the runner's keys, or tests among source."""

from __future__ import annotations

from verdigris.core.languages import facts_of_manifest, has_tests_in_source
from verdigris.core.paths import PathClass
from verdigris.languages.registry import language_named, reader_of


def runner_keys(name: str, data: bytes) -> bytes:
    """Canonical bytes of the runner's part; empty when there is none.

    What cannot be parsed counts whole, so that breaking the syntax is a difference.
    """
    facts = facts_of_manifest(name)
    if facts is None:
        return b""
    try:
        return language_named(facts.name).runner_keys(name, data.decode())
    except (ValueError, RecursionError):
        return data


def holds_tests(path: str, cls: PathClass) -> bool:
    """Whether tests may stand among the source of this file."""
    return cls is PathClass.SOURCE and has_tests_in_source(path)


def is_mixed(path: str, cls: PathClass) -> bool:
    """Whether a part of the file may be the oracle's while the rest is not."""
    folder, _, name = path.rpartition("/")
    is_manifest = facts_of_manifest(name) is not None and "node_modules" not in folder.split("/")
    return is_manifest or holds_tests(path, cls)


def oracle_part(path: str, data: bytes) -> bytes:
    """Canonical bytes of what decides; empty when there is nothing. What cannot be read counts whole."""
    name = path.rpartition("/")[2]
    if facts_of_manifest(name) is not None:
        return runner_keys(name, data)
    regions = reader_of(path).test_regions()
    return b"" if regions is None else regions.oracle_part(data)


def same_oracle_part(path: str, before: bytes | None, after: bytes | None) -> bool:
    return before == after or oracle_part(path, before or b"") == oracle_part(path, after or b"")
