"""Reads how a Python test uses the names of the modules that it imports by full names."""

from __future__ import annotations

from keyword import kwlist
from typing import TYPE_CHECKING

from verdigris.languages.grammar.trees import part, parts, text_of_node, tree_of, walk
from verdigris.languages.grammar.uses import UseForms, Uses, kind_of_name, last_word
from verdigris.languages.stubs import Kind, Wanted, merge_wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from verdigris.languages.grammar.uses import Origin

_RAISING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "suppress"})
_OPERATIONS = frozenset(
    {
        *("comparison_operator", "binary_operator", "boolean_operator", "not_operator", "unary_operator"),
        *("assert_statement", "subscript", "interpolation", "attribute"),
    }
)
_LABELS = {"attribute": "attribute", "function_definition": "name", "class_definition": "name"}
_LABELS["keyword_argument"] = "name"
"""Nodes with an identifier that only names a part of them, with its field."""


class PythonUses(Uses):
    forms = UseForms(
        members={"attribute": ("object", "attribute")},
        calls={"call": "function"},
        variables={"assignment": ("left", "right"), "as_pattern": ("alias", "")},
        types={
            **dict.fromkeys(("string", "concatenated_string"), "str"),
            **dict.fromkeys(("integer", "float"), "number"),
            **dict.fromkeys(("true", "false"), "bool"),
            **dict.fromkeys(("list", "tuple", "set", "list_comprehension"), "[]"),
        },
        words={"str": "text", "bytes": "data", "number": "number", "bool": "flag"},
        wrappers=frozenset({"parenthesized_expression", "unary_operator"}),
        awaited="await",
        spread="list_splat",
        options="dictionary_splat",
        reserved=frozenset({*kwlist, "self"}),
        snake=True,
    )

    def __init__(self, root: Node, is_module: Callable[[str], bool]) -> None:
        super().__init__(list(walk(root)))
        self.taken: dict[str, Origin] = {}
        """Names from `from module import name`."""
        self.modules: dict[str, str] = {}
        """Names of modules, as the text writes them, each with the dotted name of the module."""
        for node in self.nodes:
            self._read_import(node)
        for name, (module, original) in list(self.taken.items()):
            inner = f"{module}.{original}"
            if is_module(inner) or (original.islower() and self._is_used_as_module(name)):
                del self.taken[name]
                self.modules[name] = inner
        self.read_variables()

    def _read_import(self, node: Node) -> None:
        names = [
            (part(one, "name") or one, part(one, "alias")) for one in node.children_by_field_name("name")
        ]
        bound = [(text_of_node(name), text_of_node(alias or name)) for name, alias in names]
        source = part(node, "module_name")
        if node.type == "import_statement":
            self.modules |= {local: name for name, local in bound}
        elif node.type == "import_from_statement" and source is not None and source.type == "dotted_name":
            self.taken |= {local: (text_of_node(source), name) for name, local in bound}

    def _is_used_as_module(self, name: str) -> bool:
        """Whether a name is used only to call its members, as a module is."""
        named = (node for node in self.nodes if node.type == "identifier" and text_of_node(node) == name)
        uses = [node for node in named if _is_expression(node)]
        around = [node.parent for node in uses]
        return bool(uses) and all(one and one.type == "attribute" and self.is_called(one) for one in around)

    def is_use(self, node: Node) -> bool:
        return node.type == "attribute" or (node.type == "identifier" and _is_expression(node))

    def origin(self, node: Node) -> Origin | None:
        if node.type == "identifier":
            return self.taken.get(text_of_node(node))
        if node.type == "attribute" and (module := self.modules.get(text_of_node(part(node, "object")))):
            return module, text_of_node(part(node, "attribute"))
        return None

    def wanted(self) -> Iterator[Wanted]:
        for module, name in self.taken.values():
            yield Wanted(module, name, kind_of_name(name))
        yield from (Wanted(module, "", "value") for module in self.modules.values())
        yield from super().wanted()

    def kind(self, node: Node, name: str) -> Kind:
        around = node.parent
        while around is not None and around.type in {"tuple", "as_pattern"}:
            node, around = around, around.parent
        if around is None or around.type == "except_clause":
            return "error"
        if around.type == "argument_list":
            called, given = last_word(text_of_node(part(around.parent, "function"))), parts(around)
            if node == given[0] and called in _RAISING:
                return "error"
            if part(around.parent, "superclasses") == around or (
                called == "isinstance" and node in given[1:]
            ):
                return "class"
        named = kind_of_name(name)
        if around.type == "type" and named == "value":
            return "class"
        is_value = not self.is_called(node) and (name.isupper() or around.type in _OPERATIONS)
        return named if named != "value" or is_value else "function"

    def type_of(self, node: Node | None) -> str:
        kind = super().type_of(node)
        return "bytes" if kind == "str" and text_of_node(self.unwrapped(node))[:1] in {"b", "B"} else kind


def _is_expression(node: Node) -> bool:
    """Whether an identifier is an expression, and names no part of the node around it."""
    around = node.parent
    if around is None or around.type in {"dotted_name", "aliased_import"}:
        return False
    return part(around, _LABELS.get(around.type, "-")) != node


def find_wanted(text: str, is_module: Callable[[str], bool]) -> tuple[Wanted, ...]:
    """The names that a test uses from each module that it imports by a full name.

    `is_module`: whether a module of that dotted name exists.
    """
    root, fault = tree_of("test.py", text.encode("utf-8", "surrogateescape"))
    return () if fault is not None else merge_wanted(PythonUses(root, is_module).wanted())
