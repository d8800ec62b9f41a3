"""Makes test ids in JavaScript and TypeScript from declarations and `@tdd-id` marks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.errors import HarnessError
from verdigris.core.languages import file_end
from verdigris.core.test_ids import REACH
from verdigris.core.value import value
from verdigris.languages.findings import IdMark, TestComment
from verdigris.languages.grammar.trees import comment_lines, marks_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.core.report import TestResult


SEPARATOR = " › "
_SLASHED = re.compile(r"(\\*)›")


@value
class NodeId:
    path: str
    names: tuple[str, ...]
    """The names of the describes, outermost first, and of the test; empty for a whole file or folder."""


def node_id(path: str, names: Sequence[str]) -> str:
    r"""Writes a `›` inside a name as `\›`, so that `split_node_id` returns the same names."""
    return f"{path}::{SEPARATOR.join(_SLASHED.sub(_escape, name) for name in names)}"


def split_node_id(test_id: str) -> NodeId:
    end = file_end(test_id)
    if end < 0:
        return NodeId(test_id, ())
    names = test_id[end + 2 :].split(SEPARATOR)
    return NodeId(test_id[:end], tuple(_SLASHED.sub(_unescape, name) for name in names))


def _escape(found: re.Match[str]) -> str:
    return found[1] * 2 + "\\›"


def _unescape(found: re.Match[str]) -> str:
    return found[1][: len(found[1]) // 2] + "›"


def read_annotations(text: str) -> tuple[IdMark, ...]:
    """Finds `// @tdd-id: slug` on lines of their own; which test each belongs to, `comments` decides."""
    return marks_of(comments(text)) if "@tdd-id" in text else ()


def comments(text: str) -> tuple[TestComment, ...]:
    """Lists lines of comments; each belongs to the next declaration, if that is a test and near enough."""
    declared = declarations(text)
    found = []
    for line, comment, is_alone in _comment_lines(text):
        owner = next((d for d in declared if d.line > line), None) if is_alone else None
        is_near = owner is not None and owner.is_test and owner.line - line <= REACH
        found.append(TestComment(line, comment, owner if is_near else None))
    return tuple(found)


def case(test: Declaration, names: tuple[str, ...], line: int) -> str | None:
    """The name of a case in brackets, empty for a test without a table; None if the names are another's."""
    if not _is_declared_as(test, names, line):
        return None
    return f"[{names[-1]}]" if test.is_each else ""


def _is_declared_as(test: Declaration, names: tuple[str, ...], line: int) -> bool:
    """Whether a reported test is the declared one: by its names, or by its line if the names are computed."""
    if test.names is not None and not test.is_each:
        return test.names == names
    return test.line <= line <= test.last_line


_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    | (?P<word>[A-Za-z_$][\w$]*)
    | (?P<number>\d[\w.]*)
    | (?P<tick>`)
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_REGEX = re.compile(r"/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/[a-z]*")
_TEMPLATE = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_BEFORE_REGEX = frozenset("(,=:[!&|?{};+-*%<>~^") | {"return", "typeof", "case", "in", "of", "void", "delete"}
_SUITES = frozenset({"describe", "suite", "context", "fdescribe", "xdescribe"})
_TESTS = frozenset({"it", "test", "fit", "xit", "xtest", "specify"})
_EACH = frozenset({"each", "for"})
_OPEN = frozenset("([{")
_CLOSE = frozenset(")]}")


@value
class Declaration:
    line: int
    last_line: int
    """The line of its name; a run reports a line from `line` to this one."""
    names: tuple[str, ...] | None
    """The names of the describes around it and its own; None if one of them is computed."""
    is_test: bool
    is_each: bool


@value
class _NodeToken:
    kind: str
    text: str
    line: int


def declarations(text: str) -> tuple[Declaration, ...]:
    """Lists declarations in the order of the text."""
    tokens = [t for t in _tokens(text) if t.kind not in {"space", "comment"}]
    found: list[Declaration] = []
    around: list[tuple[int, tuple[str, ...] | None]] = []
    depth = 0
    opened = -1
    for index, token in enumerate(tokens):
        call = _find_arguments(tokens, index) if index > opened else None
        if call is not None:
            opened, is_each = call
            declared = _read_declaration(
                tokens, index, opened, around[-1][1] if around else (), is_each=is_each
            )
            found.append(declared)
        elif token.kind == "sign" and index >= opened:
            depth += token.text in _OPEN
            if index == opened:
                around.append((depth, None if found[-1].is_each else found[-1].names))
            if token.text in _CLOSE:
                if around and around[-1][0] == depth:
                    around.pop()
                depth -= 1
    return tuple(found)


def _read_declaration(
    tokens: list[_NodeToken], index: int, opened: int, outer: tuple[str, ...] | None, *, is_each: bool
) -> Declaration:
    name = _name(tokens, opened + 1)
    return Declaration(
        line=tokens[index].line,
        last_line=tokens[min(opened + 1, len(tokens) - 1)].line,
        names=None if outer is None or name is None else (*outer, name),
        is_test=tokens[index].text in _TESTS,
        is_each=is_each,
    )


def _comment_lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """Each line of a comment with its number, and whether the comment begins its line."""
    fresh = True
    for token in _tokens(text):
        if token.kind == "comment":
            yield from ((line, one, fresh) for line, one in comment_lines(token.line, token.text))
        fresh = "\n" in token.text if token.kind == "space" else False


def _find_arguments(tokens: list[_NodeToken], index: int) -> tuple[int, bool] | None:
    """The index of the bracket that opens a declaration's arguments, and whether it has a table of cases."""
    token = tokens[index]
    if token.kind != "word" or token.text not in _SUITES | _TESTS or _is_member(tokens, index):
        return None
    at = index + 1
    is_each = False
    while at < len(tokens):
        match tokens[at].text:
            case "." if at + 1 < len(tokens) and tokens[at + 1].kind == "word":
                name = tokens[at + 1].text
                at += 2
                if name in _EACH:
                    is_each = True
                    at = _after_table(tokens, at)
                elif name in {"skipIf", "runIf", "extend"}:
                    at = _after_table(tokens, at)
            case "(":
                return at, is_each
            case "<":
                at = _after_types(tokens, at)
            case _:
                return None
    return None


def _is_member(tokens: list[_NodeToken], index: int) -> bool:
    """Whether the word is a member of some object; `t.test(…)` is not, since it declares a subtest."""
    if index == 0 or tokens[index - 1].text not in {".", "function", "?."}:
        return False
    return not (index > 1 and tokens[index - 1].text == "." and tokens[index - 2].text == "t")


def _after_types(tokens: list[_NodeToken], at: int) -> int:
    depth = 0
    while at < len(tokens):
        depth += (tokens[at].text == "<") - (tokens[at].text == ">")
        at += 1
        if depth == 0:
            break
    return at


def _after_table(tokens: list[_NodeToken], at: int) -> int:
    if at < len(tokens) and tokens[at].text == "<":
        at = _after_types(tokens, at)
    if at < len(tokens) and tokens[at].kind == "template":
        return at + 1
    depth = 0
    while at < len(tokens):
        sign = tokens[at].text if tokens[at].kind == "sign" else None
        depth += (sign in _OPEN) - (sign in _CLOSE)
        at += 1
        if depth == 0:
            break
    return at


def _name(tokens: list[_NodeToken], at: int) -> str | None:
    if at + 1 >= len(tokens) or tokens[at + 1].text not in {",", ")"}:
        return None
    token = tokens[at]
    if token.kind == "string" or (token.kind == "template" and "${" not in token.text):
        return _ESCAPE.sub(_unescape_character, token.text[1:-1])
    return None


def _unescape_character(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        number = int(code, 16)
        return chr(number) if number <= 0x10FFFF else found[0]  # noqa: PLR2004 - the last code point
    return _SIMPLE.get(found[4], found[4])


def _tokens(text: str) -> Iterator[_NodeToken]:
    at = 0
    line = 1
    before = ""
    while at < len(text):
        kind, end = _next_token(text, at, before)
        piece = text[at:end]
        yield _NodeToken(kind, piece, line)
        line += piece.count("\n")
        at = end
        if kind not in {"space", "comment"}:
            before = piece if kind in {"sign", "word"} else kind


def _next_token(text: str, at: int, before: str) -> tuple[str, int]:
    if text[at] == "/" and (not before or before in _BEFORE_REGEX):
        regex = _REGEX.match(text, at)
        if regex:
            return "regex", regex.end()
    found = _TOKEN.match(text, at)
    assert found is not None  # noqa: S101 - the last alternative takes any character
    kind = str(found.lastgroup)
    return ("template", _template_end(text, at)) if kind == "tick" else (kind, found.end())


def _template_end(text: str, at: int) -> int:
    at += 1
    while at < len(text):
        found = _TEMPLATE.match(text, at)
        at = found.end() if found else at
        if text[at : at + 2] != "${":
            return at + 1
        at = _hole_end(text, at + 2)
    return at


def _hole_end(text: str, at: int) -> int:
    depth = 1
    before = "{"
    while at < len(text) and depth:
        kind, end = _next_token(text, at, before)
        piece = text[at:end]
        if kind == "sign":
            depth += (piece == "{") - (piece == "}")
        if kind not in {"space", "comment"}:
            before = piece if kind in {"sign", "word"} else kind
        at = end
    return at


_FILLED_IN = r"%%|%[a-zA-Z#$]|\$\{[^}]*\}|\$#|\$[\w.]+"
"""Placeholders in the name of a test, which rows of a table or values of variables fill."""
_QUOTED = r"(^| › )`(.*?)`(?= › |$)"


def can_become(written: str, reported: str) -> bool:
    """Whether a written name with placeholders can become the reported name."""
    fixed = re.split(_FILLED_IN, re.sub(_QUOTED, r"\1\2", written))
    return len(fixed) > 1 and re.fullmatch(".*".join(map(re.escape, fixed)), reported, re.DOTALL) is not None


def case_of(mark: IdMark, result: TestResult) -> str | None:
    test = _declaration(mark)
    return case(test, split_node_id(result.native_id).names, result.line)


def native_id(path: str, mark: IdMark, case: str) -> str:
    """The id of a marked test; its file, if only a run shows the id."""
    test = _declaration(mark)
    if test.names is None or (test.is_each and not case):
        return path
    return node_id(path, (*test.names[:-1], case[1:-1]) if test.is_each else test.names)


def written_id(path: str, mark: IdMark) -> str | None:
    names = _declaration(mark).names
    return None if names is None else node_id(path, names)


def _declaration(mark: IdMark) -> Declaration:
    if not isinstance(mark.test, Declaration):
        raise HarnessError(f"the mark {mark.slug} was not read by this language")
    return mark.test
