"""Finds what a JavaScript or TypeScript test takes from relative imports, and writes its stubs there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.languages import STUB_MARK as MARK
from verdigris.core.value import value
from verdigris.languages.folders import first_known
from verdigris.languages.grammar.trees import first, grammar_of, part, parts, text_of_node, tree_of, walk
from verdigris.languages.grammar.uses import NAMES, UseForms, Uses, is_class, kind_of_name, last_word
from verdigris.languages.node.imports import ALL, DEFAULT, candidates, place_of, read_imported
from verdigris.languages.node.stubs import NodeForms
from verdigris.languages.stubs import Kind, Stub, Wanted, by_file, data_of, merge_wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from verdigris.languages.grammar.uses import Origin
    from verdigris.languages.stubs import Parameter, Signature, WorktreeFiles


_RESERVED = """
    break case catch class const continue debugger default delete do else enum export extends false finally
    for function if import in instanceof new null return super switch this throw true try typeof var void
    while with yield let static await async arguments eval
"""
_BINDING = frozenset({"import_specifier", "import_clause", "variable_declarator"})
_ASSERTING = frozenset({"expect", "equal"})


class NodeUses(Uses):
    forms = UseForms(
        members={"member_expression": ("object", "property")},
        calls={"call_expression": "function", "new_expression": "constructor"},
        variables={"variable_declarator": ("name", "value")},
        types={
            **dict.fromkeys(("string", "template_string"), "string"),
            **dict.fromkeys(("true", "false"), "boolean"),
            "number": "number",
            "array": "unknown[]",
            "object": "object",
        },
        words={"number": "number", "string": "text", "boolean": "flag", "object": "options"},
        wrappers=frozenset({"parenthesized_expression", "unary_expression", "await_expression"}),
        awaited="await_expression",
        spread="spread_element",
        reserved=frozenset(_RESERVED.split()),
    )

    def __init__(self, root: Node) -> None:
        super().__init__(list(walk(root)))
        self.taken: dict[str, Origin] = {}
        """Local names, each with the module and the exported name."""
        self.modules: dict[str, str] = {}
        for bound in (bound for node in self.nodes for bound in read_imported(node)):
            if bound.name == ALL:
                self.modules[bound.local] = bound.module
            else:
                self.taken[bound.local] = (bound.module, bound.name)
        self.read_variables()

    def is_use(self, node: Node) -> bool:
        around = node.parent
        return around is not None and (around.type not in _BINDING or part(around, "value") == node)

    def origin(self, node: Node) -> Origin | None:
        if node.type in NAMES:
            return self.taken.get(text_of_node(node))
        module = self.modules.get(text_of_node(part(node, "object")), "")
        return (module, text_of_node(part(node, "property"))) if module else None

    def wanted(self) -> Iterator[Wanted]:
        for module, name in self.taken.values():
            yield Wanted(module, name, "class" if is_class(name) else "value")
        yield from (Wanted(module, "", "value") for module in self.modules.values())
        yield from super().wanted()

    def kind(self, node: Node, name: str) -> Kind:
        around, named = node.parent, kind_of_name(name)
        if around is None or named == "error":
            return named
        if node.type == "type_identifier" or around.type == "new_expression":
            return "class"
        if around.type == "arguments":
            asserted = last_word(text_of_node(part(around.parent, "function"))) in _ASSERTING
            return "value" if asserted or name.isupper() else "function"
        return "function" if self.is_called(node) else named


def read_exports(path: str, data: bytes) -> frozenset[str] | None:
    """The names that a module exports; None if they depend on another module or on a value."""
    names: set[str] = set()
    for item in NodeForms().items(tree_of(path, data)[0]):
        kinds = {child.type for child in item.node.children}
        if item.node.type == "export_statement":
            if "*" in kinds:
                return None
            listed = (last_word(text_of_node(one)) for one in parts(first(parts(item.node), "export_clause")))
            names |= {DEFAULT} if "default" in kinds else {*item.names, *listed}
        assigned = first(parts(item.node), "assignment_expression")
        target, right = text_of_node(part(assigned, "left")), part(assigned, "right")
        if target == "module.exports":
            if right is None or right.type != "object":
                return None
            names |= {text_of_node(part(one, "key") or one) for one in parts(right)}
        elif target.startswith(("exports.", "module.exports.")):
            names.add(last_word(target))
    return frozenset(names)


_COMMON = re.compile(r"^\s*(?:module\.)?exports\b", re.MULTILINE)
_LOADS = re.compile(r"\brequire\(")


def stubs_of(path: str, files: WorktreeFiles, _said: Sequence[str]) -> tuple[Stub, ...]:
    """The stubs of a test; its text shows enough."""
    if grammar_of(path) != "node":
        return ()
    text = files.text(path)
    wanted = merge_wanted(NodeUses(tree_of(path, data_of(path, files))[0]).wanted())
    common = bool(_LOADS.search(text)) and " from " not in text
    by_path = by_file(wanted, lambda module: _find_file(path, module, files))
    return tuple(s for at, names in by_path.items() for s in _stubs(at, names, files, common=common))


def _stubs(at: str, wanted: Sequence[Wanted], files: WorktreeFiles, *, common: bool) -> Iterator[Stub]:
    before, new = files.text(at), at not in files.paths
    known = read_exports(at, data_of(at, files)) if before else frozenset()
    if known is None:
        return
    common = bool(_COMMON.search(before)) if before else common and not at.endswith((".mjs", ".ts", ".tsx"))
    style = DeclarationStyle(at.endswith((".ts", ".tsx", ".mts", ".cts")), common, files.is_behaviour_red)
    texts = ["".join(style.write(one)) for one in wanted if one.name and one.name not in known]
    if texts or new:
        text = "\n".join(texts)
        yield Stub(at, text, f"{before.rstrip()}\n\n{text}" if before.strip() else text, new=new)


def _find_file(test: str, module: str, files: WorktreeFiles) -> str | None:
    """The source file of a relative import, which need not exist; None for any other import."""
    if not module.startswith("."):
        return None
    place = place_of(test, module)
    at = next(first_known(candidates(place), files.paths), None) or _path_of_new_module(test, place)
    return at if files.is_source(at) and grammar_of(at) is not None else None


def _path_of_new_module(test: str, place: str) -> str:
    """The path of a new module, with the ending of the import or of the test.

    An import in TypeScript names the compiled file (`.js`), so the ending becomes that of its source.
    """
    named = re.search(r"\.([cm]?)([jt])s(x?)$", place)
    typed = re.search(r"\.[cm]?tsx?$", test)
    if named is None:
        end = ".ts" if typed else f".{test.rpartition('.')[2]}".replace("jsx", "js")
        return place + end
    bare = place[: named.start()]
    return f"{bare}.{named[1]}ts{named[3]}" if typed else place


@value
class DeclarationStyle:
    """How a module writes declarations."""

    typed: bool
    common: bool
    """True for `module.exports`, false for `export`."""
    raises: bool

    def write(self, one: Wanted) -> Iterator[str]:
        name = "main" if one.name == DEFAULT else one.name
        export = "" if self.common else "export default " if one.name == DEFAULT else "export "
        match one.kind:
            case "function":
                start = f"{export}{'async ' * one.signature.awaited}function "
                yield self._function(f"{start}{name}", one.signature)
            case "error":
                yield f"// {MARK}\n{export}class {name} extends Error {{}}\n"
            case "class":
                yield f"// {MARK}\n{export}class {name} {{\n{''.join(self._members(one))}}}\n"
            case _ if one.name == DEFAULT:
                yield f"{export}undefined; // {MARK}\n"
            case _:
                yield f"{export}const {name}{self._any} = undefined; // {MARK}\n"
        if self.common:
            yield f"module.exports.{name} = {name};\n"

    def _members(self, one: Wanted) -> Iterator[str]:
        called = {member.name for member in one.members if member.kind == "function"}
        for member in one.members:
            if member.kind == "value" and member.name not in called:
                yield f"  {'static ' * member.of_type}{member.name}{self._any};\n"
        if one.signature.takes_any:
            yield f"  constructor({self._parameters(one.signature)}) {{}}\n"
        for member in one.members:
            if member.kind == "function":
                start = f"  {'static ' * member.of_type}{'async ' * member.signature.awaited}"
                yield self._function(f"{start}{member.name}", member.signature, "  ")

    @property
    def _any(self) -> str:
        return ": any" if self.typed else ""

    def _function(self, start: str, found: Signature, indent: str = "") -> str:
        body = f'throw new Error("{MARK}");' if self.raises else f"return undefined; // {MARK}"
        result = ": Promise<any>" if self.typed and found.awaited else self._any
        return f"{start}({self._parameters(found)}){result} {{\n{indent}  {body}\n{indent}}}\n"

    def _parameters(self, found: Signature) -> str:
        words = [
            *map(self._parameter, found.parameters),
            *[f"...rest{self._any}{'[]' * self.typed}"] * found.spread,
        ]
        return ", ".join(words)

    def _parameter(self, one: Parameter) -> str:
        return f"{one.name}{'?' * one.optional}: {one.type or 'any'}" if self.typed else one.name
