"""Finds the names that a Go test uses and its package does not declare."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.languages.grammar.trees import first, part, parts, text_of_node, tree_of, walk
from verdigris.languages.stubs import Argument, Kind, Wanted, WantedCall, merge_wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

_LITERALS = {
    "int_literal": "int",
    "float_literal": "float64",
    "interpreted_string_literal": "string",
    "raw_string_literal": "string",
    "rune_literal": "rune",
    "true": "bool",
    "false": "bool",
}
_NAMES = {"int": "n", "float64": "x", "string": "s", "rune": "r", "bool": "ok"}
_BUILT_IN = frozenset(
    {
        *(
            "append",
            "cap",
            "clear",
            "close",
            "complex",
            "copy",
            "delete",
            "imag",
            "len",
            "make",
            "max",
            "min",
        ),
        *(
            "new",
            "panic",
            "print",
            "println",
            "real",
            "recover",
            "any",
            "bool",
            "byte",
            "comparable",
            "error",
        ),
        *("complex64", "complex128", "float32", "float64", "int", "int8", "int16", "int32", "int64", "rune"),
        *("string", "uint", "uint8", "uint16", "uint32", "uint64", "uintptr", "true", "false", "nil", "iota"),
    }
)
_EQUAL = re.compile(
    r"(?:assert|require|is)\.(?:Equal|EqualValues|Exactly)|reflect\.DeepEqual|cmp\.(?:Equal|Diff)"
)
_COMPARES = frozenset({"==", "!=", "<", ">", "<=", ">="})


def imports(path: str, data: bytes) -> dict[str, str]:
    """Maps local names to import paths."""
    root, _ = tree_of(path, data)
    specs = [node for node in walk(root) if node.type == "import_spec"]
    paths = [
        (text_of_node(part(spec, "name")), text_of_node(part(spec, "path")).strip('"`')) for spec in specs
    ]
    return {name or at.rpartition("/")[2]: at for name, at in paths}


def package_of(path: str, data: bytes) -> str:
    root, _ = tree_of(path, data)
    return text_of_node(next(iter(parts(first(parts(root), "package_clause"))), None))


def read_declarations(path: str, data: bytes) -> dict[str, str]:
    """Maps the names that a file declares to the types of functions' results; methods are `Type.Name`.

    `Name()` maps a function to the types of its parameters, in lines.
    """
    root, _ = tree_of(path, data)
    found: dict[str, str] = {}
    for node in walk(root):
        match node.type:
            case "function_declaration":
                name = text_of_node(part(node, "name"))
                found[name] = text_of_node(part(node, "result"))
                found[f"{name}()"] = "\n".join(_parameter_types(node))
            case "method_declaration":
                receiver = text_of_node(part(node, "receiver")).strip("()").rpartition(" ")[2].lstrip("*")
                found[f"{receiver.partition('[')[0]}.{text_of_node(part(node, 'name'))}"] = text_of_node(
                    part(node, "result")
                )
            case "type_spec" | "type_alias" | "const_spec" | "var_spec":
                found |= {text_of_node(name): "" for name in node.children_by_field_name("name")}
                for one in walk(node):
                    if one.type == "field_declaration":
                        names = one.children_by_field_name("name")
                        found |= {f"{text_of_node(part(node, 'name'))}.{text_of_node(n)}": "" for n in names}
    return found


def _parameter_types(function: Node) -> Iterator[str]:
    for one in parts(part(function, "parameters")):
        yield from [text_of_node(part(one, "type"))] * max(1, len(one.children_by_field_name("name")))


def find_wanted(path: str, data: bytes, known: Mapping[str, str], package: str = "") -> tuple[Wanted, ...]:
    """The names that a test needs and the package does not declare.

    `known`: what the package declares. `package`: its name in the test; empty for a test inside the package.
    """
    root, _ = tree_of(path, data)
    found: list[Wanted] = []
    for function in parts(root):
        if function.type in {"function_declaration", "method_declaration"}:
            found += _GoTestUses(function, known, package).find_wanted()
    return merge_wanted(found)


class _GoTestUses:
    """The names that one function of a test uses."""

    def __init__(self, function: Node, known: Mapping[str, str], package: str) -> None:
        self._nodes = list(walk(function))
        self._known = known
        self._package = package
        self._types: dict[str, str] = {}
        self._fields: dict[str, str] = {}
        for node in self._nodes:
            self._record_types(node)

    def _record_types(self, node: Node) -> None:
        match node.type:
            case "parameter_declaration" | "var_spec":
                for name in node.children_by_field_name("name"):
                    self._types[text_of_node(name)] = text_of_node(part(node, "type"))
            case "field_declaration":
                for name in node.children_by_field_name("name"):
                    self._fields[text_of_node(name)] = text_of_node(part(node, "type"))
            case "short_var_declaration":
                left, right = parts(part(node, "left")), parts(part(node, "right"))
                for at, name in enumerate(left):
                    value = right[at] if len(right) == len(left) else None
                    self._types.setdefault(text_of_node(name), self._type(value))
            case "range_clause":
                for name in parts(part(node, "left")):
                    self._types.setdefault(text_of_node(name), "")

    def find_wanted(self) -> Iterator[Wanted]:
        for node in self._nodes:
            match node.type:
                case "identifier" | "type_identifier" if not self._package:
                    if self._is_missing(text_of_node(node)) and not _is_label(node):
                        yield from self._find_name(node, text_of_node(node))
                case "selector_expression" | "qualified_type":
                    yield from self._find_selected(node)

    def _find_selected(self, node: Node) -> Iterator[Wanted]:
        owner = part(node, "operand") or part(node, "package")
        name = text_of_node(part(node, "field") or part(node, "name"))
        if self._package and text_of_node(owner) == self._package:
            if name not in self._known:
                yield from self._find_name(node, name)
            return
        made = self._type(owner).lstrip("*&").removeprefix(f"{self._package}." if self._package else "")
        if made.isidentifier() and made not in _BUILT_IN and f"{made}.{name}" not in self._known:
            calls = self._calls(node)
            kind: Kind = "function" if calls else "value"
            member = Wanted("", name, kind, calls, type="" if calls else self._expected_type(node))
            yield Wanted("", made, "class", members=(member,))

    def _is_missing(self, name: str) -> bool:
        return name not in self._known and name not in _BUILT_IN and name not in self._types and name != "_"

    def _find_name(self, node: Node, name: str) -> Iterator[Wanted]:
        if calls := self._calls(node):
            yield Wanted("", name, "function", calls)
            if (made := _type_of_constructor(name)) and made not in self._known:
                yield Wanted("", made, "class")
            return
        parent = node.parent
        if node.type in {"type_identifier", "qualified_type"}:
            yield Wanted("", name, "class", members=tuple(self._literal_fields(node)))
        elif name.startswith("Err"):
            yield Wanted("", name, "error")
        elif parent is not None and parent.type != "selector_expression":
            yield Wanted("", name, "value", type=self._expected_type(node))

    def _literal_fields(self, node: Node) -> Iterator[Wanted]:
        literal = node.parent
        if literal is None or literal.type != "composite_literal":
            return
        for element in parts(part(literal, "body")):
            if element.type == "keyed_element":
                key, inner = text_of_node(part(element, "key")), part(element, "value")
                value = next(iter(parts(inner)), None) if inner is not None else None
                yield Wanted("", key, "value", type=self._type(value))

    def _calls(self, node: Node) -> tuple[WantedCall, ...]:
        call = node.parent
        if call is None or call.type != "call_expression" or part(call, "function") != node:
            return ()
        given = parts(part(call, "arguments"))
        arguments = tuple(Argument(_parameter_name(one, self._type(one)), self._type(one)) for one in given)
        return (WantedCall(arguments, result=self._results(call, text_of_node(node))),)

    def _results(self, call: Node, name: str) -> tuple[str, ...]:
        """The types of a call's results; `any` if a result is used and its type is unknown."""
        parent = call.parent
        above = parent.parent if parent is not None and parent.type == "expression_list" else parent
        if above is None or above.type == "expression_statement":
            return ()
        made = _type_of_constructor(name.rpartition(".")[2])
        if above.type in {"short_var_declaration", "assignment_statement"}:
            names = [text_of_node(one) for one in parts(part(above, "left"))]
            return tuple(self._type_of_variable(one, made if at == 0 else "") for at, one in enumerate(names))
        if made:
            return (self._pointer_to(made),)
        if above.type in {"if_statement", "unary_expression"}:
            return ("bool",)
        return (self._expected_type(call) or "any",)

    def _pointer_to(self, made: str) -> str:
        return f"*{made}"

    def _type_of_variable(self, name: str, made: str) -> str:
        if made:
            return self._pointer_to(made)
        if name == "_":
            return "any"
        if name.lower().startswith("err"):
            return "error"
        if name in {"ok", "found", "exists"}:
            return "bool"
        uses = [node for node in self._nodes if node.type == "identifier" and text_of_node(node) == name]
        return next((kind for node in uses if (kind := self._expected_type(node))), "any")

    def _expected_type(self, node: Node) -> str:
        """The type that an expression is compared with."""
        parent = node.parent
        if parent is None:
            return ""
        if parent.type == "binary_expression" and text_of_node(part(parent, "operator")) in _COMPARES:
            others = [one for one in parts(parent) if one != node]
            return self._type(others[0]) if others else ""
        if parent.type == "argument_list" and _EQUAL.fullmatch(text_of_node(part(parent.parent, "function"))):
            others = [one for one in parts(parent) if one != node and text_of_node(one) != "t"]
            return next((kind for one in others if (kind := self._type(one))), "")
        if parent.type == "argument_list":
            return self._parameter_type(parent, node)
        if parent.type == "unary_expression" and text_of_node(parent).startswith("!"):
            return "bool"
        return "bool" if parent.type == "if_statement" and part(parent, "condition") == node else ""

    def _parameter_type(self, arguments: Node, node: Node) -> str:
        """The type of the parameter that takes the expression, where the package declares the function."""
        called = self._without_package(text_of_node(part(arguments.parent, "function")))
        types, at = self._known.get(f"{called}()", "").split("\n"), parts(arguments).index(node)
        return types[at] if at < len(types) else ""

    def _type(self, node: Node | None) -> str:
        """The type of an expression; empty if the text does not show it."""
        if node is None:
            return ""
        match node.type:
            case kind if kind in _LITERALS:
                return _LITERALS[kind]
            case "composite_literal":
                return re.sub(r"^\[\.\.\.\]", "[]", self._without_package(text_of_node(part(node, "type"))))
            case "unary_expression":
                inner = self._type(part(node, "operand"))
                return f"*{inner}" if text_of_node(node).startswith("&") and inner else inner
            case "parenthesized_expression":
                return self._type(next(iter(parts(node)), None))
            case "binary_expression":
                return (
                    "bool"
                    if text_of_node(part(node, "operator")) in _COMPARES
                    else self._type(part(node, "left"))
                )
            case "identifier":
                return self._types.get(text_of_node(node), "")
            case "selector_expression":
                return self._fields.get(text_of_node(part(node, "field")), "")
            case "call_expression":
                return self._type_of_call(text_of_node(part(node, "function")))
            case _:
                return ""

    def _type_of_call(self, name: str) -> str:
        bare = self._without_package(name)
        if bare in _BUILT_IN and bare not in {"append", "make", "new", "len", "cap"}:
            return bare
        if bare in {"len", "cap"}:
            return "int"
        made = _type_of_constructor(bare)
        return self._known.get(bare) or (self._pointer_to(made) if made else "")

    def _without_package(self, name: str) -> str:
        return name.replace(f"{self._package}.", "") if self._package else name


def _is_label(node: Node) -> bool:
    """Whether the identifier names a field, a key, an import or a declared function, and uses nothing."""
    parent = node.parent
    if parent is None or (part(parent, "name") == node and parent.type.endswith("_declaration")):
        return True
    if parent.type == "literal_element" and parent.parent is not None:
        return part(parent.parent, "key") == parent
    return parent.type in {"selector_expression", "qualified_type", "import_spec", "package_clause"}


def _type_of_constructor(name: str) -> str:
    """The type that a constructor makes by convention: `Money` for `NewMoney`."""
    found = re.fullmatch(r"New([A-Z]\w*)", name)
    return found[1] if found else ""


def _parameter_name(node: Node, kind: str) -> str:
    name = text_of_node(node).rpartition(".")[2]
    if node.type in {"identifier", "selector_expression"} and name.isidentifier() and name[:1].islower():
        return name
    return _NAMES.get(kind, "items" if kind.startswith("[]") else "value")
