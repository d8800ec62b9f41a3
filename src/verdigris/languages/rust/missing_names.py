"""Finds the names that a Rust test uses and its crate does not declare."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.languages.grammar.trees import part, parts, text_of_node, tree_of, walk
from verdigris.languages.stubs import UNTOLD, Argument, Kind, Wanted, WantedCall, merge_wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

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
_NAMES = {
    "i32": "number",
    "f64": "number",
    "&str": "text",
    "String": "text",
    "bool": "flag",
    "char": "letter",
}
_LITERALS = {
    "string_literal": "&str",
    "raw_string_literal": "&str",
    "char_literal": "char",
    "boolean_literal": "bool",
}
_RESULTS = {
    **dict.fromkeys(("is_ok", "is_err", "unwrap_err", "expect_err"), "Result<(), String>"),
    **dict.fromkeys(("is_some", "is_none"), "Option<()>"),
}


def read_declarations(path: str, data: bytes) -> dict[str, Node]:
    """The top-level items of a file by name; members of `impl` blocks are `Type.name`."""
    root, _ = tree_of(path, data)
    found: dict[str, Node] = {}
    for node in parts(root):
        if node.type in _ITEMS:
            found[text_of_node(part(node, "name"))] = node
        elif node.type == "use_declaration":
            found |= {name: node for name, _ in _bindings_of_use(text_of_node(part(node, "argument")))}
        elif node.type == "impl_item":
            owner = text_of_node(part(node, "type")).partition("<")[0]
            found |= {f"{owner}.{text_of_node(part(one, 'name'))}": one for one in parts(part(node, "body"))}
    return found


def find_wanted(path: str, data: bytes, crate: str, module: Path) -> tuple[Wanted, ...]:
    """The names of the crate that a test uses.

    `crate`: its name, for tests outside of it. `module`: the path of the file's module, for tests inside.
    """
    root, _ = tree_of(path, _ASSERT.sub(rb"\1(", data))
    names = _CratePaths(root, crate, module)
    functions = [node for node in walk(root) if node.type == "function_item"]
    return merge_wanted(one for function in functions for one in _RustTestUses(function, names).find_wanted())


def _bindings_of_use(text: str, prefix: Path = ()) -> Iterator[tuple[str, Path]]:
    """The names that a `use` binds, each with its path."""
    text = text.strip()
    if text.endswith("}"):
        head, _, inner = text.partition("{")
        before = (*prefix, *(one.strip() for one in head.split("::") if one.strip()))
        for one in re.findall(r"(?:[^,{}]|\{[^{}]*\})+", inner[:-1]):
            yield from _bindings_of_use(one, before)
        return
    named, _, alias = (one.strip() for one in text.partition(" as "))
    steps = tuple(one for one in (*prefix, *named.split("::")) if one)
    if steps and steps[-1] == "self":
        steps = steps[:-1]
    if steps:
        yield alias or steps[-1], steps


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
                for name, steps in _bindings_of_use(text_of_node(part(node, "argument"))):
                    found = self._from_root(steps)
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


class _RustTestUses:
    """The names that one function of a test uses."""

    def __init__(self, function: Node, names: _CratePaths) -> None:
        self._nodes = list(walk(part(function, "body") or function))
        self._names = names
        self._types: dict[str, str] = {}
        self._made: dict[str, Path] = {}
        for node in self._nodes:
            if node.type == "let_declaration":
                name = text_of_node(part(node, "pattern")).removeprefix("mut ").strip()
                value = part(node, "value")
                self._types[name] = text_of_node(part(node, "type")) or self._type(value)
                if (made := self._path_of_type(value)) is not None:
                    self._made[name] = made

    def find_wanted(self) -> Iterator[Wanted]:
        for node in self._nodes:
            match node.type:
                case "call_expression":
                    yield from self._find_called(node)
                case "field_expression" if not _is_called(node):
                    yield from self._find_member(node, "value")
                case "scoped_identifier" if not _is_called(node) and not _is_part(node):
                    yield from self._find_variant(node)
                case "struct_expression":
                    yield from self._find_fields(node)

    def _find_called(self, call: Node) -> Iterator[Wanted]:
        function = part(call, "function")
        if function is None:
            return
        if function.type == "field_expression":
            yield from self._find_member(function, "function", self._read_call(call))
            return
        if function.type not in {"identifier", "scoped_identifier"}:
            return
        found = self._names.path(text_of_node(function), self._types)
        if not found:
            return
        if len(found) > 1 and found[-2][:1].isupper():
            member = Wanted("", found[-1], "function", (self._read_call(call),), of_type=True)
            yield Wanted("::".join(found[:-2]), found[-2], "class", members=(member,))
        elif found[-1][:1].islower():
            yield Wanted("::".join(found[:-1]), found[-1], "function", (self._read_call(call),))

    def _find_member(self, node: Node, kind: Kind, *calls: WantedCall) -> Iterator[Wanted]:
        owner = self._path_of_type(part(node, "value"))
        if owner is not None:
            expected = "" if calls else self._expected_type(node)
            member = Wanted("", text_of_node(part(node, "field")), kind, calls, type=expected)
            yield Wanted("::".join(owner[:-1]), owner[-1], "class", members=(member,))

    def _find_variant(self, node: Node) -> Iterator[Wanted]:
        found = self._names.path(text_of_node(node), self._types)
        if found and len(found) > 1 and found[-2][:1].isupper() and found[-1][:1].isupper():
            member = Wanted("", found[-1], "value", of_type=True)
            yield Wanted("::".join(found[:-2]), found[-2], "class", members=(member,))

    def _find_fields(self, node: Node) -> Iterator[Wanted]:
        found = self._names.path(text_of_node(part(node, "name")), self._types)
        if not found or not found[-1][:1].isupper():
            return
        fields = (one for one in parts(part(node, "body")) if one.type == "field_initializer")
        members = tuple(
            Wanted(
                "",
                text_of_node(part(one, "field")),
                "value",
                type=_with_static(self._type(part(one, "value"))),
            )
            for one in fields
        )
        yield Wanted("::".join(found[:-1]), found[-1], "class", members=members)

    def _path_of_type(self, node: Node | None) -> Path | None:
        """The path of the crate's type that an expression has; None if it is not known."""
        if node is None:
            return None
        if node.type == "identifier":
            return self._made.get(text_of_node(node))
        if node.type == "call_expression":
            found = self._names.path(text_of_node(part(node, "function")), self._types)
            made = found is not None and len(found) > 1 and found[-2][:1].isupper()
            return found[:-1] if made and found else None
        if node.type == "struct_expression":
            found = self._names.path(text_of_node(part(node, "name")), self._types)
            return found if found and found[-1][:1].isupper() else None
        return None

    def _read_call(self, call: Node) -> WantedCall:
        arguments = []
        for one in parts(part(call, "arguments")):
            kind = self._type(one)
            arguments.append(Argument(_parameter_name(one, kind), kind))
        return WantedCall(tuple(arguments), result=self._result(call))

    def _result(self, call: Node) -> tuple[str, ...]:
        parent = call.parent
        if parent is None or parent.type == "expression_statement":
            return ()
        if parent.type == "let_declaration":
            name = text_of_node(part(parent, "pattern")).removeprefix("mut ").strip()
            if text_of_node(part(parent, "type")):
                return (text_of_node(part(parent, "type")),)
            uses = [node for node in self._nodes if node.type == "identifier" and text_of_node(node) == name]
            return (next((kind for node in uses if (kind := self._expected_type(node))), UNTOLD),)
        return (self._expected_type(call) or UNTOLD,)

    def _expected_type(self, node: Node) -> str:
        """The type of an expression, from the value that it is compared with or the method called on it."""
        parent = node.parent
        if parent is None:
            return ""
        if parent.type == "arguments" and parent.parent is not None:
            macro = text_of_node(part(parent.parent, "function"))
            if macro.endswith(("assert_eq", "assert_ne")):
                others = [one for one in parts(parent)[:2] if one != node]
                return self._owned_type(self._type(others[0])) if others else ""
            return "bool" if macro in {"assert", "debug_assert"} else ""
        if parent.type == "unary_expression" and text_of_node(parent).startswith("!"):
            return "bool"
        if parent.type == "field_expression" and _is_called(parent) and parent.parent is not None:
            asked_for = text_of_node(part(parent, "field"))
            if asked_for in {"unwrap", "expect"}:
                return f"Result<{self._expected_type(parent.parent) or '()'}, String>"
            return _RESULTS.get(asked_for, "")
        return ""

    def _owned_type(self, kind: str) -> str:
        """The type that a function returns if the test compares its result with a borrowed value."""
        return {"&str": "String"}.get(kind, _with_static(kind))

    def _type(self, node: Node | None) -> str:
        if node is None:
            return ""
        match node.type:
            case "negative_literal" | "unary_expression" | "parenthesized_expression":
                return self._type(next(iter(parts(node)), None))
            case "array_expression" | "tuple_expression":
                return self._type_of_items(node)
            case "reference_expression":
                return _borrowed_type(self._type(part(node, "value")))
            case "macro_invocation":
                return _type_of_macro(text_of_node(node))
            case "identifier":
                return self._types.get(text_of_node(node), "")
            case "call_expression":
                return self._type_of_call(node)
            case "struct_expression":
                found = self._path_of_type(node)
                return found[-1] if found else ""
            case _:
                return _type_of_literal(node)

    def _type_of_items(self, node: Node) -> str:
        inner = [self._type(one) for one in parts(node)]
        if not all(inner):
            return ""
        if node.type == "tuple_expression":
            return f"({', '.join(inner)})"
        return f"[{inner[0]}; {len(inner)}]" if inner else ""

    def _type_of_call(self, node: Node) -> str:
        function = text_of_node(part(node, "function"))
        given = parts(part(node, "arguments"))
        inner = self._type(given[0]) if given else ""
        if function in {"String::from", "String::new"} or function.endswith((".to_string", ".to_owned")):
            return "String"
        if function in {"Some", "Ok", "Err"} and inner:
            return {"Some": f"Option<{inner}>", "Ok": f"Result<{inner}, String>"}.get(
                function, f"Result<(), {self._owned_type(inner)}>"
            )
        made = self._path_of_type(node)
        return made[-1] if made and made[-1][:1].isupper() else ""


def _type_of_literal(node: Node) -> str:
    match node.type:
        case "integer_literal" | "float_literal":
            found = re.search(r"[iuf](?:8|16|32|64|128|size)$", text_of_node(node))
            return found[0] if found else "i32" if node.type == "integer_literal" else "f64"
        case "scoped_identifier":
            steps = text_of_node(node).split("::")
            return steps[-2] if len(steps) > 1 and steps[-2][:1].isupper() else ""
        case _:
            return _LITERALS.get(node.type, "")


def _with_static(kind: str) -> str:
    """The type for a field or a result. A reference to a literal lives for the whole program."""
    return kind.replace("&", "&'static ")


def _borrowed_type(kind: str) -> str:
    if found := re.fullmatch(r"\[(.+); \d+\]|Vec<(.+)>", kind):
        return f"&[{found[1] or found[2]}]"
    return {"String": "&str"}.get(kind, f"&{kind}" if kind else "")


def _type_of_macro(text: str) -> str:
    if text.startswith("format!"):
        return "String"
    found = re.match(r"vec!\s*[\[(]\s*(-?\d+\.\d)?(-?\d)?(\")?(true|false)?", text)
    if found is None:
        return ""
    kinds = ((found[1], "f64"), (found[2], "i32"), (found[3], "&str"), (found[4], "bool"))
    inner = next((kind for seen, kind in kinds if seen), "")
    return f"Vec<{inner}>" if inner else ""


def _is_called(node: Node) -> bool:
    return node.parent is not None and part(node.parent, "function") == node


def _is_part(node: Node) -> bool:
    return node.parent is not None and node.parent.type in {"scoped_identifier", "use_declaration"}


def _parameter_name(node: Node, kind: str) -> str:
    name = text_of_node(node).lstrip("&").strip()
    if re.fullmatch(r"[a-z_][a-z0-9_]*", name) and node.type in {"identifier", "reference_expression"}:
        return name
    return _NAMES.get(kind, "items" if kind.startswith(("&[", "Vec<", "[")) else "value")
