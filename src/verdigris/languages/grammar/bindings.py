"""Finds the functions of a file and the names that they bind; and which names a change renamed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from verdigris.languages.grammar.conditions import IDENTIFIERS, MEMBERS
from verdigris.languages.grammar.trees import part, parts, text_of_node, walk
from verdigris.languages.literals import RenamedWords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tree_sitter import Node

    Visited = Callable[[Node], Iterable[Node]]

FUNCTIONS = frozenset(
    {
        *("function_declaration", "generator_function_declaration", "method_definition", "function_item"),
        *("method_declaration", "function_definition"),
    }
)
VALUES = frozenset({"arrow_function", "function_expression", "generator_function", "func_literal"})
OWNERS = frozenset(
    {
        *("class_declaration", "class", "abstract_class_declaration", "internal_module", "object"),
        *("impl_item", "trait_item", "mod_item", "class_definition"),
    }
)
"""What holds methods or functions of its own."""
_HOLDERS = frozenset({"variable_declarator", "public_field_definition", "pair", "assignment_expression"})
BLOCKS = frozenset({"block", "statement_block", "statement_list"})
BOUND = {
    **dict.fromkeys(("assignment", "augmented_assignment", "for_statement", "for_in_clause"), "left"),
    **dict.fromkeys(("assignment_expression", "augmented_assignment_expression", "for_in_statement"), "left"),
    **dict.fromkeys(("short_var_declaration", "assignment_statement", "range_clause"), "left"),
    **dict.fromkeys(("named_expression", "variable_declarator", "var_spec", "const_spec"), "name"),
    **dict.fromkeys(("default_parameter", "typed_default_parameter", "parameter_declaration"), "name"),
    **dict.fromkeys(("required_parameter", "optional_parameter", "parameter", "let_declaration"), "pattern"),
    **dict.fromkeys(("for_expression", "let_condition", "tuple_struct_pattern"), "pattern"),
    **dict.fromkeys(("arrow_function", "catch_clause"), "parameter"),
    **dict.fromkeys(("const_item", "static_item", "struct_item", "enum_item", "type_spec"), "name"),
    **dict.fromkeys(("import_statement", "import_from_statement", *FUNCTIONS, *OWNERS), "name"),
    "aliased_import": "alias",
}
"""Nodes that bind names, with the field of the names."""
_LISTING = frozenset(
    {
        *("parameters", "formal_parameters", "lambda_parameters", "closure_parameters", "typed_parameter"),
        *("list_splat_pattern", "dictionary_splat_pattern", "as_pattern_target", "match_pattern"),
        *("import_clause", "import_specifier", "tuple_pattern", "case_pattern", "keyword_pattern"),
    }
)
"""Nodes of which each name that stands in them directly is bound."""


def functions_of(root: Node, visited: Visited) -> Iterator[tuple[str, Node]]:
    """Functions by name; methods by `Class.name`."""
    stack = [(root, "")]
    while stack:
        node, owner = stack.pop()
        if name := scope_name(node):
            if node.type in FUNCTIONS or node.type in VALUES:
                yield f"{owner}.{name}".strip("."), node
                name = ""
            owner = name
        stack += ((child, owner) for child in visited(node))


def scope_name(node: Node) -> str:
    """The name under which the node holds names of its own; of a method with its receiver. Else empty."""
    if node.type in FUNCTIONS:
        receiver = text_of_node(part(node, "receiver")).strip("()").rpartition(" ")[2].lstrip("*")
        return f"{receiver}.{text_of_node(part(node, 'name'))}".lstrip(".")
    if node.type in OWNERS:
        return text_of_node(part(node, "name") or part(node, "type"))
    if node.type in VALUES and node.parent is not None and node.parent.type in _HOLDERS:
        held = (part(node.parent, field) for field in ("name", "property", "key", "left"))
        return text_of_node(next((one for one in held if one is not None), None))
    return ""


def statements_of(body: Node | None) -> list[Node]:
    """The statements of a block; a body that is an expression is one."""
    if body is None:
        return []
    inner = parts(body) if body.type in BLOCKS else [body]
    return statements_of(inner[0]) if len(inner) == 1 and inner[0].type == "statement_list" else inner


def is_docstring(node: Node) -> bool:
    """Whether a statement is nothing but a text or `...`, or a decision cannot stand in it."""
    inner = parts(node)
    return node.type == "expression_statement" and len(inner) == 1 and inner[0].type in {"string", "ellipsis"}


def bound_names(node: Node, *, deep: bool = True, members: bool = True) -> Counter[str]:
    """How often each name is bound in a node.

    `deep`: also inside the functions and classes in it. `members`: also names of attributes that are set.
    """
    names: Counter[str] = Counter()
    stack = list(node.children)
    while stack:
        one = stack.pop()
        names.update(text_of_node(name) for name in bound_by(one, members=members))
        if deep or (one.type not in FUNCTIONS and one.type not in OWNERS and one.type not in VALUES):
            stack += one.children
    return names


def bound_by(node: Node, *, members: bool = False) -> list[Node]:
    """The names that a node itself binds. `members`: also those of attributes that it sets."""
    if node.type in IDENTIFIERS:
        above = node.parent
        if above is not None and above.type == "dotted_name" and len(parts(above)) == 1:
            above = above.parent  # a name in a pattern
        return [node] if above is not None and above.type in _LISTING else []
    targets = node.children_by_field_name(BOUND[node.type]) if node.type in BOUND else ()
    return [name for one in targets for name in _stored(one, members=members)]


def _stored(target: Node, *, members: bool) -> Iterator[Node]:
    if target.type in IDENTIFIERS or target.type == "type_identifier":
        yield target
    elif target.type in MEMBERS:
        name = part(target, MEMBERS[target.type][1]) if members else None
        yield from [name] if name is not None else []
    elif target.type not in {"subscript", "index_expression", "subscript_expression"}:
        for child in target.children:
            if child.type not in BOUND and child.type not in {"type", "type_annotation"}:
                yield from _stored(child, members=members)


def read_renaming(old: Mapping[str, Node], new: Mapping[str, Node]) -> RenamedWords:
    """Which names a change may have renamed: by file, by its top level, and by each of its classes."""
    return RenamedWords.of(*(dict(_names_by_place(roots)) for roots in (old, new)))


def _names_by_place(roots: Mapping[str, Node]) -> Iterator[tuple[str, frozenset[str]]]:
    for path, root in roots.items():
        yield path, frozenset(bound_names(root)).union(path.rpartition(".")[0].split("/"))
        yield f"{path}::", frozenset(bound_names(root, deep=False))
        for node in walk(root):
            if node.type in OWNERS and node.is_named:
                yield f"{path}::{scope_name(node)}", frozenset(bound_names(node, deep=False))
