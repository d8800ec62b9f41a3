"""Finds what a change of source adds that honest code rarely or never has."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.findings import Concern
from verdigris.languages.grammar.answers import NODES, pieced_words
from verdigris.languages.grammar.trees import (
    Unparsed,
    grammar_of,
    line_of,
    on_one_line,
    parse_tree,
    short,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node


@value
class Rule:
    kind: str
    nodes: frozenset[str]
    """Types of the nodes whose text tells."""
    words: re.Pattern[str]
    """Of that text from its beginning."""
    what: str
    blocks: bool = False


def rule(kind: str, nodes: str, words: str, what: str, *, blocks: bool = False) -> Rule:
    return Rule(kind, frozenset(nodes.split()), re.compile(words), what, blocks)


ENDS, ASKS, LOOKS = "ends the process", "asks who runs it", "looks at the stack"
TRIES = "configures how properties are tried"
FOR_ALL, RAW = "changes it for the whole process", "writes to a descriptor, past the captured output"
_IN_PIECES = rule("obscured", "", "", "builds a word of the test tools from pieces", blocks=True)
_PROGRAMS = re.compile(r"(?:.*/)?(?:main\.(?:rs|go)|(?:bin|cli|cmd|scripts?)/.*|cli\.[cm]?[jt]s)\Z")
"""Files that are programs: to end is theirs."""


def grammar_concerns(
    rules: Sequence[Rule], before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]
) -> tuple[Concern, ...]:
    """Source by path, without the tests among it; None where there is no file."""
    return tuple(
        concern
        for path, data in after.items()
        if data is not None and data != before.get(path) and grammar_of(path) is not None
        for concern in _new(rules, path, before.get(path) or b"", data)
    )


def _new(rules: Sequence[Rule], path: str, before: bytes, after: bytes) -> Iterator[Concern]:
    old, new = parse_tree(path, before), parse_tree(path, after)
    if isinstance(new, Unparsed):
        yield Concern(
            "obscured",
            path,
            new.line,
            f"it does not parse ({new.what}), so it was not examined",
            blocks=False,
        )
        return
    seen = Counter(
        (rule.kind, text) for rule, _, text in ([] if isinstance(old, Unparsed) else _hits(rules, path, old))
    )
    for rule, node, text in _hits(rules, path, new):
        seen[rule.kind, text] -= 1
        if seen[rule.kind, text] < 0:
            yield Concern(rule.kind, path, line_of(node), f"`{short(text)}` {rule.what}", rule.blocks)


def _hits(rules: Sequence[Rule], path: str, root: Node) -> Iterator[tuple[Rule, Node, str]]:
    rules = [rule for rule in rules if rule.kind != "exits" or not _PROGRAMS.match(path)]
    kinds = frozenset[str]().union(*(rule.nodes for rule in rules))
    for node in walk(root):
        if node.type in NODES and pieced_words(node):
            yield _IN_PIECES, node, on_one_line(node)
            continue
        if node.type not in kinds:
            continue
        text = on_one_line(node)
        for rule in rules:
            if node.type in rule.nodes and rule.words.match(text):
                yield rule, node, text
                break
