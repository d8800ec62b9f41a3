"""Tables for JavaScript and TypeScript: assertions, values of stubs, and code that honest source lacks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from verdigris.languages.concern_rules import read_rules
from verdigris.languages.grammar.changes import negate, swap_word
from verdigris.languages.grammar.expectations import (
    FUNCTIONS,
    Asserted,
    Expectations,
    last_of_each,
    literals_within,
    table_of,
)
from verdigris.languages.grammar.mutation import MutationForms
from verdigris.languages.grammar.trees import first, part, parts, text_of_node, walk
from verdigris.languages.grammar.validation import (
    LIST,
    NUMBER,
    TABLE,
    TEXT,
    TRUTH,
    UNTOLD,
    AnswerForms,
    Returned,
    body_of,
    body_of_value,
)
from verdigris.languages.node import content
from verdigris.languages.node.tests import expectation
from verdigris.languages.probes import ByteEdit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from tree_sitter import Node


_ANOTHER = (
    "(v=>typeof v==='number'?(v+1>v?v+1:v-1>-Infinity&&v/2!==v?v/2:7):"
    "typeof v==='bigint'?v+1n:typeof v==='boolean'?!v:"
    "typeof v==='string'?(new Set(v).size>1?v.slice(1)+v[0]:v+(v[0]??'0')):"
    "Array.isArray(v)?(v.length?v.slice(1):[0]):v&&typeof v==='object'?{...v,KEY:1}:'KEY')("
)
_MATCHERS = frozenset(
    {
        *("toBe", "toEqual", "toStrictEqual", "toHaveLength", "toMatchInlineSnapshot", "lengthOf"),
        *("toMatchObject", "equal", "strictEqual", "deepEqual", "deepStrictEqual", "eql"),
    }
)
_EACH = frozenset({"each", "for", "forEach"})


class NodeExpectations(Expectations):
    opposite_words: ClassVar = {
        **{one: f"not{one[0].upper()}{one[1:]}" for one in ("equal", "strictEqual", "deepEqual")},
        "deepStrictEqual": "notDeepStrictEqual",
        "throws": "doesNotThrow",
        "rejects": "doesNotReject",
        "match": "doesNotMatch",
    }
    member = re.compile(r"[A-Z]\w*(?:\.\w+)*\.[A-Z]\w*\Z")
    has_inner_calls = True

    content_edits = staticmethod(content.content_edits)

    def asserted(self, node: Node) -> Iterator[Asserted]:
        asked = [] if negation(part(node, "function") or node) is not None else [*_operands(node)]
        # A condition that is compared with `true` asserts what it is given as well.
        yield from [*asked, *(super().asserted(node) if not asked or _is_truth(node) else ())]

    def sides(self, node: Node) -> Iterator[Sequence[Node]]:
        function, given = part(node, "function"), parts(part(node, "arguments"))
        if (
            text_of_node(part(function, "property")) not in _MATCHERS
            or not given
            or negation(function) is not None
        ):
            return
        asserts = text_of_node(part(function, "object")).split(".")[0].split("(")[0] != "expect"
        yield from ([one] for one in ([given[1], given[0]] if asserts and len(given) > 1 else given[:1]))

    def column(self, scope: Node, named: Node) -> list[Node] | None:
        """Finds the column in `for (const [n, want] of table)`, `test.each(table)(…)`, `table.forEach(…)`."""
        if scope.type == "for_in_statement":
            patterns, over = [part(scope, "left")], part(scope, "right")
        elif scope.type in FUNCTIONS and (call := _call_of(scope)) is not None:
            given = parts(part(scope, "parameters")) or [one for one in [part(scope, "parameter")] if one]
            patterns = [part(one, "pattern") or one for one in given]
            function = part(call, "function")
            inner = (
                part(function, "function")
                if function is not None and function.type == "call_expression"
                else function
            )
            word = text_of_node(part(inner, "property"))
            if word not in _EACH:
                return None
            over = (
                part(function, "object")
                if word == "forEach"
                else first(parts(part(function, "arguments")), "array", "identifier")
            )
            patterns = patterns[:1] if word == "forEach" else patterns
        else:
            return None
        steps = _find_cell_key(patterns, named)
        if steps is None:
            return None
        table = table_of(scope, over)
        if table is None or table.type != "array":
            return []
        spread = len(patterns) > 1
        return last_of_each([_cell(row, steps, spread=spread) for row in parts(table)])

    def is_callback(self, holder: Node | None) -> bool:
        return holder is not None and holder.type == "arguments"

    def items(self, side: Sequence[Node]) -> list[Node]:
        return parts(side[-1]) if side[-1].type == "array" else []

    def approximate_number(self, node: Node) -> Node | None:
        function, given = part(node, "function"), parts(part(node, "arguments"))
        word = text_of_node(part(function, "property")).removesuffix("f")
        if word != "toBeCloseTo" or not given or negation(function) is not None:
            return None
        digits = text_of_node(given[1]) if len(given) > 1 else "2"
        return given[0] if given[0].type == "number" and digits.isdigit() else None

    def opposite_edits(self, node: Node) -> tuple[ByteEdit, ...] | None:
        function = part(node, "function") if node.type == "call_expression" else node
        if function is None:
            return None
        if (inner := negation(function)) is not None:
            before = part(inner, "object") or inner
            return (ByteEdit(before.end_byte, inner.end_byte, ""),)
        if any(text_of_node(part(n, "function")).split(".")[0] == "expect" for n in walk(function)):
            word = part(function, "property")
            return None if word is None else (ByteEdit(word.start_byte, word.start_byte, "not."),)
        given = parts(part(node, "arguments"))
        if text_of_node(function) in {"assert", "assert.ok"} and given:
            return negate(given[0])
        return swap_word(self.opposite_words, part(function, "property"))

    def spoil_value(self, node: Node, dice: Random) -> tuple[ByteEdit, ...] | None:
        """Wraps a value in a function that returns another value of its kind at run time."""
        key = "".join(dice.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(5))
        return (
            ByteEdit(node.start_byte, node.start_byte, _ANOTHER.replace("KEY", key)),
            ByteEdit(node.end_byte, node.end_byte, ")"),
        )


_HOLDING = frozenset(
    {
        *("toContain", "toContainEqual", "toMatch", "toThrow", "toThrowError", "toHaveProperty"),
        *("include", "includes", "contain", "contains", "match", "string", "throw", "throws", "rejects"),
        *("startsWith", "endsWith", "toBeInstanceOf", "instanceOf"),
    }
)
_GIVEN = frozenset(
    {
        *("toHaveBeenCalledWith", "toHaveBeenLastCalledWith", "toHaveBeenNthCalledWith", "toBeCalledWith"),
        *("toHaveReturnedWith", "calledWith"),
    }
)
_ENDLESS = {
    **dict.fromkeys(("toBeGreaterThan", "toBeGreaterThanOrEqual", "above", "least"), "Infinity"),
    **dict.fromkeys(("toBeLessThan", "toBeLessThanOrEqual", "below", "most"), "-Infinity"),
}
_ODD_ERRORS, _ODD_CLASSES = ("EvalError", "URIError"), ("WeakSet", "SharedArrayBuffer")
_INSTANCES = frozenset({"toBeInstanceOf", "instanceOf", "instanceof"})
_CLASS = re.compile(r"[A-Z]\w*")
_BOTH = 2


def _operands(node: Node) -> Iterator[Asserted]:
    """What an assertion looks for in a value, which class it names, or with which number it compares."""
    function, given = part(node, "function"), parts(part(node, "arguments"))
    word, found = text_of_node(part(function, "property")), expectation(function)
    if found is None and text_of_node(function) in {"assert", "assert.ok"}:
        yield from _condition(node, given[0]) if given else ()
    elif found is None and len(given) >= _BOTH and word in _HOLDING:
        yield from _looked_for(node, word, given[1])
    elif found is not None and word in _GIVEN:
        yield Asserted("given", node, tuple([one] for one in given))
    elif found is not None and word in _ENDLESS and [one.type for one in given] == ["number"]:
        yield Asserted("beyond", node, ([given[0]],), others=(_ENDLESS[word],))
    elif found is not None and word in _HOLDING and given:
        yield from _looked_for(node, word, given[0])
        yield from (Asserted("equal", node, ([one],)) for one in given[1:2] if literals_within(one))
    elif found is not None and found[0] is not None and _is_truth(node):
        yield from _condition(node, found[0])


def _is_truth(node: Node) -> bool:
    given = parts(part(node, "arguments"))
    return (
        text_of_node(part(part(node, "function"), "property")) == "toBe"
        and text_of_node(given[0] if given else None) == "true"
    )


def _condition(node: Node, condition: Node) -> Iterator[Asserted]:
    condition = content.as_written(condition)
    sign = text_of_node(part(condition, "operator"))
    function, given = part(condition, "function"), parts(part(condition, "arguments"))
    left, right = part(condition, "left"), part(condition, "right")
    if condition.type == "binary_expression" and left is not None and right is not None:
        if sign in {"===", "=="}:
            yield Asserted("equal", node, ([right], [left]))
        elif sign == "instanceof":
            yield Asserted("named", node, ([right],), others=_ODD_CLASSES)
        elif sign in {"<", "<=", ">", ">="} and "number" in {left.type, right.type}:
            number = right if right.type == "number" else left
            endless = "-Infinity" if (sign in "<=") == (number is right) else "Infinity"
            yield Asserted("beyond", node, ([number],), others=(endless,))
    elif condition.type == "call_expression" and len(given) == 1:
        word = text_of_node(part(function, "property"))
        yield from _looked_for(node, word, given[0]) if word in _HOLDING else ()


def _looked_for(node: Node, word: str, operand: Node) -> Iterator[Asserted]:
    text = text_of_node(operand)
    if operand.type == "regex" and (pattern := part(operand, "pattern")) is not None:
        yield Asserted("pattern", node, ([pattern],))
    elif operand.type in {"string", "number"} and (operand.type == "string" or text.isdigit()):
        yield from [Asserted("pattern", node, ([operand],))] if text.strip("'\"") else ()
    elif operand.type in {"object", "new_expression"} and literals_within(operand):
        yield Asserted("equal", node, ([operand],))
    elif operand.type == "identifier" and _CLASS.fullmatch(text):
        yield Asserted(
            "named", node, ([operand],), others=_ODD_CLASSES if word in _INSTANCES else _ODD_ERRORS
        )


def negation(chain: Node | None) -> Node | None:
    """The `….not` in the chain before a matcher; None if there is none."""
    while chain is not None and chain.type in {"member_expression", "call_expression"}:
        if text_of_node(part(chain, "property")) == "not":
            return chain
        chain = part(chain, "object") or part(chain, "function")
    return None


def _call_of(function: Node) -> Node | None:
    above = function.parent.parent if function.parent is not None else None
    return above if above is not None and above.type == "call_expression" else None


def _find_cell_key(patterns: Sequence[Node | None], named: Node) -> int | str | None:
    """The position or key, in each row, to which the name is bound; None if it is not bound."""
    name, owner = text_of_node(named), text_of_node(part(named, "object"))
    if len(patterns) > 1:
        return next((at for at, pattern in enumerate(patterns) if text_of_node(pattern) == name), None)
    pattern = patterns[0] if patterns else None
    if pattern is None:
        return None
    if owner and text_of_node(pattern) == owner:
        return text_of_node(part(named, "property"))
    for at, one in enumerate(parts(pattern)):
        if pattern.type == "array_pattern" and text_of_node(one) == name:
            return at
        if pattern.type == "object_pattern" and text_of_node(part(one, "value") or one) == name:
            return text_of_node(part(one, "key") or one)
    return None


def _cell(row: Node, step: int | str, *, spread: bool) -> Node | None:
    while row.type in {"as_expression", "satisfies_expression", "parenthesized_expression"}:
        row = parts(row)[0]
    if isinstance(step, int) and row.type == "array":
        return parts(row)[step] if step < len(parts(row)) else None
    if row.type != "object" or spread:
        return None
    return next((part(one, "value") for one in parts(row) if text_of_node(part(one, "key")) == step), None)


_TYPES = {"number": NUMBER, "bigint": NUMBER, "string": TEXT, "boolean": TRUTH}
_CONSTANTS = {
    **dict.fromkeys(("number", "unary_expression"), NUMBER),
    **dict.fromkeys(("string", "template_string"), TEXT),
    **dict.fromkeys(("true", "false"), TRUTH),
    "array": LIST,
    "object": TABLE,
}
_NOTHING = frozenset({"void", "never", "asserts"})


def _return_form(function: Node, body: Node) -> Returned | None:
    form = "{ return %s; }" if body.type == "statement_block" else "(%s)"
    holder = part(function, "value") or function
    if text_of_node(part(function, "name")) == "constructor" or any(
        n.type in {"set", "*"} for n in holder.children
    ):
        return None
    told = text_of_node(part(holder, "return_type")).lstrip(": ").strip()
    while (inner := re.fullmatch(r"Promise<(.*)>", told)) is not None:
        told = inner[1].strip()
    if told in _NOTHING:
        return None
    if told:
        return Returned(_kind(told), form)
    given = [parts(node)[0] for node in walk(body) if node.type == "return_statement" and parts(node)]
    constant = given[0] if given else body
    if constant.type == "parenthesized_expression" and parts(constant):
        constant = parts(constant)[0]
    return Returned(_CONSTANTS.get(constant.type, UNTOLD), form)


def _kind(told: str) -> str:
    plain = [one.strip() for one in told.split("|") if one.strip() not in {"null", "undefined"}]
    name = plain[0] if len(plain) == 1 else ""
    if name.endswith("[]") or name.startswith(("Array<", "ReadonlyArray<", "[")):
        return LIST
    return TABLE if name.startswith(("Record<", "{")) else _TYPES.get(name, UNTOLD)


ANSWERS = AnswerForms(
    functions={
        "function_declaration": body_of,
        "method_definition": body_of,
        "variable_declarator": body_of_value,
    },
    returned=_return_form,
    constants={
        NUMBER: ("0", "N", "-N"),
        TEXT: ('""', '"W"', '"W N"'),
        TRUTH: ("", "true", "false"),
        LIST: ("[]", '["W"]', "[N, -N]"),
        TABLE: ("{}", '{ "W": N }', '{ "W": "W" }'),
    },
    untold=(NUMBER, TEXT, TRUTH, LIST, TABLE),
)


EXPECTATIONS = NodeExpectations
RULES = read_rules(Path(__file__).with_name("concerns.txt"))
_NOT_RUN = 'if (true) throw new Error("not run by any test");'
MUTATION = MutationForms(_NOT_RUN, f"(() => {{ {_NOT_RUN} }})()")
