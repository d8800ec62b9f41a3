"""How an assertion is changed so that honest code fails it: another expected value, else its opposite."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core import languages
from verdigris.core.value import value
from verdigris.kernel.grammar.expected import TESTIFY, expected, negation, sides
from verdigris.kernel.grammar.trees import COMMENTS, first, part, parts, said, walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

_NUMBERS = frozenset({"number", "int_literal", "float_literal", "integer_literal"})
_STRINGS = frozenset(
    {
        *("string", "template_string", "interpreted_string_literal", "raw_string_literal"),
        "string_literal",
    }
)
_TRUTHS = {"true": "false", "false": "true"}
_BOOLEANS = frozenset({"true", "false", "boolean_literal"})
_NUMBER = re.compile(r"(\d[\d_]*)((?:\.\d+)?(?:[eE][+-]?\d+)?)([a-z]\w*)?\Z")
_LARGEST = frozenset({127, 255, 32_767, 65_535, 2**31 - 1, 2**32 - 1, 2**53 - 1, 2**63 - 1, 2**64 - 1})
_ENDING = re.compile(r"""["'`]#*\Z""")
_WORDS = {
    languages.NODE: {
        **{one: f"not{one[0].upper()}{one[1:]}" for one in ("equal", "strictEqual", "deepEqual")},
        "deepStrictEqual": "notDeepStrictEqual",
        "throws": "doesNotThrow",
        "rejects": "doesNotReject",
        "match": "doesNotMatch",
    },
    languages.RUST: {"assert_eq": "assert_ne"},
    languages.GO: {
        **{one: f"Not{one}" for one in ("Equal", "Nil", "Contains", "Empty", "Zero", "Same", "EqualValues")},
        "True": "False",
        "NoError": "Error",
    },
}
"""Where another word says the opposite of the same arguments."""
_OPPOSITE = {
    lang: words | {opposite: word for word, opposite in words.items()} for lang, words in _WORDS.items()
}


_ANOTHER = (
    "v => typeof v === 'number' ? v + 1 : typeof v === 'string' ? v + 'MORE' : typeof v === 'boolean' ? !v"
    " : Array.isArray(v) ? [...v, 'MORE'] : v && typeof v === 'object' ? { ...v, MORE: 1 } : 'MORE'"
)


@value
class Edit:
    start: int
    """In bytes."""
    end: int
    text: str


def opposed(language: str, node: Node, more: str) -> tuple[Edit, ...]:
    """`node`: as the reading of a suite names an assertion; `more`: letters that texts get in addition.

    None where neither can be written.
    """
    if node.type in COMMENTS:  # what an example is to print
        return (Edit(node.end_byte, node.end_byte, f" {more}"),)
    for literals in expected(language, node):
        edits = [_other(literal, more) for literal in literals]
        if known := tuple(edit for edit in edits if edit is not None and None not in edits):
            return known
    for side in sides(language, node) if language == languages.NODE else ():
        return _spoilt(side[0], more)
    return _negated(language, node) or ()


def applied(data: bytes, edits: Sequence[Edit]) -> bytes:
    for edit in sorted(set(edits), key=lambda one: one.start, reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    return data


def _other(node: Node, more: str) -> Edit | None:
    text = said(node)
    if node.type in _NUMBERS:
        new = _number(text)
    elif node.type in _BOOLEANS:
        new = _TRUTHS.get(text)
    elif node.type in _STRINGS and (end := _ENDING.search(text)) is not None:
        before = text[: end.start()]
        new = before + _more(before[-1:], more) + end[0]
    else:
        new = None
    return None if new is None else Edit(node.start_byte, node.end_byte, new)


def _more(last: str, more: str) -> str:
    """Of the same kind, so that who reads the answers out of the tests finds them there too."""
    return "".join(str(ord(letter) % 10) for letter in more) if last.isdigit() else more


def _number(text: str) -> str | None:
    found = _NUMBER.match(text)
    if found is None:
        return None
    was = int(found[1].replace("_", ""))
    return f"{was - 1 if was in _LARGEST else was + 1}{found[2]}{found[3] or ''}"


def _negated(language: str, node: Node) -> tuple[Edit, ...] | None:
    match language:
        case languages.GO if node.parent is not None and node.parent.type == "if_statement":
            return _not(node)
        case languages.GO if said(part(part(node, "function"), "operand")) not in TESTIFY:
            return None
        case languages.GO:
            return _worded(language, part(part(node, "function"), "field"))
        case languages.RUST:
            return _rust(node)
        case _:
            return _node(node)


def _spoilt(node: Node, more: str) -> tuple[Edit, ...]:
    """Where types do not matter, any value can be made another one when it comes to it."""
    return (
        Edit(node.start_byte, node.start_byte, f"({_ANOTHER.replace('MORE', more)})("),
        Edit(node.end_byte, node.end_byte, ")"),
    )


def _not(node: Node) -> tuple[Edit, ...]:
    return (Edit(node.start_byte, node.start_byte, "!("), Edit(node.end_byte, node.end_byte, ")"))


def _worded(language: str, word: Node | None) -> tuple[Edit, ...] | None:
    opposite = _OPPOSITE[language].get(said(word))
    if word is None or opposite is None:
        return None
    return (Edit(word.start_byte, word.end_byte, opposite),)


def _rust(node: Node) -> tuple[Edit, ...] | None:
    macro, tree = part(node, "macro"), first(parts(node), "token_tree")
    if said(macro) != "assert" or tree is None:
        return _worded(languages.RUST, macro)
    inner = [child for child in tree.children[1:-1] if child.type not in COMMENTS]
    comma = next((at for at, child in enumerate(inner) if child.type == ","), len(inner))
    if not comma:
        return None
    start, end = inner[0].start_byte, inner[comma - 1].end_byte
    return (Edit(start, start, "!("), Edit(end, end, ")"))


def _node(node: Node) -> tuple[Edit, ...] | None:
    function = part(node, "function") if node.type == "call_expression" else node
    if function is None:
        return None
    if (inner := negation(function)) is not None:
        before = part(inner, "object") or inner
        return (Edit(before.end_byte, inner.end_byte, ""),)
    if any(said(part(n, "function")).split(".")[0] == "expect" for n in walk(function)):
        word = part(function, "property")
        return None if word is None else (Edit(word.start_byte, word.start_byte, "not."),)
    given = parts(part(node, "arguments"))
    if said(function) in {"assert", "assert.ok"} and given:
        return _not(given[0])
    return _worded(languages.NODE, part(function, "property"))
