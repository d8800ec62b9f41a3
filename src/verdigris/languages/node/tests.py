"""Reads tests of vitest, jest, mocha and node:test, and marks one as skipped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verdigris.core.test_ids import REACH
from verdigris.languages.grammar.language import indent_at, line_end
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
from verdigris.languages.literals import one_line, quote_line
from verdigris.languages.node.checks import assert_check, expect_check
from verdigris.languages.node.test_ids import (
    SEPARATOR,
    SUITES,
    TESTS,
    declarations,
    node_id,
    read_chain,
    read_name,
)
from verdigris.languages.probes import ByteEdit
from verdigris.languages.test_comments import Declared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from verdigris.languages.grammar.suite import TestPlace


_SKIPPING = frozenset({"skip", "todo", "fails", "failing", "skipIf", "runIf"})
_OFF = frozenset({"xit", "xtest", "xdescribe", "xspecify"})
_ALONE = frozenset({"fit", "fdescribe"})
_FUNCTIONS = frozenset(
    {
        "arrow_function",
        "function_expression",
        "function_declaration",
        "generator_function",
        "method_definition",
    }
)
_LOOPS = frozenset({"for_statement", "for_in_statement", "while_statement", "do_statement"})
_PAIRS = frozenset({"Object.entries", "Object.keys", "Object.values"})
_ASSERTS = frozenset({"assert", "t", "chai"})
_NESTED = (["t", "test"], ["t", "it"])
"""Calls by which node:test declares a subtest."""
_MARKED = frozenset({"it", "test", "specify"})
_SKIPPED_WORDS = frozenset({"xit", "xtest", "xspecify"})
_PLAIN = frozenset({"each", "for", "concurrent", "sequential"})
"""Words after `test` with which the test still runs."""
_NODE_TEST = "node:test"
_NAME_AND_FUNCTION = 2


@dataclass(slots=True)
class NodeSuite(GrammarSuite):
    leaves: frozenset[str] = frozenset(
        {"return_statement", "throw_statement", "break_statement", "continue_statement"}
    )
    functions_of: frozenset[str] = _FUNCTIONS

    def named_function(self, node: Node) -> tuple[str, Node] | None:
        value = part(node, "value")
        if node.type == "function_declaration":
            return text_of_node(part(node, "name")), node
        if node.type == "variable_declarator" and value is not None and value.type in _FUNCTIONS:
            return text_of_node(part(node, "name")), value
        return None

    def bind_names(self, node: Node, at: At) -> At:
        for declared in parts(node) if node.type == "lexical_declaration" else ():
            name, value = part(declared, "name"), part(declared, "value")
            if name is None or name.type != "identifier":
                continue
            fixed = node.children[0].type == "const" and value is not None and value.type not in _FUNCTIONS
            at = at.with_binding(text_of_node(name), spell(value, at.names) if fixed else None)
        return at

    def list_declared(self, node: Node) -> Iterator[tuple[str, Node]]:
        for one in parts(node) if node.type in {"lexical_declaration", "variable_declaration"} else ():
            name, given = part(one, "name"), part(one, "value")
            if name is not None and given is not None:
                yield text_of_node(name), given

    def visit(self, node: Node, at: At) -> None:
        match node.type:
            case "call_expression":
                self._visit_call(node, at)
            case "member_expression" if (found := expectation(node)) is not None:
                subject, chain = found
                self.add_fact(node, expect_check(subject, chain, (), at.names), _read_await(node, chain, at))
            case "statement_block":
                self.visit_block(node, at)
            case "if_statement":
                self.visit_branch(node, at)
            case kind if kind in _LOOPS:
                self._visit_loop(node, at)
            case "try_statement":
                self._visit_try(node, at)
            case "function_declaration":
                return
            case "variable_declarator" if self.named_function(node) is not None:
                return
            case "switch_case" | "switch_default" | "ternary_expression":
                self.visit_children(
                    node, at.under(f"if {on_one_line(part(node, 'value') or part(node, 'condition'))}")
                )
            case _:
                self.visit_children(node, at)

    def _visit_call(self, node: Node, at: At) -> None:
        chained, arguments = read_chain(part(node, "function")), parts(part(node, "arguments"))
        words = None if chained is None else [text_of_node(word) for word in chained]
        if words is not None and at.test and words[:2] in _NESTED:
            words = words[1:]
        declared = words is not None and words[0] in SUITES | TESTS and arguments
        if words is not None and declared:
            self._declare_test(node, words, at)
        elif (
            words is not None
            and words[-1] in {"skip", "todo"}
            and words[0] in {"t", "ctx", "context", "this"}
        ):
            self.add_mark("skipped", node, on_one_line(node), at.scope)
        elif (found := expectation(part(node, "function"))) is not None:
            subject, chain = found
            check = expect_check(subject, chain, arguments, at.names)
            self.add_fact(node, check, _read_await(node, chain, at))
        elif text_of_node(part(node, "function")) == "expect":
            return
        elif words is not None and words[0] in _ASSERTS and (len(words) > 1 or words[0] == "assert"):
            self.add_fact(node, assert_check(words[-1], arguments, at.names), at)
        elif words is not None and len(words) == 1 and self.call_helper(words[0], arguments, at):
            return
        elif words is None or not self._visit_for_each(node, arguments, at):
            self.visit_children(node, at)

    def _visit_for_each(self, node: Node, arguments: list[Node], at: At) -> bool:
        """Reads `[…].forEach(row => …)` as a table; returns False for any other call."""
        function = part(node, "function")
        table = part(function, "object")
        if text_of_node(part(function, "property")) != "forEach" or table is None or not arguments:
            return False
        self.add_rows(self._rows(table) or (), at)
        self.visit_children(node, at)
        return True

    def _rows(self, table: Node | None) -> list[Node] | None:
        """The rows of an array or object literal, in place or behind a name; None if it is neither."""
        match table.type if table is not None else "":
            case "array" | "object":
                return parts(table)
            case "identifier" if table is not None:
                return self._rows(self.find_declared(table))
            case "as_expression" | "satisfies_expression" | "parenthesized_expression":
                return self._rows(parts(table)[0])
            case "call_expression" if text_of_node(part(table, "function")) in _PAIRS:
                return self._rows(next(iter(parts(part(table, "arguments"))), None))
        return None

    def _declare_test(self, node: Node, words: list[str], at: At) -> None:
        arguments = parts(part(node, "arguments"))
        name, body = read_name(arguments[0]), next((a for a in arguments if a.type in _FUNCTIONS), None)
        scope = node_id("", (text_of_node(arguments[0]) if name is None else name,))[2:]
        scope = f"{at.scope}{SEPARATOR}{scope}" if at.scope else scope
        head = on_one_line(part(node, "function"))
        options = first(arguments[1:], "object")
        settings = {text_of_node(part(o, "key")): text_of_node(part(o, "value")) for o in parts(options)}
        skipped = _SKIPPING.intersection(words) or words[0] in _OFF
        if skipped or any(settings.get(key, "false") != "false" for key in ("skip", "todo", "fails")):
            self.add_mark("skipped", node, head, scope)
        if "only" in words or words[0] in _ALONE or settings.get("only", "false") != "false":
            self.add_mark("deselected", node, head, "")
        inner = replace(at, scope=scope, test=words[0] in TESTS or at.test)
        if words[0] in TESTS and not at.test:
            self.add_test(scope, node, body)
        self.add_rows(self._table(part(node, "function")), inner)
        if body is not None:
            self._visit_function(body, inner)

    def _table(self, function: Node | None) -> list[Node]:
        """The rows of `test.each(table)(…)`."""
        if function is None or function.type != "call_expression":
            return []
        if text_of_node(part(part(function, "function"), "property")) not in {"each", "for"}:
            return []
        given = part(function, "arguments")
        if given is not None and given.type == "template_string":
            return [given]
        return self._rows(next(iter(parts(given)), None)) or []

    def _visit_function(self, node: Node, at: At) -> None:
        for parameter in self.parameters(node):
            at = at.with_binding(parameter, None)
        body = part(node, "body")
        if body is None:
            return
        if body.type == "statement_block":
            self.visit_block(body, at)
        else:
            self.visit(body, at)

    def _visit_loop(self, node: Node, at: At) -> None:
        table = part(node, "right")
        if (rows := self._rows(table)) is not None:
            self.add_rows(rows, at)
        else:
            over = spell(table, at.names) if table is not None else ()
            head = " ".join(word.text for word in over) or on_one_line(part(node, "condition"))
            at = at.under(f"for {head}")
        self.visit_part(part(node, "body"), at)

    def _visit_try(self, node: Node, at: At) -> None:
        handler = part(node, "handler")
        self.visit_part(part(node, "body"), at if handler is None else at.under("try"))
        if handler is not None:
            self.visit_part(part(handler, "body"), at.under("catch"))
        self.visit_children(part(node, "finalizer"), at)


SUITE = NodeSuite


def declared(root: Node) -> list[Declared]:
    return [Declared(one.line, one.line, one if one.is_test else None) for one in declarations(root)]


def expectation(node: Node | None) -> tuple[Node | None, list[str]] | None:
    """The argument of `expect(…)` and the words that follow it; None if the node is no expectation."""
    words: list[str] = []
    while node is not None:
        match node.type:
            case "member_expression":
                words.append(text_of_node(part(node, "property")))
                node = part(node, "object")
            case "call_expression" if text_of_node(part(node, "function")) in {
                "expect",
                "expect.soft",
                "expect.poll",
            }:
                given = parts(part(node, "arguments"))
                return (given[0] if given else None), list(reversed(words))
            case "call_expression":
                node = part(node, "function")
            case "identifier" if text_of_node(node) == "expect" and words:
                return None, list(reversed(words))
            case _:
                return None
    return None


def _read_await(node: Node, chain: list[str], at: At) -> At:
    """Adds a guard to a promise that is not awaited, since its rejection fails no test."""
    if not {"resolves", "rejects"} & set(chain):
        return at
    above = node.parent
    waited = above is not None and above.type in {"await_expression", "return_statement", "arrow_function"}
    return at if waited else at.under("not awaited")


def skip_edits(place: TestPlace, data: bytes, why: str) -> tuple[ByteEdit, ...] | None:
    words = read_chain(part(place.node, "function"))
    if words is None:
        return None
    names = [text_of_node(word) for word in words]
    if "skip" in names or names[0] in _SKIPPED_WORDS:
        return ()
    if names[0] not in _MARKED or not _PLAIN.issuperset(names[1:]):
        return None
    given = parts(part(place.node, "arguments"))
    # Options are written, or may be, between the name and the function.
    takes_options = len(given) == _NAME_AND_FUNCTION or (len(given) > 1 and given[1].type == "object")
    if len(words) == 1 and takes_options and _is_node_test(place.node):
        return _set_option(given, why)
    # Jest has `test.concurrent.skip`, but no `test.skip.concurrent`.
    word = next((word for word in words if text_of_node(word) == "concurrent"), words[0])
    return (ByteEdit(word.end_byte, word.end_byte, ".skip"), _write_reason(place.node, given, data, why))


def _is_node_test(node: Node) -> bool:
    """Whether the file of the node imports node:test."""
    root = node
    while root.parent is not None:
        root = root.parent
    texts = (text_of_node(one)[1:-1] for one in walk(root) if one.type == "string")
    return _NODE_TEST in texts


def _set_option(given: list[Node], why: str) -> tuple[ByteEdit, ...] | None:
    option, second, inside = f"skip: {quote_line(why)}", given[1], parts(given[1])
    if second.type != "object":
        return (ByteEdit(second.start_byte, second.start_byte, f"{{ {option} }}, "),)
    known = [part(pair, "value") for pair in inside if text_of_node(part(pair, "key")) == "skip"]
    if known:
        return () if known[-1] is not None and known[-1].type in {"string", "true"} else None
    if not inside:
        return (ByteEdit(second.start_byte, second.end_byte, f"{{ {option} }}"),)
    at = inside[0].start_byte
    return (ByteEdit(at, at, f"{option}, "),)


def _write_reason(node: Node, given: list[Node], data: bytes, why: str) -> ByteEdit:
    """Puts the reason on a line above the test and its comments; if that is not possible, before its name."""
    top = node.parent if node.parent is not None and node.parent.type == "expression_statement" else node
    indent = indent_at(data, top.start_byte)
    if indent is None:
        at = given[0].start_byte
        return ByteEdit(at, at, f"/* {one_line(why).replace('*/', '* /')} */ ")
    while (above := top.prev_sibling) is not None and _is_near_comment(above, top, data):
        top = above
    at = top.start_byte
    return ByteEdit(at, at, f"// {one_line(why)}{line_end(data)}{indent_at(data, at)}")


def _is_near_comment(above: Node, below: Node, data: bytes) -> bool:
    """Whether a comment is near enough to be a mark of the test, so that nothing may come between them."""
    return (
        above.type in COMMENTS
        and line_of(below) - line_of(above) <= REACH
        and indent_at(data, above.start_byte) is not None
    )
