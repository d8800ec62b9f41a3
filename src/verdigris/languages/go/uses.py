"""Reads how a Go test uses the names that its package, or another of the module, does not declare."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.languages.go.stubs import GoForms
from verdigris.languages.grammar.trees import part, parts, text_of_node, tree_of, walk
from verdigris.languages.grammar.uses import COMPARING, NAMES, TypedUses, UseForms
from verdigris.languages.stubs import UNTOLD, Kind, Wanted, merge_wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tree_sitter import Node

    from verdigris.languages.grammar.uses import Origin

_BUILT_IN = """
    append cap clear close complex copy delete imag len make max min new panic print println real recover
    any bool byte comparable error complex64 complex128 float32 float64 int int8 int16 int32 int64 rune
    string uint uint8 uint16 uint32 uint64 uintptr true false nil iota _
"""
_BUILT_INS = frozenset(_BUILT_IN.split())
_RESERVED = """
    break case chan const continue default defer else fallthrough for func go goto if import interface map
    package range return select struct switch type var
"""
_EQUAL = re.compile(
    r"(?:assert|require|is)\.(?:Equal|EqualValues|Exactly)|reflect\.DeepEqual|cmp\.(?:Equal|Diff)"
)
_LACKING = re.compile(
    r"\(type \*?(?:(\w+)\.)?(\w+)\S* has no field or method (\w+)"
    r"|unknown field (\w+) in struct literal of type (?:\w+\.)?(\w+)"
)
_LABELS = frozenset({"selector_expression", "qualified_type", "import_spec", "package_clause"})
_TRUTHS = frozenset({"ok", "found", "exists"})


def read_declarations(path: str, data: bytes) -> dict[str, str]:
    """Maps the names that a file declares to the types of functions' results; methods are `Type.Name`.

    `Name()` maps a function to the types of its parameters, in lines. `Type.*` says that a type may have
    members that its own text does not show, and `Type.interface` that it takes none.
    """
    root, _ = tree_of(path, data)
    found: dict[str, str] = {}
    for item in GoForms().items(root):
        node = item.node
        found |= dict.fromkeys(item.names, text_of_node(part(node, "result")))
        if node.type == "function_declaration":
            given = parts(part(node, "parameters"))
            types = [[text_of_node(part(one, "type"))] * max(1, len(_names(one))) for one in given]
            found[f"{item.names[0]}()"] = "\n".join(each for row in types for each in row)
        for one in walk(node) if node.type in {"type_spec", "type_alias"} else ():
            if one.type in {"field_declaration", "method_elem"}:
                found |= {f"{item.names[0]}.{name}": "" for name in _names(one) or ["*"]}
            elif one.type == "interface_type" and one == part(node, "type"):
                found |= {f"{item.names[0]}.{name}": "" for name in ("*", "interface")}
        if node.type == "const_declaration":
            found |= {name: "" for inner in GoForms().items(node) for name in inner.names}
    return found


def _names(node: Node) -> list[str]:
    return [text_of_node(name) for name in node.children_by_field_name("name")]


def find_wanted(
    path: str, data: bytes, known: Mapping[str, str], package: str, said: Sequence[str]
) -> tuple[Wanted, ...]:
    """The names that a test needs and the package does not declare.

    `known`: what the package declares. `package`: its name in the test; empty for a test inside the package.
    `said`: what the compiler said.
    """
    root, _ = tree_of(path, data)
    lacking = [found.groups() for line in said for found in _LACKING.finditer(line)]
    missing = {(one[1] or one[4], one[2] or one[3]) for one in lacking if (one[0] or "") == package}
    members = [one for one in sorted(missing) if one[0] in known and f"{one[0]}.interface" not in known]
    functions = (n for n in parts(root) if n.type in {"function_declaration", "method_declaration"})
    uses = [GoUses(each, known, package) for each in functions]
    named = [one for each in uses for one in (*each.wanted(), *each.wanted_of(members))]
    return merge_wanted(named)


class GoUses(TypedUses):
    forms = UseForms(
        members={"selector_expression": ("operand", "field"), "qualified_type": ("package", "name")},
        calls={"call_expression": "function"},
        types={
            **dict.fromkeys(("interpreted_string_literal", "raw_string_literal"), "string"),
            **dict.fromkeys(("true", "false"), "bool"),
            "int_literal": "int",
            "float_literal": "float64",
            "rune_literal": "rune",
        },
        words={"int": "n", "float64": "x", "string": "s", "rune": "r", "bool": "ok"},
        reserved=frozenset(_RESERVED.split()),
    )

    def __init__(self, function: Node, known: Mapping[str, str], package: str) -> None:
        super().__init__(list(walk(function)))
        self.known = known
        self.package = package
        self.fields: dict[str, str] = {}
        """The types of the fields in tables of cases."""
        for node in self.nodes:
            self._read_types(node)

    def _read_types(self, node: Node) -> None:
        match node.type:
            case "parameter_declaration" | "var_spec":
                self.types |= dict.fromkeys(_names(node), text_of_node(part(node, "type")))
            case "field_declaration":
                self.fields |= dict.fromkeys(_names(node), text_of_node(part(node, "type")))
            case "short_var_declaration":
                left, right = parts(part(node, "left")), parts(part(node, "right"))
                for name, given in zip(
                    left, right if len(right) == len(left) else [None] * len(left), strict=True
                ):
                    self.types.setdefault(text_of_node(name), self.type_of(given))
            case "range_clause":
                for name in parts(part(node, "left")):
                    self.types.setdefault(text_of_node(name), "")

    def is_use(self, node: Node) -> bool:
        if node.type not in self.forms.members:
            return not _is_label(node)
        # Where a member of the value is used, the value's own type is not known.
        return node.parent is None or node.parent.type != "selector_expression"

    def origin(self, node: Node) -> Origin | None:
        if node.type in self.forms.members:
            owner, name = (text_of_node(part(node, each)) for each in self.forms.members[node.type])
            return ("", name) if self.package and owner == self.package and name not in self.known else None
        name = text_of_node(node)
        declared = any(name in names for names in (self.known, self.types, _BUILT_INS))
        return None if self.package or node.type not in NAMES or declared else ("", name)

    def kind(self, node: Node, name: str) -> Kind:
        if self.is_called(node):
            return "function"
        if node.type in {"type_identifier", "qualified_type"}:
            return "class"
        return "error" if name.startswith("Err") else "value"

    def wanted(self) -> Iterator[Wanted]:
        for one in super().wanted():
            yield one
            if one.calls and (made := _type_of_constructor(one.name)) and made not in self.known:
                yield Wanted("", made, "class")

    def wanted_members(self, node: Node) -> Iterator[Wanted]:
        owner, name = (part(node, each) for each in self.forms.members[node.type])
        kind, named = self._bare(self.type_of(owner)).lstrip("*&"), text_of_node(name)
        if not kind.isidentifier() or kind in _BUILT_INS:
            return
        if self.known.keys().isdisjoint({f"{kind}.{named}", f"{kind}.*"}):
            yield Wanted("", kind, "class", members=(self.member(node, named),))

    def wanted_of(self, members: Collection[tuple[str, str]]) -> Iterator[Wanted]:
        """The uses of members that the compiler missed, each with its type."""
        for node in self.nodes:
            for owner, name in members:
                if node.type == "selector_expression" and text_of_node(part(node, "field")) == name:
                    yield Wanted("", owner, "class", members=(self.member(node, name),))

    def fields_of(self, node: Node) -> Iterator[Wanted]:
        literal = node.parent if node.parent is not None and node.parent.type == "composite_literal" else None
        for element in parts(part(literal, "body")):
            if element.type == "keyed_element":
                given = next(iter(parts(part(element, "value"))), None)
                yield Wanted("", text_of_node(part(element, "key")), "value", type=self.type_of(given))

    def taken_by(self, result: Node) -> list[Node]:
        around = result.parent
        around = around.parent if around is not None and around.type == "expression_list" else around
        assigned = around is not None and around.type in {"short_var_declaration", "assignment_statement"}
        return parts(part(around, "left")) if assigned else []

    def results(self, call: Node, name: str) -> tuple[str, ...]:
        types, made = super().results(call, name), _type_of_constructor(name)
        return (f"*{made}", *types[1:]) if made and types else types

    def type_of_variable(self, name: str) -> str:
        if name.lower().startswith("err"):
            return "error"
        return "bool" if name in _TRUTHS else super().type_of_variable(name) if name != "_" else UNTOLD

    def compared_with(self, node: Node, arguments: Node) -> Node | None:
        if not _EQUAL.fullmatch(text_of_node(part(arguments.parent, "function"))):
            return None
        return next((one for one in parts(arguments) if one != node and self.type_of(one)), None)

    def expected_by(self, node: Node, parent: Node) -> str:
        """The type of the parameter that takes the expression, where the package declares the function."""
        called = self._bare(text_of_node(part(parent.parent, "function")))
        types = self.known.get(f"{called}()", "").split("\n") if parent.type == "argument_list" else []
        at = parts(parent).index(node) if types else 0
        return types[at] if at < len(types) else ""

    def type_of(self, node: Node | None) -> str:
        match node.type if node is not None else "":
            case "composite_literal":
                return re.sub(r"^\[\.\.\.\]", "[]", self._bare(text_of_node(part(node, "type"))))
            case "unary_expression" if text_of_node(node).startswith("&"):
                inner = self.type_of(part(node, "operand"))
                return f"*{inner}" if inner else ""
            case "binary_expression":
                compares = text_of_node(part(node, "operator")) in COMPARING
                return "bool" if compares else self.type_of(part(node, "left"))
            case "selector_expression":
                return self.fields.get(text_of_node(part(node, "field")), "")
            case "call_expression":
                return self._type_of_call(self._bare(text_of_node(part(node, "function"))))
            case _:
                return super().type_of(node)

    def _type_of_call(self, name: str) -> str:
        if name in {"len", "cap"}:
            return "int"
        made = _type_of_constructor(name)
        converted = name if name in _BUILT_INS - {"append", "make", "new"} else ""
        return converted or self.known.get(name) or (f"*{made}" if made else "")

    def _bare(self, text: str) -> str:
        return text.replace(f"{self.package}.", "") if self.package else text


def _is_label(node: Node) -> bool:
    """Whether the identifier names a field, a key, an import or a declared function, and uses nothing."""
    parent = node.parent
    if parent is None or (part(parent, "name") == node and parent.type.endswith("_declaration")):
        return True
    if parent.type == "literal_element" and parent.parent is not None:
        return part(parent.parent, "key") == parent
    return parent.type in _LABELS


def _type_of_constructor(name: str) -> str:
    """The type that a constructor makes by convention: `Money` for `NewMoney`."""
    found = re.fullmatch(r"New([A-Z]\w*)", name)
    return found[1] if found else ""
