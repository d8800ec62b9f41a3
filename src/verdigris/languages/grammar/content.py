"""Probes that compare content: what an assertion calls equal is so without methods of the project's own.

Honest code passes all of them at once, so they cost no run of their own where the true tests run anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.languages.grammar.trees import last_line, on_one_line, short, text_of_node, walk
from verdigris.languages.probes import ByteEdit, Probe, ProbeChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tree_sitter import Node

    from verdigris.languages.grammar.probes import AssertionPlace

_NAMES = frozenset({"identifier", "type_identifier", "property_identifier"})


def content_probes(
    places: Iterable[AssertionPlace], edits_of: Callable[[Node, str], tuple[ByteEdit, ...]]
) -> tuple[Probe, ...]:
    """`edits_of`: the edits of an assertion, in the file of this path; none if it compares nothing."""
    return tuple(
        Probe(
            place.path,
            place.line,
            short(on_one_line(place.node)),
            (ProbeChange(edits),),
            place.sure,
            place.maybe,
            last=last_line(place.node),
        )
        for place in places
        if (place.sure or place.maybe) and (edits := edits_of(place.node, place.path))
    )


def root_of(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


def named_classes(scope: Node) -> list[str]:
    """The names of classes in a test: one that it names may be what it tests, with an equality of its own."""
    names = {text_of_node(node) for node in walk(scope) if node.type in _NAMES}
    return sorted(name for name in names if name[:1].isupper())


def wrap(
    nodes: Iterable[Node], before: str, after: str, inner: Iterable[ByteEdit] = ()
) -> tuple[ByteEdit, ...]:
    """Puts a text before and after each node, around the `inner` edits where these are at the same places."""
    texts = {edit.start: edit.text for edit in inner}
    for node in {node.id: node for node in nodes}.values():
        texts[node.start_byte] = before + texts.get(node.start_byte, "")
        texts[node.end_byte] = texts.get(node.end_byte, "") + after
    return tuple(ByteEdit(at, at, text) for at, text in texts.items())
