"""Reads how a Rust test uses the names of its crate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.languages.grammar.trees import part, parts, text_of_node, tree_of, walk
from verdigris.languages.grammar.uses import NAMES, TypedUses, UseForms, last_word
from verdigris.languages.rust.stubs import RustForms, used_paths
from verdigris.languages.stubs import Kind, Wanted, merge_wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

    from verdigris.languages.grammar.uses import Origin

Path = tuple[str, ...]
_ASSERT = re.compile(rb"\b((?:debug_)?assert(?:_eq|_ne)?)!\(")
_ITEMS = frozenset(
    {
        *("function_item", "struct_item", "enum_item", "union_item", "trait_item", "type_item", "const_item"),
        *("static_item", "mod_item", "macro_definition"),
    }
)
_PRELUDE = frozenset(
    {
        *("Some", "None", "Ok", "Err", "Vec", "String", "Box", "Option", "Result", "Default", "From", "Into"),
        *("Iterator", "ToString", "Clone", "Copy", "Self", "self", "drop"),
    }
)
_RESULTS = {
    **dict.fromkeys(("is_ok", "is_err", "unwrap_err", "expect_err"), "Result<(), String>"),
    **dict.fromkeys(("is_some", "is_none"), "Option<()>"),
}
_PATHS = NAMES | {"scoped_identifier", "scoped_type_identifier"}
_ELEMENTS = ((r"-?\d+\.\d", "f64"), (r"-?\d", "i32"), ('"', "&str"), ("true|false", "bool"))
"""The types of elements, by how a `vec!` begins."""


def read_declarations(path: str, data: bytes) -> dict[str, Node]:
    """The top-level items of a file by name; members of `impl` blocks are `Type.name`."""
    forms = RustForms()
    found: dict[str, Node] = {}
    for item in forms.items(tree_of(path, data)[0]):
        found |= dict.fromkeys(item.names, item.node)
        if item.node.type == "impl_item" and (body := part(item.node, "body")) is not None:
            owner = text_of_node(part(item.node, "type")).partition("<")[0]
            found |= {f"{owner}.{name}": one.node for one in forms.items(body) for name in one.names}
    return found


def find_wanted(path: str, data: bytes, crate: str, module: Path) -> tuple[Wanted, ...]:
    """The names of the crate that a test uses.

    `crate`: its name, for tests outside of it. `module`: the path of the file's module, for tests inside.
    """
    root, _ = tree_of(path, _ASSERT.sub(rb"\1(", data))
    paths = _CratePaths(root, crate, module)
    functions = [node for node in walk(root) if node.type == "function_item"]
    return merge_wanted(one for function in functions for one in RustUses(function, paths).wanted())


class _CratePaths:
    """Resolves the names of a file to paths from the crate's root."""

    def __init__(self, root: Node, crate: str, module: Path) -> None:
        self._crate, self._module = crate, module
        self._taken: dict[str, Path] = {}
        self._globs: list[Path] = []
        nodes = list(walk(root))
        self._own = {text_of_node(part(node, "name")) for node in nodes if node.type in _ITEMS}
        for node in nodes:
            if node.type == "use_declaration":
                for text in sorted(used_paths(node)):
                    named, _, alias = text.partition(" as ")
                    steps = tuple(named.removesuffix("::self").split("::"))
                    name, found = alias or steps[-1], self._from_root(steps)
                    if found is not None and name == "*":
                        self._globs.append(found[:-1])
                    elif found is not None:
                        self._taken[name] = found

    def _from_root(self, steps: Path) -> Path | None:
        match steps:
            case (first, *rest) if first in {self._crate, "crate"}:
                return tuple(rest)
            case ("super", *rest):
                return (*self._module, *rest)
            case _:
                return None

    def path(self, text: str, local: Mapping[str, str]) -> Path | None:
        steps = tuple(one.strip() for one in text.split("::"))
        if (found := self._from_root(steps)) is not None:
            return found
        first, *rest = steps
        if first in self._taken:
            return (*self._taken[first], *rest)
        unknown = first not in local and first not in self._own and first not in _PRELUDE
        if self._globs and unknown and re.fullmatch(r"[A-Za-z_]\w*", first):
            return (*self._globs[0], *steps)
        return None


class RustUses(TypedUses):
    forms = UseForms(
        members={"field_expression": ("value", "field"), "scoped_identifier": ("path", "name")},
        calls={"call_expression": "function"},
        variables={"let_declaration": ("pattern", "value")},
        types={
            **dict.fromkeys(("string_literal", "raw_string_literal"), "&str"),
            "char_literal": "char",
            "boolean_literal": "bool",
        },
        words={
            **dict.fromkeys(("i32", "f64"), "number"),
            **dict.fromkeys(("&str", "String"), "text"),
            "bool": "flag",
            "char": "letter",
        },
        wrappers=frozenset({"parenthesized_expression", "unary_expression", "negative_literal"}),
        snake=True,
    )

    def __init__(self, function: Node, paths: _CratePaths) -> None:
        super().__init__(list(walk(part(function, "body") or function)))
        self.paths = paths
        self.read_variables()
        for node in self.nodes:
            if node.type == "let_declaration":
                kind = text_of_node(part(node, "type")) or self.type_of(part(node, "value"))
                self.types[text_of_node(part(node, "pattern"))] = kind

    def is_use(self, node: Node) -> bool:
        if node.parent is not None and node.parent.type == "struct_expression":
            return part(node.parent, "name") == node
        return self.is_called(node) and last_word(text_of_node(node))[:1].islower()

    def origin(self, node: Node) -> Origin | None:
        """Where a name of the crate is declared; None for a member of a type, which is found by its owner."""
        found = self.paths.path(text_of_node(node), self.types) if node.type in _PATHS else None
        if not found or any(step[:1].isupper() for step in found[:-1]):
            return None
        return "::".join(found[:-1]), found[-1]

    def kind(self, node: Node, name: str) -> Kind:  # noqa: ARG002 - by its form alone
        return "function" if self.is_called(node) else "class"

    def wanted_members(self, node: Node) -> Iterator[Wanted]:
        """Leaves out what a type has itself and is not called, except for variants: they are in capitals."""
        around = node.parent.type if node.parent is not None else ""
        is_whole = around not in {"scoped_identifier", "use_declaration"}
        is_variant = is_whole and self.is_class(text_of_node(part(node, "name")))
        if node.type == "field_expression" or self.is_called(node) or is_variant:
            yield from super().wanted_members(node)

    def fields_of(self, node: Node) -> Iterator[Wanted]:
        literal = node.parent if node.parent is not None and node.parent.type == "struct_expression" else None
        for one in parts(part(literal, "body")):
            if one.type == "field_initializer":
                kind = self.owned(self.type_of(part(one, "value")))
                yield Wanted("", text_of_node(part(one, "field")), "value", type=kind)

    def class_of(self, node: Node | None) -> Origin | None:
        match node.type if node is not None else "":
            case "call_expression":
                made = part(part(node, "function"), "path")
            case "struct_expression":
                made = part(node, "name")
            case _:
                return super().class_of(node)
        origin = self.origin(made) if made is not None else None
        return origin if origin is not None and self.is_class(origin[1]) else None

    def taken_by(self, result: Node) -> list[Node]:
        around = result.parent
        pattern = part(around, "pattern") if around is not None and around.type == "let_declaration" else None
        return [] if pattern is None else [pattern]

    def type_of_variable(self, name: str) -> str:
        declared = (node for node in self.nodes if node.type == "let_declaration" and part(node, "type"))
        named = (part(node, "type") for node in declared if text_of_node(part(node, "pattern")) == name)
        return text_of_node(next(named, None)) or super().type_of_variable(name)

    def compared_with(self, node: Node, arguments: Node) -> Node | None:
        is_equality = text_of_node(part(arguments.parent, "function")).endswith(("assert_eq", "assert_ne"))
        return next((one for one in parts(arguments)[:2] if one != node), None) if is_equality else None

    def is_condition(self, node: Node, parent: Node) -> bool:
        asserted = text_of_node(part(parent.parent, "function")) in {"assert", "debug_assert"}
        return (parent.type == "arguments" and asserted) or super().is_condition(node, parent)

    def expected_by(self, node: Node, parent: Node) -> str:  # noqa: ARG002 - by the method alone
        """The type that a method shows which is called on the expression."""
        if parent.type != "field_expression" or not self.is_called(parent) or parent.parent is None:
            return ""
        method = text_of_node(part(parent, "field"))
        if method in {"unwrap", "expect"}:
            return f"Result<{self.expected_type(parent.parent) or '()'}, String>"
        return _RESULTS.get(method, "")

    def owned(self, kind: str) -> str:
        """A reference to a literal lives for the whole program; a text is owned."""
        return "String" if kind == "&str" else kind.replace("&", "&'static ")

    def type_of(self, node: Node | None) -> str:
        node = self.unwrapped(node)
        if node is None:
            return ""
        match node.type:
            case "array_expression" | "tuple_expression":
                return self._type_of_items(node)
            case "reference_expression":
                return _borrowed_type(self.type_of(part(node, "value")))
            case "macro_invocation":
                return _type_of_macro(text_of_node(node))
            case "call_expression":
                return self._type_of_call(node)
            case "struct_expression":
                return (self.class_of(node) or ("", ""))[1]
            case "integer_literal" | "float_literal":
                suffix = re.search(r"[iuf](?:8|16|32|64|128|size)$", text_of_node(node))
                return suffix[0] if suffix else "i32" if node.type == "integer_literal" else "f64"
            case "scoped_identifier":
                owner = last_word(text_of_node(part(node, "path")))
                return owner if self.is_class(owner) else ""
            case _:
                return super().type_of(node)

    def _type_of_items(self, node: Node) -> str:
        inner = [self.type_of(one) for one in parts(node)]
        if not inner or not all(inner):
            return ""
        return f"({', '.join(inner)})" if node.type == "tuple_expression" else f"[{inner[0]}; {len(inner)}]"

    def _type_of_call(self, node: Node) -> str:
        function = text_of_node(part(node, "function"))
        inner = self.type_of(next(iter(parts(part(node, "arguments"))), None))
        if function in {"String::from", "String::new"} or function.endswith((".to_string", ".to_owned")):
            return "String"
        match function if inner else "":
            case "Some":
                return f"Option<{inner}>"
            case "Ok":
                return f"Result<{inner}, String>"
            case "Err":
                return f"Result<(), {self.owned(inner)}>"
            case _:
                return (self.class_of(node) or ("", ""))[1]


def _borrowed_type(kind: str) -> str:
    if found := re.fullmatch(r"\[(.+); \d+\]|Vec<(.+)>", kind):
        return f"&[{found[1] or found[2]}]"
    return {"String": "&str"}.get(kind, f"&{kind}" if kind else "")


def _type_of_macro(text: str) -> str:
    if text.startswith("format!"):
        return "String"
    found = re.match(r"vec!\s*[\[(]\s*", text)
    elements = (kind for begin, kind in _ELEMENTS if found and re.compile(begin).match(text, found.end()))
    return next((f"Vec<{kind}>" for kind in elements), "")
