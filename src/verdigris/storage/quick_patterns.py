"""Matches the regular expressions of path classes without `re`, which takes half a hook's time to load.

`read_pattern` turns the text of an expression into plain lists and tuples, which the quick card keeps. It
knows what our own tables of paths use. Where an expression has more, the slow entry decides.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to load than the rest of a hook
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Node: TypeAlias = str | tuple[Any, ...]
    Pattern: TypeAlias = list[list[Node]]
    """Alternatives, each a series of nodes.

    A text stands for itself. A tuple begins with its kind: `rest` (any characters), `end`, `one` (a character
    of a set: characters, ranges, whether negated), `group` (a pattern), `ahead` (a pattern, whether it must
    match), `many` (a node, the least and the most times; no most: None).
    """

_GROUPS = {"?:": "group", "?s:": "group", "?=": "ahead", "?!": "ahead"}
_TIMES = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_FOREIGN = "^$|{}"


def matches(pattern: Pattern, text: str) -> bool:
    """Whether the whole text matches, as `re.fullmatch` with `re.DOTALL` decides."""
    return len(text) in _ends(pattern, text, {0})


def _ends(pattern: Pattern, text: str, starts: set[int]) -> set[int]:
    """Every place where a match can end that begins at one of the starts."""
    found: set[int] = set()
    for series in pattern:
        at = starts
        for node in series:
            at = _after(node, text, at)
            if not at:
                break
        found |= at
    return found


def _after(node: Node, text: str, starts: set[int]) -> set[int]:
    if isinstance(node, str):
        return {at + len(node) for at in starts if text.startswith(node, at)}
    match node:
        case ("rest",):
            return set(range(min(starts), len(text) + 1))
        case ("end",):
            return starts & {len(text)}
        case ("one", chars, ranges, negated):
            return {at + 1 for at in starts if at < len(text) and _is_in(text[at], chars, ranges) != negated}
        case ("group", inner):
            return _ends(inner, text, starts)
        case ("ahead", inner, wanted):
            return {at for at in starts if bool(_ends(inner, text, {at})) == wanted}
        case (_, inner, least, most):
            return _repeated(inner, text, starts, least, most)
    raise ValueError(node)


def _is_in(char: str, chars: str, ranges: list[tuple[str, str]]) -> bool:
    return char in chars or any(low <= char <= high for low, high in ranges)


def _repeated(node: Node, text: str, starts: set[int], least: int, most: int | None) -> set[int]:
    found = set() if least else set(starts)
    at = starts
    while at := _after(node, text, at) - found:
        found |= at
        if most == 1:
            break
    return found


def read_pattern(regex: str) -> Pattern | None:
    """None if the expression has something that is not known here."""
    try:
        pattern, rest = _read_alternatives(regex)
    except (IndexError, KeyError, StopIteration):
        return None
    return None if rest else pattern


def _read_alternatives(text: str) -> tuple[Pattern, str]:
    pattern: Pattern = [[]]
    while text and text[0] != ")":
        if text[0] == "|":
            pattern.append([])
            text = text[1:]
            continue
        node, text = _read_node(text)
        if text[:1] in {"*", "+", "?"}:
            least, most = _TIMES[text[0]]
            node = ("rest",) if node == ANY and text[0] == "*" else ("many", node, least, most)
            text = text[1:]
            if text[:1] in {"*", "+", "?"}:
                raise KeyError(text[0])
        series = pattern[-1]
        if isinstance(node, str) and series and isinstance(series[-1], str):
            series[-1] += node
        else:
            series.append(node)
    return pattern, text


ANY: Node = ("one", "", [], True)


def _read_node(text: str) -> tuple[Node, str]:
    match text[0]:
        case "(":
            opening = next(words for words in _GROUPS if text.startswith(words, 1))
            inner, rest = _read_alternatives(text[1 + len(opening) :])
            kind = _GROUPS[opening]
            node = (kind, inner) if kind == "group" else (kind, inner, opening == "?=")
            if not rest:
                raise KeyError(text)
            return node, rest[1:]
        case "[":
            return _read_set(text[1:])
        case ".":
            return ANY, text[1:]
        case "\\" if text[1] == "Z":
            return ("end",), text[2:]
        case "\\":
            return _plain(text[1]), text[2:]
        case char if char in _FOREIGN or char in _TIMES:
            raise KeyError(char)
        case char:
            return char, text[1:]


def _read_set(text: str) -> tuple[Node, str]:
    negated = text[0] == "^"
    chars, ranges = "", []
    text = text[negated:]
    is_first = True
    while text[0] != "]" or is_first:
        low, text = _read_char(text)
        if text[0] == "-" and text[1] != "]":
            high, text = _read_char(text[1:])
            ranges.append((low, high))
        else:
            chars += low
        is_first = False
    return ("one", chars, ranges, negated), text[1:]


def _read_char(text: str) -> tuple[str, str]:
    return (_plain(text[1]), text[2:]) if text[0] == "\\" else (text[0], text[1:])


def _plain(char: str) -> str:
    """The character that stands for itself behind a backslash; letters and digits have a meaning there."""
    if char.isalnum():
        raise KeyError(char)
    return char
