"""Mutates the code that a refactor changed.

Runs of these languages are not traced, so a new function or arm is made to fail: a test that runs it fails.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from verdigris.core.value import replace, value
from verdigris.languages.assertion_matching import match_assertions
from verdigris.languages.assertions import Assertion, Name
from verdigris.languages.findings import Mutant, Mutated
from verdigris.languages.grammar.conditions import GLOBAL, IDENTIFIERS, condition_form, shape_of, ways_of
from verdigris.languages.grammar.trees import (
    COMMENTS,
    line_of,
    part,
    parts,
    short,
    text_of_node,
    tree_of,
    walk,
)
from verdigris.languages.literals import Literal, RenamedWords, compare_literals
from verdigris.languages.probes import ByteEdit, apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tree_sitter import Node

_FUNCTIONS = frozenset(
    {
        *("function_declaration", "generator_function_declaration", "method_definition", "function_item"),
        "method_declaration",
    }
)
_VALUES = frozenset({"arrow_function", "function_expression", "generator_function", "func_literal"})
_OWNERS = frozenset(
    {
        *("class_declaration", "class", "abstract_class_declaration", "internal_module", "object"),
        *("impl_item", "trait_item", "mod_item"),
    }
)
"""What holds methods or functions of its own."""
_HOLDERS = frozenset({"variable_declarator", "public_field_definition", "pair", "assignment_expression"})
_ARMS = frozenset(
    {
        *("switch_case", "switch_default", "catch_clause", "match_arm", "default_case"),
        *("expression_case", "type_case", "communication_case"),
    }
)
_LOOPS = frozenset({"while_statement", "do_statement", "for_statement", "for_clause", "while_expression"})
_CONDITIONAL = _LOOPS | {"if_statement", "ternary_expression", "if_expression", "match_pattern"}
_ASKING = frozenset({"condition", "loop"})
_FAILING = frozenset({"function", "arm"})
"""Kinds of places that are made to fail as a whole."""
_NUMBERS = frozenset({"number", "int_literal", "float_literal", "integer_literal"})
_TEXTS = frozenset({"string", "interpreted_string_literal", "string_literal"})
_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_NEUTRAL = {"&&": "|| true", "||": "&& false"}
_SILENT = frozenset(
    {
        *("import_statement", "import_declaration", "throw_statement", "macro_invocation", "attribute_item"),
        *("use_declaration", "type_annotation", "inner_attribute_item", "literal_type"),
        *("interface_declaration", "type_alias_declaration", "ambient_declaration"),
    }
)
_TELLING = ("console.", "log.", "fmt.", "errors.", "new Error", "Error(")


@value
class _NodeSite:
    path: str
    node: Node
    kind: str
    about: Assertion
    flipped: bool = False
    ways: tuple[str, str] = ("", "")
    """The first statement that runs if the compared condition holds, and the first if it does not."""


@value
class FailingForms:
    """Code that fails when it runs."""

    statement: str
    expression: str = ""
    """Replaces a body that is an expression; empty if the language has no such functions."""


def mutate_by_grammar(
    fails: FailingForms,
    strip: Callable[[bytes], bytes],
    before: Mapping[str, bytes | None],
    after: Mapping[str, bytes | None],
) -> Mutated:
    """Mutates files that have a grammar; `strip` removes the tests that stand among the source."""
    olds = {path: _root(path, strip(data)) for path, data in before.items() if data is not None}
    texts = {path: data for path, data in after.items() if data is not None}
    roots = {path: _root(path, strip(data)) for path, data in texts.items()}
    then = [site for path, root in olds.items() for site in _sites(path, root)]
    now = [site for path, root in roots.items() for site in _sites(path, root)]
    pairs = {
        old: new
        for old, new in match_assertions([site.about for site in then], [site.about for site in now]).items()
        if then[old].flipped == now[new].flipped or _leads_to_same_code(then[old], now[new])
    }
    gone = {_loose_shape(site) for at, site in enumerate(then) if at not in pairs}
    known = set(pairs.values())
    mutants: list[Mutant] = []
    for at, site in enumerate(now):
        if at not in known:
            made = partial(_make_mutant, site.path, texts[site.path], site.node)
            never_run = site.kind in _FAILING
            mutants += (replace(made(*change), fails=never_run) for change in _changes(fails, site))
            if site.kind in _ASKING:
                # A boundary that moved (`<` became `<=`) is new behaviour; one that was rewritten is not.
                weak = _loose_shape(site) not in gone
                mutants += (replace(made(*change), weak=weak) for change in _boundaries(site.node))
    was = [*_literals_of(olds, [then[at] for at in pairs])]
    held = [*_literals_of(roots, [now[at] for at in known])]
    surplus = compare_literals([about for _, _, about in was], [about for _, _, about in held])
    renamed = RenamedWords.of(_identifiers(olds), _identifiers(roots))
    left = [was[at][2] for at in surplus.left]
    for at, weak in surplus.found.items():
        path, node, about = held[at]
        if any(renamed.covers(one, about) for one in left):
            continue
        if (other := _change_literal(node)) is not None:
            what = f"`{short(text_of_node(node))}` → `{short(other.text)}`: no test notices"
            mutants.append(replace(_make_mutant(path, texts[path], node, (other,), what), weak=weak))
    return Mutated(tuple(mutants))


def _leads_to_same_code(old: _NodeSite, new: _NodeSite) -> bool:
    """Whether a branch of both begins alike. A condition that became its opposite must swap its branches."""
    return any(a == b for a, b in zip(old.ways, new.ways, strict=True))


def _loose_shape(site: _NodeSite) -> str:
    return site.about.shape.replace("<=", "<")


def _literals_of(roots: Mapping[str, Node], same: Iterable[_NodeSite]) -> Iterator[tuple[str, Node, Literal]]:
    """The literals outside of unchanged conditions, whose literals did not change either."""
    spans = {(s.path, s.node.start_byte, s.node.end_byte) for s in same if s.kind in _ASKING}
    for path, root in roots.items():
        mine = [(start, end) for where, start, end in spans if where == path]
        for node in _literals(root):
            if not any(start <= node.start_byte and node.end_byte <= end for start, end in mine):
                yield path, node, Literal(text_of_node(node), _place(node))


def _identifiers(roots: Mapping[str, Node]) -> dict[str, frozenset[str]]:
    kinds = IDENTIFIERS | GLOBAL
    return {
        path: frozenset(text_of_node(node) for node in walk(root) if node.type in kinds)
        for path, root in roots.items()
    }


def _place(node: Node) -> str:
    above = node.parent
    if above is None:
        return ""
    function = text_of_node(part(above.parent, "function")).rpartition(".")[2]
    at = [child.id for child in above.children].index(node.id)
    return f"{at} {above.type} {function} {' '.join(child.type for child in above.children)}"


def _make_mutant(path: str, data: bytes, node: Node, edits: tuple[ByteEdit, ...], what: str) -> Mutant:
    return Mutant(path, line_of(node), what, apply_edits(data, edits))


def _root(path: str, data: bytes) -> Node:
    return tree_of(path, data)[0]


def _sites(path: str, root: Node) -> Iterator[_NodeSite]:
    stack: list[tuple[Node, str]] = [(root, path)]
    while stack:
        node, scope = stack.pop()
        if node.type in COMMENTS or node.type in {"token_tree", "ERROR"}:
            continue
        kind, found = _classify_node(node)
        if found is not None:
            names: list[Name] = []
            shape = f"{kind} {shape_of(found, names)}"
            yield _NodeSite(path, found, kind, Assertion(line_of(found), "", scope, shape, tuple(names)))
        if (test := _condition(node)) is not None:
            kind = "loop" if node.type in _LOOPS else "condition"
            form = condition_form(test)
            about = Assertion(line_of(test), "", scope, f"{kind} {form.shape}", form.names)
            yes, no = ways_of(node)
            yield _NodeSite(path, test, kind, about, form.flipped, (no, yes) if form.flipped else (yes, no))
        if name := _scope_name(node):
            scope = f"{scope}::{name}"
        stack += ((child, scope) for child in reversed(node.children))


def _scope_name(node: Node) -> str:
    """The name under which the node holds names of its own; of a method with its receiver. Else empty."""
    if node.type in _FUNCTIONS:
        owner = text_of_node(part(node, "receiver")).strip("()").rpartition(" ")[2]
        return f"{owner}.{text_of_node(part(node, 'name'))}"
    if node.type in _OWNERS:
        return text_of_node(part(node, "name") or part(node, "type"))
    if node.type in _VALUES and node.parent is not None and node.parent.type in _HOLDERS:
        held = (part(node.parent, field) for field in ("name", "property", "key", "left"))
        return text_of_node(next((one for one in held if one is not None), None))
    return ""


def _classify_node(node: Node) -> tuple[str, Node | None]:
    """The kind of a place that is not a condition, and the node that is compared."""
    if node.type in _FUNCTIONS:
        return ("function", node) if part(node, "body") is not None else ("", None)
    if node.type in _VALUES and node.parent is not None and node.parent.type in _HOLDERS:
        return "function", node
    if node.type in _ARMS:
        return "arm", node
    if _operator(node) in {"&&", "||", "??"} and not _is_inside_condition(node):
        return "value", node
    return "", None


def _operator(node: Node) -> str:
    return text_of_node(part(node, "operator")) if node.type == "binary_expression" else ""


def _is_inside_condition(node: Node) -> bool:
    """Whether the node belongs to a larger condition or chain, which is mutated as a whole."""
    above = node.parent
    while above is not None and above.type in {"parenthesized_expression", "binary_expression"}:
        if _operator(above) in {"&&", "||", "??"}:
            return True
        node, above = above, above.parent
    return above is not None and above.type in _CONDITIONAL and _condition(above) == node


def _condition(node: Node) -> Node | None:
    if node.type not in _CONDITIONAL:
        return None
    found = part(node, "condition")
    if found is None or any(one.type in {"let_condition", "let_chain"} for one in walk(found)):
        return None
    if found.type == "expression_statement" or not text_of_node(found).strip(" ;"):
        return None
    return found


def _changes(fails: FailingForms, site: _NodeSite) -> Iterator[tuple[tuple[ByteEdit, ...], str]]:
    node = site.node
    match site.kind:
        case "function":
            name = text_of_node(part(node, "name")) or text_of_node(part(node.parent, "name")) or "a function"
            if (edits := _edit_to_fail(fails, part(node, "body"))) is not None:
                yield edits, f"`{name}` is new or changed, and no test runs it"
        case "arm":
            if (edits := _failing_arm(fails, node)) is not None:
                yield edits, f"`{short(text_of_node(node), 40)}` is new or changed, and no test runs it"
        case "value":
            left = text_of_node(part(node, "left"))
            whole = ByteEdit(node.start_byte, node.end_byte, f"({left})")
            yield (whole,), f"`{short(text_of_node(node))}` → `{short(left)}`: no test notices"
        case kind:
            yield from _force_decision(node, loop=kind == "loop")


def _force_decision(node: Node, *, loop: bool) -> Iterator[tuple[tuple[ByteEdit, ...], str]]:
    inner = node
    while inner.type == "parenthesized_expression" and parts(inner):
        inner = parts(inner)[0]
    sides = [side for side in (part(inner, "left"), part(inner, "right")) if side is not None]
    operator = _operator(inner)
    ways = [_NEUTRAL[operator]] if operator in _NEUTRAL else ["|| true", "&& false"]
    for part_of in sides if operator in _NEUTRAL else [inner]:
        for way in ways:
            if loop and way == "|| true":
                continue
            edits = (
                ByteEdit(part_of.start_byte, part_of.start_byte, "(("),
                ByteEdit(part_of.end_byte, part_of.end_byte, f") {way})"),
            )
            yield edits, f"`{short(text_of_node(part_of))}` → `… {way}`: no test notices"


def _boundaries(node: Node) -> Iterator[tuple[tuple[ByteEdit, ...], str]]:
    for one in walk(node):
        operator = part(one, "operator") if one.type == "binary_expression" else None
        if operator is not None and text_of_node(operator) in _BOUNDARY:
            moved = ByteEdit(operator.start_byte, operator.end_byte, _BOUNDARY[text_of_node(operator)])
            yield (moved,), f"`{short(text_of_node(one))}` → `{moved.text}`: no test notices"


def _edit_to_fail(fails: FailingForms, body: Node | None) -> tuple[ByteEdit, ...] | None:
    if body is None:
        return None
    if body.type in {"statement_block", "block"}:
        return (ByteEdit(body.start_byte + 1, body.start_byte + 1, f" {fails.statement} "),)
    if not fails.expression:
        return None
    return (ByteEdit(body.start_byte, body.end_byte, fails.expression),)


def _failing_arm(fails: FailingForms, node: Node) -> tuple[ByteEdit, ...] | None:
    if node.type == "catch_clause":
        return _edit_to_fail(fails, part(node, "body"))
    if node.type == "match_arm":
        found = part(node, "value")
        if found is None:
            return None
        start = ByteEdit(found.start_byte, found.start_byte, f"{{ {fails.statement} ")
        return start, ByteEdit(found.end_byte, found.end_byte, " }")
    colon = next((child for child in node.children if child.type == ":"), None)
    return None if colon is None else (ByteEdit(colon.end_byte, colon.end_byte, f" {fails.statement} "),)


def _literals(root: Node) -> Iterator[Node]:
    """The numbers and texts that code works with; not those of messages, imports and types."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in _NUMBERS | _TEXTS:
            yield node
        elif (
            node.type in _SILENT
            or node.type in COMMENTS
            or (node.type == "export_statement" and part(node, "source") is not None)
            or (
                node.type in {"call_expression", "new_expression"} and text_of_node(node).startswith(_TELLING)
            )
        ):
            continue
        else:
            stack += reversed(node.children)


def _change_literal(node: Node) -> ByteEdit | None:
    text = text_of_node(node)
    if node.type in _TEXTS:
        return ByteEdit(node.start_byte, node.end_byte, f"{text[:-1]}~{text[-1:]}")
    digits = text.replace("_", "")
    if not digits.isdigit() or (len(digits) > 1 and digits[0] == "0"):
        return None
    return ByteEdit(node.start_byte, node.end_byte, str(int(digits) + 1))
