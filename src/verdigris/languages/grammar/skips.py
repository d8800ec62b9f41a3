"""Marks one test as skipped in a text that tree-sitter reads; each language brings the form of its mark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from verdigris.languages.grammar.trees import tree_of
from verdigris.languages.probes import apply_edits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from verdigris.languages.grammar.suite import GrammarSuite, TestPlace
    from verdigris.languages.probes import ByteEdit


class SkipForms(Protocol):
    """What of a `GrammarLanguage` is asked here."""

    def suite(self, path: str, /) -> GrammarSuite: ...
    def makes(self, written: str, reported: str, /) -> bool: ...
    def skip_edits(self, place: TestPlace, data: bytes, why: str, /) -> tuple[ByteEdit, ...] | None: ...


def mark_skipped(language: SkipForms, path: str, data: bytes, name: str, why: str) -> bytes | None:
    """As `Language.with_skip`; None also where the text does not parse, before or after."""
    root, fault = tree_of(path, data)
    if fault is not None:
        return None
    place = _find_place(language, _read_places(language, path, root), name)
    edits = None if place is None else language.skip_edits(place, data, why)
    if edits is None:
        return None
    after = apply_edits(data, edits)
    return after if tree_of(path, after)[1] is None else None


def _read_places(language: SkipForms, path: str, root: Node) -> Sequence[TestPlace]:
    suite = language.suite(path)
    try:
        suite.collect(root)
        suite.read(root)
    except RecursionError:
        return ()
    return suite.places


def _find_place(language: SkipForms, places: Sequence[TestPlace], name: str) -> TestPlace | None:
    """The test of that name, or the innermost that makes it; None where two tests could be meant."""
    made = [place for place in places if language.makes(place.name, name)]
    longest = max((len(place.name) for place in made), default=0)
    inmost = [place for place in made if place.name == name] or [p for p in made if len(p.name) == longest]
    nodes = {place.node.id for place in inmost}
    return inmost[0] if len(nodes) == 1 else None


def indent_at(data: bytes, at: int) -> str | None:
    """What stands before this place on its line, where that is blank; None where it is not."""
    before = data[data.rfind(b"\n", 0, at) + 1 : at]
    return None if before.strip() else before.decode()


def line_end(data: bytes) -> str:
    """As the text ends its first line."""
    return "\r\n" if data.partition(b"\n")[0].endswith(b"\r") else "\n"
