"""Makes test ids in JavaScript and TypeScript, and reads the declarations of tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.errors import HarnessError
from verdigris.core.languages import file_end
from verdigris.core.value import value
from verdigris.languages.grammar.trees import line_of, part, parts, text_of_node
from verdigris.languages.protocol import TestIds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from verdigris.core.report import TestResult
    from verdigris.languages.findings import IdMark


SEPARATOR = " › "
_SLASHED = re.compile(r"(\\*)›")


@value
class NodeId:
    path: str
    names: tuple[str, ...]
    """The names of the describes, outermost first, and of the test; empty for a whole file or folder."""


def node_id(path: str, names: Sequence[str]) -> str:
    r"""Writes a `›` inside a name as `\›`, so that `split_node_id` returns the same names."""
    escaped = (_SLASHED.sub(lambda found: found[1] * 2 + "\\›", name) for name in names)
    return f"{path}::{SEPARATOR.join(escaped)}"


def split_node_id(test_id: str) -> NodeId:
    end = file_end(test_id)
    if end < 0:
        return NodeId(test_id, ())
    escaped = test_id[end + 2 :].split(SEPARATOR)
    names = (_SLASHED.sub(lambda found: found[1][: len(found[1]) // 2] + "›", name) for name in escaped)
    return NodeId(test_id[:end], tuple(names))


_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
SUITES = frozenset({"describe", "suite", "context", "fdescribe", "xdescribe"})
TESTS = frozenset({"it", "test", "fit", "xit", "xtest", "specify", "xspecify"})
_EACH = frozenset({"each", "for"})
_PREPARING = _EACH | {"skipIf", "runIf", "extend"}
"""Words whose call returns the function that declares a test."""


@value
class Declaration:
    line: int
    last_line: int
    """The line of its name; a run reports a line from `line` to this one."""
    names: tuple[str, ...] | None
    """The names of the describes around it and its own; None if one of them is computed."""
    is_test: bool
    is_each: bool


def declarations(root: Node) -> list[Declaration]:
    """The describes and tests of a file, in the order of the text."""
    found: list[Declaration] = []
    waiting: list[tuple[Node, tuple[str, ...] | None]] = [(root, ())]
    while waiting:
        node, around = waiting.pop()
        inner, declared = node, _read_declaration(node, around) if node.type == "call_expression" else None
        if declared is not None:
            found.append(declared)
            inner, around = part(node, "arguments") or node, None if declared.is_each else declared.names
        waiting += ((child, around) for child in reversed(inner.children))
    return found


def _read_declaration(call: Node, around: tuple[str, ...] | None) -> Declaration | None:
    function, arguments = part(call, "function"), parts(part(call, "arguments"))
    words = read_chain(function)
    if words is None or function is None or not arguments:
        return None
    if function.type != "call_expression" and text_of_node(words[-1]) in _PREPARING:
        return None
    if len(words) > 1 and text_of_node(words[0]) == "t":
        words = words[1:]  # node:test declares a subtest by `t.test(…)`
    texts = [text_of_node(word) for word in words]
    if texts[0] not in SUITES | TESTS:
        return None
    name = read_name(arguments[0])
    return Declaration(
        line=line_of(words[0]),
        last_line=line_of(arguments[0]),
        names=None if around is None or name is None else (*around, name),
        is_test=texts[0] in TESTS,
        is_each=not _EACH.isdisjoint(texts),
    )


def read_chain(function: Node | None) -> list[Node] | None:
    """The words of a chain such as `test.concurrent.each(…)`; None if it does not begin with a name."""
    found: list[Node] = []
    while function is not None:
        match function.type:
            case "member_expression":
                word = part(function, "property")
                found += [word] if word is not None else []
                function = part(function, "object")
            case "call_expression":
                function = part(function, "function")
            case "non_null_expression" | "instantiation_expression":
                function = function.children[0]  # the grammar reads `each<T>` before a template so
            case "identifier" | "this":
                return [function, *reversed(found)]
            case _:
                return None
    return None


def read_name(node: Node) -> str | None:
    """The name as a run reports it; None if it is computed."""
    if node.type == "string" or (node.type == "template_string" and "${" not in text_of_node(node)):
        return _ESCAPE.sub(_unescape_character, text_of_node(node)[1:-1])
    return None


def _unescape_character(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        number = int(code, 16)
        return chr(number) if number <= 0x10FFFF else found[0]  # noqa: PLR2004 - the last code point
    return _SIMPLE.get(found[4], found[4])


_FILLED_IN = r"%%|%[a-zA-Z#$]|\$\{[^}]*\}|\$#|\$[\w.]+"
"""Placeholders in the name of a test, which rows of a table or values of variables fill."""
_QUOTED = r"(^| › )`(.*?)`(?= › |$)"


def _can_become(written: str, reported: str) -> bool:
    """Whether a written name with placeholders can become the reported name."""
    fixed = re.split(_FILLED_IN, re.sub(_QUOTED, r"\1\2", written))
    return len(fixed) > 1 and re.fullmatch(".*".join(map(re.escape, fixed)), reported, re.DOTALL) is not None


class NodeTestIds(TestIds):
    def case_of(self, mark: IdMark, path: str, result: TestResult) -> str | None:  # noqa: ARG002 - by names
        """The name of a case in brackets, empty for a test without a table; None if it is another test's."""
        test, names = _declaration(mark), split_node_id(result.native_id).names
        if test.names is not None and not test.is_each:
            return "" if test.names == names else None
        # Computed names do not show which test it is, but its line does.
        if not test.line <= result.line <= test.last_line:
            return None
        return f"[{names[-1]}]" if test.is_each else ""

    def native_id(self, path: str, mark: IdMark, case: str) -> str:
        test = _declaration(mark)
        if test.names is None or (test.is_each and not case):
            return path
        return node_id(path, (*test.names[:-1], case[1:-1]) if test.is_each else test.names)

    def written_id(self, path: str, mark: IdMark) -> str | None:
        names = _declaration(mark).names
        return None if names is None else node_id(path, names)

    def makes(self, written: str, reported: str) -> bool:
        return written == reported or _can_become(written, reported)

    def encloses(self, written: str, reported: str) -> bool:
        return written.startswith(f"{reported}{SEPARATOR}")

    def name_parts(self, native: str) -> tuple[str, ...]:
        return split_node_id(native).names


def _declaration(mark: IdMark) -> Declaration:
    if not isinstance(mark.test, Declaration):
        raise HarnessError(f"the mark {mark.slug} was not read by this language")
    return mark.test
