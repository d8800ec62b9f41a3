"""Reads tests in Rust, and what their macros assert."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verdigris.languages.assertions import Check, Word, Words
from verdigris.languages.grammar.language import indent_at, line_end
from verdigris.languages.grammar.suite import At, GrammarNames, GrammarSuite, spell
from verdigris.languages.grammar.trees import (
    COMMENTS,
    comments_of,
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
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from verdigris.languages.grammar.suite import TestPlace

_TESTS = frozenset({"test", "rstest", "test_case", "bench", "quickcheck", "proptest", "gtest"})
_ROWS = frozenset({"case", "test_case"})
EQUAL = frozenset({"assert_eq", "debug_assert_eq", "prop_assert_eq", "assert_str_eq"})
_UNEQUAL = frozenset({"assert_ne", "debug_assert_ne", "prop_assert_ne"})
_TRUE = frozenset({"assert", "debug_assert", "prop_assert"})
_SNAPSHOTS = ("assert_snapshot", "assert_debug_snapshot", "assert_json_snapshot", "assert_yaml_snapshot")
_NEAR = ("assert_relative_eq", "assert_abs_diff_eq", "assert_approx_eq", "assert_ulps_eq", "assert_float_eq")
_RAISING = frozenset({"panic", "unreachable", "todo", "unimplemented"})
_OPERATORS = {
    "==": ("==", 5.0),
    "!=": ("!=", 2.0),
    "<": ("<", 3.0),
    ">": (">", 3.0),
    "<=": ("<=", 2.9),
    ">=": (">=", 2.9),
}
_METHODS = {
    **dict.fromkeys(("is_ok", "is_err", "is_some", "is_none", "is_empty"), 2.0),
    **dict.fromkeys(("contains", "starts_with", "ends_with", "contains_key", "is_match", "any"), 3.0),
    **dict.fromkeys(("all", "eq", "matches", "is_some_and", "is_ok_and", "is_none_or"), 4.0),
}
_ALL = frozenset({"iter", "into_iter"})
_DOCUMENTING = ("///", "//!", "/**", "/*!")
_FENCE = "```"
_SPLITTING = frozenset({",", ";"})


@dataclass(slots=True)
class RustSuite(GrammarSuite):
    leaves: frozenset[str] = frozenset({"return_expression", "break_expression", "continue_expression"})
    functions_of: frozenset[str] = frozenset({"closure_expression", "function_item", "async_block"})

    def named_function(self, node: Node) -> tuple[str, Node] | None:
        if node.type == "function_item" and not _is_test(attributes_of(node)):
            return text_of_node(part(node, "name")), node
        return None

    def bind_names(self, node: Node, at: At) -> At:
        name = part(node, "pattern") if node.type == "let_declaration" else None
        if name is None:
            return at
        value = part(node, "value")
        changing = first(parts(node), "mutable_specifier") is not None
        closure = value is not None and value.type == "closure_expression"
        fixed = name.type == "identifier" and value is not None and not changing and not closure
        for one in walk(name):
            if one.type == "identifier":
                at = at.with_binding(text_of_node(one), spell(value, at.names) if fixed else None)
        return at

    def visit(self, node: Node, at: At) -> None:
        match node.type:
            case "mod_item":
                inner = filter(None, (at.scope, text_of_node(part(node, "name"))))
                self.visit_children(part(node, "body"), replace(at, scope="::".join(inner)))
            case "function_item":
                self._visit_function(node, at)
            case "macro_definition" | "attribute_item" | "use_declaration":
                return
            case "macro_invocation":
                self._visit_macro(
                    node, text_of_node(part(node, "macro")), first(parts(node), "token_tree"), at
                )
            case "block":
                self.visit_block(node, at)
            case "if_expression":
                self.visit_branch(node, at)
            case "match_arm":
                pattern = on_one_line(part(node, "pattern"))
                self.visit_part(part(node, "value"), at.under(f"match {pattern}"))
            case "for_expression" | "while_expression":
                self._visit_loop(node, at)
            case "call_expression":
                self._visit_call(node, at)
            case _:
                self.visit_children(node, at)

    def _visit_function(self, node: Node, at: At) -> None:
        attributes = attributes_of(node)
        if not _is_test(attributes):
            return
        name = text_of_node(part(node, "name"))
        scope = f"{at.scope}::{name}" if at.scope else name
        inner = replace(at, scope=scope, test=True)
        self.add_test(scope, node, part(node, "body"))
        for attribute in attributes:
            self._visit_attribute(attribute, inner)
        for parameter in self.parameters(node):
            inner = inner.with_binding(parameter, None)
        self.visit_part(part(node, "body"), inner)

    def _visit_attribute(self, attribute: Node, at: At) -> None:
        name, text = attribute_name(attribute), on_one_line(attribute)
        tree = first(parts(parts(attribute)[0]), "token_tree")
        if name == "should_panic":
            expected = spell(tree, GrammarNames({}))
            subject = (Word("panics", name=True),)
            self.add_fact(attribute, Check("throws", 5 if expected else 3, subject, expected), at)
            self.add_mark("skipped", attribute, "#[should_panic]", at.scope)
        elif name in {"ignore", "cfg"} or (name == "cfg_attr" and "ignore" in text):
            self.add_mark("skipped", attribute, text, at.scope)
        elif name in _ROWS and tree is not None:
            self.add_rows([tree], at)

    def list_declared(self, node: Node) -> Iterator[tuple[str, Node]]:
        name, given = part(node, "pattern") or part(node, "name"), part(node, "value")
        if (
            node.type in {"let_declaration", "const_item", "static_item"}
            and name is not None
            and given is not None
        ):
            yield text_of_node(name), given

    def _rows(self, table: Node | None) -> list[Node] | None:
        """The rows of an array literal, in place or behind a name; None if it is none."""
        match table.type if table is not None else "":
            case "array_expression":
                return parts(table)
            case "macro_invocation" if table is not None and text_of_node(part(table, "macro")) == "vec":
                return [table]
            case "identifier" if table is not None:
                return self._rows(self.find_declared(table))
            case "reference_expression":
                return self._rows(part(table, "value"))
            case "call_expression" if text_of_node(part(part(table, "function"), "field")) in _ALL:
                return self._rows(part(part(table, "function"), "value"))
        return None

    def _visit_loop(self, node: Node, at: At) -> None:
        table = part(node, "value")
        if (rows := self._rows(table)) is not None:
            self.add_rows(rows, at)
        else:
            head = " ".join(word.text for word in spell(table or part(node, "condition"), at.names))
            at = at.under(f"for {head}")
        for one in walk(part(node, "pattern") or node) if part(node, "pattern") else ():
            if one.type == "identifier":
                at = at.with_binding(text_of_node(one), None)
        self.visit_part(part(node, "body"), at)

    def _visit_call(self, node: Node, at: At) -> None:
        function, arguments = part(node, "function"), parts(part(node, "arguments"))
        name = text_of_node(part(function, "field")) or text_of_node(function)
        if name in {"unwrap_err", "expect_err"}:
            held = spell(part(function, "value"), at.names)
            self.add_fact(node, Check("fails", 3, held), at)
        if function is not None and function.type == "identifier" and self.call_helper(name, arguments, at):
            return
        self.visit_children(node, at)

    def _visit_macro(self, node: Node, macro: str, tree: Node | None, at: At) -> None:
        name = macro.rpartition("::")[2]
        if name.lstrip("_").startswith(("assert", "debug_assert", "prop_assert")) and tree is not None:
            for check in _checks(name, split_tokens(tree), at.names):
                self.add_fact(node, check, at)
        elif name in _RAISING:
            if at.guards:
                self.add_fact(node, Check("fail", 3, (Word("fail", name=True),)), at)
        elif tree is not None:
            self._visit_tokens(tree, at)

    def _visit_tokens(self, tree: Node, at: At) -> None:
        """Finds tests and assertions among the tokens of another macro, which has no syntax tree."""
        children = tree.children
        for index, node in enumerate(children):
            following = [n.type for n in children[index + 1 : index + 3]]
            if node.type == "identifier" and following == ["!", "token_tree"]:
                self._visit_macro(node, text_of_node(node), children[index + 2], at)
            elif node.type == "token_tree":
                self._visit_tokens(node, at)
            elif text_of_node(node) == "fn" and index + 1 < len(children):
                name = text_of_node(children[index + 1])
                at = replace(at, scope="::".join(filter(None, (at.scope.removesuffix("::" + name), name))))
                self.add_test(
                    at.scope,
                    node,
                    next((n for n in children[index + 1 :] if text_of_node(n).startswith("{")), None),
                )


SUITE = RustSuite


def skip_edits(place: TestPlace, data: bytes, why: str) -> tuple[ByteEdit, ...] | None:
    """Adds `#[ignore = "…"]` as the last attribute; None for a test inside a macro, which is only tokens."""
    if place.node.type != "function_item":
        return None
    if any(attribute_name(one) == "ignore" for one in attributes_of(place.node)):
        return ()
    at = place.node.start_byte
    indent = indent_at(data, at)
    between = " " if indent is None else f"{line_end(data)}{indent}"
    return (ByteEdit(at, at, f"#[ignore = {quote_line(why)}]{between}"),)


def doc_examples(root: Node) -> Iterator[str]:
    """The lines of the examples in documentation comments, with their fences."""
    inside = False
    for comment in comments_of(root):
        for line in comment.splitlines() if comment.startswith(_DOCUMENTING) else ():
            fence = _FENCE in line
            if inside or fence:
                yield line.lstrip("/!* ")
            inside = inside != fence


def attributes_of(node: Node) -> list[Node]:
    found: list[Node] = []
    before = node.prev_sibling
    while before is not None and (before.type == "attribute_item" or before.type in COMMENTS):
        if before.type == "attribute_item":
            found.insert(0, before)
        before = before.prev_sibling
    return found


def attribute_name(attribute: Node) -> str:
    """The last name of an attribute's path; for a row, such as `case::named(…)`, the first."""
    words = text_of_node(parts(parts(attribute)[0])[0]).split("::")
    return words[0].strip() if words[0].strip() in _ROWS else words[-1].strip()


def _is_test(attributes: Sequence[Node]) -> bool:
    return any(attribute_name(a) in _TESTS or attribute_name(a).endswith("_test") for a in attributes)


def split_tokens(tree: Node) -> list[list[Node]]:
    """Splits the tokens of a macro into its arguments."""
    found: list[list[Node]] = [[]]
    for node in tree.children[1:-1]:
        if node.type in _SPLITTING:
            found.append([])
        elif node.type not in COMMENTS:
            found[-1].append(node)
    return [argument for argument in found if argument]


def _spell_nodes(nodes: Sequence[Node], names: GrammarNames) -> Words:
    return tuple(word for node in nodes for word in spell(node, names))


def _checks(macro: str, arguments: Sequence[Sequence[Node]], names: GrammarNames) -> Iterator[Check]:
    given = [_spell_nodes(argument, names) for argument in arguments]
    first_, second = (*given, (), ())[:2]
    if macro in EQUAL or macro in _UNEQUAL:
        kind, rank = ("==", 5.0) if macro in EQUAL else ("!=", 2.0)
        left, right = sorted((first_, second), key=lambda words: not any(word.name for word in words))
        nothing = left == right or not any(word.name for word in left)
        yield Check(kind, 0 if nothing else rank, left, right)
    elif macro in _TRUE and arguments:
        yield from _conditions(arguments[0], names)
    elif macro.startswith(_SNAPSHOTS):
        inline = any(word.text == "@" for words in given for word in words)
        subject = next((words for words in given if any(word.name for word in words)), ())
        yield Check("snapshot", 5 if inline else 4, subject, given[-1] if given else ())
    elif macro.startswith(_NEAR):
        yield Check("near", 4, first_, second, _slack(given[2:]))
    elif "matches" in macro or macro.endswith(("_ok", "_err", "_some", "_none")):
        yield Check(macro, 4 if "matches" in macro else 2, first_, second)
    else:
        yield Check(macro, 3, first_, second)


def _slack(given: Sequence[Words]) -> float:
    for words in given:
        try:
            return float(words[-1].text)
        except (ValueError, IndexError):
            continue
    return 1e-6


def _conditions(nodes: Sequence[Node], names: GrammarNames) -> Iterator[Check]:
    """The checks of an asserted condition; `a && b` makes two."""
    parts_ = _split_at(nodes, "&&")
    if len(parts_) > 1:
        for one in parts_:
            yield from _conditions(one, names)
        return
    words = _spell_nodes(nodes, names)
    if len(_split_at(nodes, "||")) > 1:
        yield Check("or", 0.5, words)
        return
    for operator, (kind, rank) in _OPERATORS.items():
        sides = _split_at(nodes, operator)
        if len(sides) == 2:  # noqa: PLR2004 - a comparison has two sides
            left, right = (_spell_nodes(side, names) for side in sides)
            if operator in {"<", "<="} and any(word.text == "abs" for word in left):
                yield Check("near", 4, left, (), _slack([right]))
            else:
                yield Check(kind, 0 if left == right else rank, left, right)
            return
    yield _check_truth(words)


def _check_truth(words: Words) -> Check:
    texts = [word.text for word in words]
    if texts[:2] == ["matches", "!"]:
        return Check("matches", 4, words)
    if not any(word.name for word in words):
        return Check("truth", 0, words)
    negated = texts[0] == "!"
    rank = max((_METHODS.get(text, 1.0) for text in texts), default=1.0)
    return Check("false" if negated else "true", max(1.5, min(rank, 2.0)) if negated else rank, words)


def _split_at(nodes: Sequence[Node], operator: str) -> list[list[Node]]:
    found: list[list[Node]] = [[]]
    for node in nodes:
        if text_of_node(node) == operator and not node.children:
            found.append([])
        else:
            found[-1].append(node)
    return [side for side in found if side]


def declared(root: Node) -> list[Declared]:
    """All functions, named with the modules around them; also those in macros, which are only tokens."""
    found = []
    for node in walk(root):
        name = node.next_sibling
        if text_of_node(node) == "fn" and name is not None and name.type == "identifier":
            line = line_of(_first_attribute(node) or node)
            found.append(
                Declared(line, line_of(node), "::".join((*_modules_around(node), text_of_node(name))))
            )
    return found


def _first_attribute(keyword: Node) -> Node | None:
    """The first attribute of a function. `keyword`: its `fn`."""
    item = keyword.parent
    if item is not None and item.type == "function_item":
        return next(iter(attributes_of(item)), None)
    found, before = None, keyword.prev_sibling
    while before is not None and not text_of_node(before).startswith((";", "{")):
        found = before if text_of_node(before) == "#" else found
        before = before.prev_sibling
    return found


def _modules_around(node: Node) -> list[str]:
    found: list[str] = []
    around = node.parent
    while around is not None:
        if around.type == "mod_item":
            found.insert(0, text_of_node(part(around, "name")))
        around = around.parent
    return found
