"""Reads tests in Go: subtests, tables, and assertions by `if` with `t.Error`, by testify and by gomega."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verdigris.languages.assertions import Check, Word, Words
from verdigris.languages.grammar.language import line_end
from verdigris.languages.grammar.suite import At, GrammarSuite, spell
from verdigris.languages.grammar.trees import (
    COMMENTS,
    first,
    line_of,
    on_one_line,
    part,
    parts,
    text_of_node,
    walk,
)
from verdigris.languages.literals import quote_line
from verdigris.languages.probes import ByteEdit
from verdigris.languages.test_comments import Declared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from verdigris.languages.grammar.suite import TestPlace


_EQUAL = {
    "!=": ("==", 5.0),
    "==": ("!=", 2.0),
    "<": (">=", 2.9),
    ">": ("<=", 2.9),
    "<=": (">", 3.0),
    ">=": ("<", 3.0),
}
"""By the comparison under which a test fails: what the test asserts, and its rank."""
_CALLS = {
    **dict.fromkeys(("DeepEqual", "Equal", "EqualFold", "Is", "As", "Compare"), 5.0),
    **dict.fromkeys(("Contains", "HasPrefix", "HasSuffix", "MatchString", "Match"), 3.0),
}
_RANKED: dict[tuple[str, float], str] = {
    ("==", 5): "Equal EqualValues Exactly Same JSONEq YAMLEq EqualError ErrorIs",
    ("is", 5): "Nil Empty True False Zero EqualExportedValues",
    ("near", 4): "InDelta InEpsilon WithinDuration InDeltaSlice",
    ("part", 4): "ElementsMatch ErrorAs ErrorContains PanicsWithValue PanicsWithError",
    ("part", 3): "Contains Regexp Subset Len Greater Less HTTPStatusCode",
    ("ends", 2.5): "NoError Error Panics GreaterOrEqual LessOrEqual Eventually",
    ("type", 2): "IsType Implements NotPanics",
    ("not", 1.5): "NotNil NotEmpty NotZero NotEqual NotContains",
}
"""The methods of testify by what they assert and how much that is worth."""
TESTIFY = {name: ranked for ranked, names in _RANKED.items() for name in names.split()}
_NO_ACTUAL = frozenset(
    {"Equal", "EqualValues", "Exactly", "Same", "JSONEq", "YAMLEq", "IsType", "Implements"}
)
"""Methods whose first argument is the expected value."""


def negate_condition(condition: Node, at: At) -> Iterator[Check]:
    """The checks that a test makes by failing under this condition: each is an opposite of a part of it."""
    operator = text_of_node(part(condition, "operator"))
    if condition.type == "parenthesized_expression":
        yield from negate_condition(parts(condition)[0], at)
    elif condition.type == "binary_expression" and operator == "||":
        for side in ("left", "right"):
            if (one := part(condition, side)) is not None:
                yield from negate_condition(one, at)
    elif condition.type == "binary_expression" and operator in _EQUAL:
        yield _read_comparison(condition, operator, at)
    elif condition.type == "binary_expression":
        yield Check("or", 0.5, spell(condition, at.names))
    elif condition.type == "unary_expression" and operator == "!":
        words = spell(part(condition, "operand"), at.names)
        yield Check("true", max((_CALLS.get(word.text, 1.0) for word in words), default=1.0), words)
    else:
        yield Check("false", 1.5, spell(condition, at.names))


def _read_comparison(node: Node, operator: str, at: At) -> Check:
    left, right = (spell(part(node, side), at.names) for side in ("left", "right"))
    if operator in {"==", "!="}:
        left, right = sorted((left, right), key=lambda words: not any(word.name for word in words))
    kind, rank = _EQUAL[operator]
    texts = {word.text for word in left}
    if left == right:
        return Check(kind, 0, left, right)
    if "Abs" in texts and operator in {">", ">="}:
        return Check("near", 4, left, (), _number(right))
    if right and right[-1].text == "nil":
        rank = min(rank, 2.5)
    elif left and left[0].text == "len":
        rank = min(rank, 3.0)
    return Check(kind, rank, left, right)


def _number(words: Words) -> float:
    try:
        return float("".join(word.text for word in words))
    except ValueError:
        return 1e-6


def testify(method: str, arguments: list[Node], at: At, *, with_t: bool) -> Check:
    given = [spell(argument, at.names) for argument in (arguments[1:] if with_t else arguments)]
    kind, rank = TESTIFY[method]
    subject = given[0] if given else ()
    expected = given[1] if len(given) > 1 and kind not in {"is", "ends"} else ()
    if method in _NO_ACTUAL:
        subject, expected = expected, subject
    empty = not any(word.name for word in (*subject, *expected)) or subject == expected
    slack = _number(given[2]) if kind == "near" and len(given) > 2 else 0.0  # noqa: PLR2004 - the third is the slack
    return Check(f"{kind} {method}", 0 if empty else rank, subject, expected, slack)


def gomega(function: Node | None, method: str, arguments: list[Node], at: At) -> Check:
    subject = spell(part(function, "operand"), at.names)
    expected = spell(arguments[0], at.names) if arguments else ()
    if method in {"NotTo", "ToNot", "ShouldNot"}:
        return Check("not", 2, subject, expected)
    matcher = expected[0].text if expected else ""
    rank = {"Equal": 5.0, "BeTrue": 5.0, "BeFalse": 5.0, "BeNil": 5.0, "HaveLen": 3.0}.get(matcher, 3.0)
    return Check(f"to {matcher}", rank, subject, expected)


_TESTS = ("Test", "Benchmark", "Fuzz", "Example")
_FAILS = frozenset({"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"})
_SKIPS = frozenset({"Skip", "Skipf", "SkipNow"})
_OWNERS = frozenset({"t", "tb", "b", "f", "tt"})
_OUTPUT = ("output:", "unordered output:")


@dataclass(slots=True)
class GoSuite(GrammarSuite):
    leaves: frozenset[str] = frozenset(
        {"return_statement", "break_statement", "continue_statement", "goto_statement"}
    )
    functions_of: frozenset[str] = frozenset({"func_literal", "function_declaration", "method_declaration"})

    def named_function(self, node: Node) -> tuple[str, Node] | None:
        name = text_of_node(part(node, "name"))
        if node.type == "function_declaration" and not (_is_test(name) or name == "TestMain"):
            return name, node
        return None

    def bind_names(self, node: Node, at: At) -> At:
        if node.type == "assignment_statement":
            for name in parts(part(node, "left")):
                at = at.with_binding(text_of_node(name), None)
        if node.type != "short_var_declaration":
            return at
        left, right = parts(part(node, "left")), parts(part(node, "right"))
        alone = len(left) == len(right)
        for index, name in enumerate(left):
            value = spell(right[index], at.names) if alone else None
            if not alone and len(right) == 1:
                value = (*spell(right[0], at.names), Word(f"#{index}"))
            at = at.with_binding(text_of_node(name), value)
        return at

    def may_leave(self, statement: Node) -> bool:
        """A statement that fails the test may leave it: no later assertion is lost by that."""
        return not any(map(_is_failing, walk(statement))) and GrammarSuite.may_leave(self, statement)

    def visit(self, node: Node, at: At) -> None:
        match node.type:
            case "function_declaration":
                self._visit_function(node, at)
            case "comment" | "import_declaration":
                return
            case "block":
                self.visit_block(first(parts(node), "statement_list") or node, at)
            case "if_statement":
                self.visit_branch(node, at)
            case "for_statement":
                self._visit_loop(node, at)
            case "expression_case" | "type_case" | "default_case":
                self.visit_children(node, at.under(f"case {on_one_line(part(node, 'value'))}"))
            case "call_expression":
                self._visit_call(node, at)
            case _:
                self.visit_children(node, at)

    def _visit_function(self, node: Node, at: At) -> None:
        name, body = text_of_node(part(node, "name")), part(node, "body")
        if name == "TestMain":
            if body is not None and "m.Run()" not in text_of_node(body).replace(" ", ""):
                self.add_mark("hook", node, on_one_line(node), "")
            return
        if not _is_test(name) or body is None:
            return
        self.add_test(name, node, body)
        inner = replace(at, scope=name, test=True)
        if name.startswith("Example"):
            self._read_output(body, inner)
        self.visit(body, inner)

    def _read_output(self, body: Node, at: At) -> None:
        comments = [n for n in walk(body) if n.type in COMMENTS]
        texts = [text_of_node(n).removeprefix("//").strip() for n in comments]
        start = next((i for i, text in enumerate(texts) if text.lower().startswith(_OUTPUT)), None)
        if start is not None:
            words = tuple(Word(text) for text in texts[start:])
            self.add_fact(comments[start], Check("output", 5, (Word("output", name=True),), words), at)

    def visit_branch(self, node: Node, at: At) -> None:
        initial, condition = part(node, "initializer"), part(node, "condition")
        if initial is not None:
            self.visit(initial, at)
            at = self.bind_names(initial, at)
        then, other = part(node, "consequence"), part(node, "alternative")
        if condition is None or then is None:
            return
        if _fails_test(then):
            for check in negate_condition(condition, at):
                self.add_fact(condition, check, at)
        else:
            self.visit(then, at.under(f"if {on_one_line(condition)}"))
        if other is not None and _fails_test(other):
            self.add_fact(condition, Check("if", 3, spell(condition, at.names)), at)
        elif other is not None:
            self.visit(other, at.under(f"else {on_one_line(condition)}"))

    def list_declared(self, node: Node) -> Iterator[tuple[str, Node]]:
        for one in parts(node) if node.type == "var_declaration" else [node]:
            names = parts(part(one, "left")) or ([n] if (n := part(one, "name")) else [])
            values = parts(part(one, "right")) or parts(part(one, "value"))
            if len(names) == len(values) == 1:
                yield text_of_node(names[0]), values[0]

    def _visit_loop(self, node: Node, at: At) -> None:
        clause, body = first(parts(node), "range_clause", "for_clause"), part(node, "body")
        over = part(clause, "right")
        words = spell(over, at.names)
        table = self.find_declared(over) if over is not None and over.type == "identifier" else over
        if table is not None and table.type == "composite_literal":
            self.add_rows(parts(part(table, "body")), at)
        elif clause is not None:
            at = at.under(f"for {' '.join(word.text for word in words) or on_one_line(clause)}")
        for name in parts(part(clause, "left")):
            at = at.with_binding(text_of_node(name), None)
        self.visit_part(body, at)

    def _visit_call(self, node: Node, at: At) -> None:
        function, arguments = part(node, "function"), parts(part(node, "arguments"))
        owner, method = text_of_node(part(function, "operand")), text_of_node(part(function, "field"))
        if owner in _OWNERS and method in _SKIPS:
            self.add_mark("skipped", node, " ".join((*at.guards, on_one_line(node))), at.scope)
        elif _is_failing(node):
            self.add_fact(node, Check("fail", 3, (Word("fail", name=True),)), at)
        elif owner in _OWNERS and method == "Run" and arguments:
            self._visit_subtest(arguments, at)
        elif owner in {"assert", "require", "is", "s", "suite"} and (method.removesuffix("f") in TESTIFY):
            self.add_fact(
                node,
                testify(method.removesuffix("f"), arguments, at, with_t=owner in {"assert", "require"}),
                at,
            )
        elif method in {"To", "Should", "NotTo", "ToNot", "ShouldNot"}:
            self.add_fact(node, gomega(function, method, arguments, at), at)
        elif (
            function is not None
            and function.type == "identifier"
            and self.call_helper(text_of_node(function), arguments, at)
        ):
            return
        else:
            self.visit_children(node, at)

    def _visit_subtest(self, arguments: list[Node], at: At) -> None:
        name = text_of_node(arguments[0]).strip('"`').replace(" ", "_")
        literal = arguments[0].type.endswith("string_literal")
        inner = replace(at, scope=f"{at.scope}/{name}") if literal else at
        body = first(arguments[1:], "func_literal")
        if literal:
            self.add_test(inner.scope, arguments[0], body)
        if body is not None:
            self.visit_children(body, inner)
        elif len(arguments) > 1:
            self.call_helper(text_of_node(arguments[1]), (), inner)


def _is_test(name: str) -> bool:
    """Whether `go test` takes the name for a test: the word `Test` must not be followed by a small letter."""
    for word in _TESTS:
        rest = name.removeprefix(word)
        if name.startswith(word) and name != "TestMain" and not rest[:1].islower():
            return True
    return False


def _is_failing(node: Node) -> bool:
    function = part(node, "function") if node.type == "call_expression" else None
    return (
        text_of_node(part(function, "field")) in _FAILS and text_of_node(part(function, "operand")) in _OWNERS
    )


def _fails_test(block: Node) -> bool:
    statements = parts(first(parts(block), "statement_list"))
    return any(_is_failing(call) for s in statements if s.type == "expression_statement" for call in parts(s))


def declared(root: Node) -> list[Declared]:
    """The functions and methods at the top of a file; a method is no test."""
    kinds = {"function_declaration", "method_declaration"}
    functions = [node for node in parts(root) if node.type in kinds]
    return [
        Declared(
            line_of(node),
            line_of(node),
            text_of_node(part(node, "name")) if node.type == "function_declaration" else None,
        )
        for node in functions
    ]


SUITE = GoSuite


def skip_edits(place: TestPlace, data: bytes, why: str) -> tuple[ByteEdit, ...] | None:
    """Adds `t.Skip` as the first statement, with the test's own name for `t`."""
    function = place.node if place.node.type == "function_declaration" else place.body
    block = part(function, "body")
    parameter = first(parts(part(function, "parameters")), "parameter_declaration")
    owner = text_of_node(part(parameter, "name"))
    if block is None or owner in {"", "_"}:
        return None
    statements = parts(first(parts(block), "statement_list"))
    call = first(parts(statements[0]), "call_expression") if statements else None
    called = part(call, "function")
    if text_of_node(part(called, "operand")) == owner and text_of_node(part(called, "field")) in _SKIPS:
        return ()
    statement, at = f"{owner}.Skip({quote_line(why)})", block.start_byte + 1
    following = statements[0].start_byte if statements else block.end_byte
    if b"\n" not in data[at:following]:
        return (ByteEdit(at, at, f" {statement};"),)
    line = data[data.rfind(b"\n", 0, at) + 1 : at]
    indent = line[: len(line) - len(line.lstrip())].decode()
    return (ByteEdit(at, at, f"{line_end(data)}{indent}\t{statement}"),)
