"""Functions, comments and imports of a file, read from its tokens; and tests that a change may affect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.test_ids import REACH
from verdigris.core.value import value
from verdigris.languages.findings import IdMark, Imported, TestComment
from verdigris.languages.grammar.trees import line_of, part, parts, text_of_node, tree_of, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tree_sitter import Node


_COMMENT = re.compile(r"//\s*@tdd-id:\s*([A-Za-z0-9][\w.-]*)\s*$")


@value
class DeclaredFunction:
    line: int
    """Of its first attribute, where it has one."""
    name: str
    """With the modules around it, e.g. `tests::adds`; empty for a Go method, which is no test of its own."""
    last: int
    """The line of its name."""


@value
class Token:
    kind: str
    text: str
    line: int
    is_first: bool
    """Nothing stands before it on its line."""


@value
class TextReader:
    """Reads the functions of a language's files, and the comments that belong to them."""

    spans: Callable[[str], Iterable[tuple[str, int, int]]]
    """Kind, start and end of each token of a text, but for space."""
    find: Callable[[list[Token]], Iterable[DeclaredFunction]]
    """The functions among words and signs."""

    def functions(self, text: str) -> tuple[DeclaredFunction, ...]:
        """Lists functions in the order of the text; none where it cannot be read."""
        return tuple(self.find(_words_and_signs(_tokens_of(text, self.spans(text)))))

    def comments(self, text: str) -> tuple[TestComment, ...]:
        tokens = _tokens_of(text, self.spans(text))
        return tuple(_comments_above(self.find(_words_and_signs(tokens)), tokens))

    def marks(self, text: str) -> tuple[IdMark, ...]:
        return _marks_of(self.comments(text))


def _tokens_of(text: str, spans: Iterable[tuple[str, int, int]]) -> list[Token]:
    """`spans`: kind, start and end of each."""
    found: list[Token] = []
    at, line = 0, 1
    for kind, start, end in spans:
        gap = text.count("\n", at, start)
        line += gap
        found.append(Token(kind, text[start:end], line, is_first=bool(gap) or not found))
        line += text.count("\n", start, end)
        at = end
    return found


def _words_and_signs(tokens: Iterable[Token]) -> list[Token]:
    return [token for token in tokens if token.kind in {"word", "sign"}]


def _marks_of(comments: Iterable[TestComment]) -> tuple[IdMark, ...]:
    """`// @tdd-id: slug` on a line of its own."""
    found = ((one, _COMMENT.match(one.text)) for one in comments if one.test is not None)
    return tuple(IdMark(mark[1], one.line, one.test) for one, mark in found if mark)


def _comments_above(functions: Iterable[DeclaredFunction], tokens: Iterable[Token]) -> Iterator[TestComment]:
    """A comment belongs to the next function, if that is within reach."""
    defined = [*functions]
    for token in tokens:
        if not token.text.startswith(("//", "/*")):
            continue
        for line, text in comment_lines(token.line, token.text):
            owner = next((each for each in defined if each.last > line), None) if token.is_first else None
            is_near = owner is not None and owner.name and owner.line - line <= REACH
            yield TestComment(line, text, owner.name if owner is not None and is_near else None)


def comment_lines(line: int, text: str) -> Iterator[tuple[int, str]]:
    """Each line of a comment with its number; one of a block begins as the block does."""
    sign = "/* " if text.startswith("/*") else ""
    lines = (one.strip().removeprefix(sign.strip()).strip() for one in text.split("\n"))
    return ((number, sign + one) for number, one in enumerate(lines, line))


MOST_FILES = 3_000
"""That are read at most."""
_LOADS = frozenset({"require", "import", "require.resolve"})


def read_imports(path: str, data: bytes) -> tuple[Imported, ...]:
    root, _ = tree_of(path, data)
    named = ((node, named) for node in walk(root) for named in _import_sources(node))
    return tuple(Imported(line_of(node), text_of_node(text).strip("\"'`")) for node, text in named)


def _import_sources(node: Node) -> Iterator[Node]:
    match node.type:
        case "import_statement" | "export_statement":
            if (source := part(node, "source")) is not None:
                yield source
        case "call_expression" if text_of_node(part(node, "function")) in _LOADS:
            yield from parts(part(node, "arguments"))[:1]
        case "import_require_clause" | "import_spec":
            found = part(node, "source") or part(node, "path")
            if found is not None:
                yield found


def closure(start: str, leads: Mapping[str, set[str]]) -> set[str]:
    """All that one leads to, itself included."""
    seen, waiting = {start}, [start]
    while waiting:
        fresh = leads.get(waiting.pop(), set()) - seen
        seen |= fresh
        waiting += fresh
    return seen
