"""Finds the names that a test imports and its modules do not export, and places their stubs."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from verdigris.core.languages import STUB_MARK as MARK
from verdigris.core.value import value
from verdigris.languages.grammar.trees import first, grammar_of, part, parts, text_of_node, tree_of, walk
from verdigris.languages.stubs import Argument, Kind, Stub, Wanted, WantedCall, data_of, merge_wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

    from verdigris.languages.stubs import Parameter, Signature, WorktreeFiles


DEFAULT = "default"
_TYPES = {"number": "number", "string": "string", "template_string": "string", "true": "boolean"}
_TYPES |= {"false": "boolean", "array": "unknown[]", "object": "object"}
_NAMES = {"number": "number", "string": "text", "boolean": "flag", "unknown[]": "items", "object": "options"}
_RESERVED = frozenset(
    {
        *("break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do"),
        *("else", "enum", "export", "extends", "false", "finally", "for", "function", "if", "import", "in"),
        *("instanceof", "new", "null", "return", "super", "switch", "this", "throw", "true", "try", "typeof"),
        *("var", "void", "while", "with", "yield", "let", "static", "await", "async", "arguments", "eval"),
    }
)
_BINDING = frozenset({"import_specifier", "import_clause", "variable_declarator"})
_USES = frozenset({"identifier", "type_identifier"})


@value
class _ModuleNames:
    taken: Mapping[str, tuple[str, str]]
    """Maps local names to the module and the exported name."""
    modules: Mapping[str, str]
    made: Mapping[str, tuple[str, str]]
    """Maps variables to the class of their object."""

    def origin(self, node: Node | None) -> tuple[str, str] | None:
        if node is None:
            return None
        if node.type in _USES:
            return self.taken.get(text_of_node(node))
        if node.type == "member_expression":
            module = self.modules.get(text_of_node(part(node, "object")))
            return None if module is None else (module, text_of_node(part(node, "property")))
        return None

    def instance(self, node: Node | None) -> tuple[str, str] | None:
        while node is not None and node.type in {"parenthesized_expression", "await_expression"}:
            node = next(iter(parts(node)), None)
        if node is None:
            return None
        if node.type == "new_expression":
            return self.origin(part(node, "constructor"))
        return self.made.get(text_of_node(node)) if node.type == "identifier" else None


def find_wanted(path: str, data: bytes) -> tuple[Wanted, ...]:
    root, _ = tree_of(path, data)
    nodes = list(walk(root))
    taken: dict[str, tuple[str, str]] = {}
    modules: dict[str, str] = {}
    for node in nodes:
        _record_imports(node, taken, modules)
    bound = _ModuleNames(taken, modules, {})
    made = {
        text_of_node(part(node, "name")): found
        for node in nodes
        if node.type == "variable_declarator" and (found := bound.instance(part(node, "value")))
    }
    return merge_wanted(_find_uses(nodes, _ModuleNames(taken, modules, made)))


def read_exports(path: str, data: bytes) -> frozenset[str] | None:
    """The names that a module exports; None if they depend on another module or on a value."""
    root, _ = tree_of(path, data)
    names: set[str] = set()
    for node in walk(root):
        if node.type == "export_statement":
            if any(child.type == "*" for child in node.children):
                return None
            names |= set(_exported_names(node))
        elif node.type == "assignment_expression":
            target, right = text_of_node(part(node, "left")), part(node, "right")
            if target == "module.exports" and right is not None:
                if right.type != "object":
                    return None
                names |= {text_of_node(part(one, "key")) or text_of_node(one) for one in parts(right)}
            elif target.startswith(("exports.", "module.exports.")):
                names.add(target.rpartition(".")[2])
    return frozenset(names)


def _exported_names(node: Node) -> Iterator[str]:
    if any(child.type == "default" for child in node.children):
        yield DEFAULT
        return
    clause = first(parts(node), "export_clause")
    for one in parts(clause):
        yield text_of_node(part(one, "alias")) or text_of_node(part(one, "name"))
    declaration = part(node, "declaration")
    if declaration is None:
        return
    if name := text_of_node(part(declaration, "name")):
        yield name
    for declared in parts(declaration):
        if declared.type == "variable_declarator":
            yield text_of_node(part(declared, "name"))


def _record_imports(node: Node, taken: dict[str, tuple[str, str]], modules: dict[str, str]) -> None:
    if node.type == "import_statement":
        module = text_of_node(part(node, "source")).strip("\"'`")
        for one in parts(first(parts(node), "import_clause")):
            match one.type:
                case "identifier":
                    taken[text_of_node(one)] = (module, DEFAULT)
                case "namespace_import":
                    modules[text_of_node(next(iter(parts(one)), None))] = module
                case "named_imports":
                    for each in parts(one):
                        name = text_of_node(part(each, "name"))
                        taken[text_of_node(part(each, "alias")) or name] = (module, name)
    elif node.type == "variable_declarator" and (module := _required_module(part(node, "value"))):
        pattern = part(node, "name")
        if pattern is not None and pattern.type == "object_pattern":
            taken |= {text_of_node(one): (module, text_of_node(one)) for one in parts(pattern)}
        else:
            modules[text_of_node(pattern)] = module


def _required_module(node: Node | None) -> str:
    """The module of `require("…")` or `await import("…")`."""
    if node is not None and node.type == "await_expression":
        node = next(iter(parts(node)), None)
    if node is None or text_of_node(part(node, "function")) not in {"require", "import"}:
        return ""
    return text_of_node(next(iter(parts(part(node, "arguments"))), None)).strip("\"'`")


def _find_uses(nodes: list[Node], bound: _ModuleNames) -> Iterator[Wanted]:
    for module, name in bound.taken.values():
        yield Wanted(module, name, "class" if name[:1].isupper() and not name.isupper() else "value")
    yield from (Wanted(module, "", "value") for module in bound.modules.values())
    for node in nodes:
        parent = node.parent
        if parent is None or (parent.type in _BINDING and part(parent, "value") != node):
            continue
        if (found := bound.origin(node)) is not None:
            yield Wanted(*found, _kind(node, found[1]), _calls(node))
        if node.type == "member_expression":
            yield from _wanted_members(node, bound)


def _wanted_members(node: Node, bound: _ModuleNames) -> Iterator[Wanted]:
    inner = part(node, "object")
    static = bound.origin(inner)
    owner = static or bound.instance(inner)
    if owner is None or (static and not _is_class(static[1])):
        return
    calls = _calls(node)
    kind: Kind = "function" if calls else "value"
    member = Wanted(owner[0], text_of_node(part(node, "property")), kind, calls, of_type=static is not None)
    yield Wanted(*owner, "class", members=(member,))


def _is_class(name: str) -> bool:
    return name[:1].isupper() and not (len(name) > 1 and name.isupper())


def _kind(node: Node, name: str) -> Kind:
    parent = node.parent
    if name.endswith(("Error", "Exception")):
        return "error"
    if node.type == "type_identifier" or (parent is not None and parent.type == "new_expression"):
        return "class"
    if parent is not None and parent.type == "call_expression" and part(parent, "function") == node:
        return "function"
    if parent is not None and parent.type == "arguments":
        asserted = text_of_node(part(parent.parent, "function")) in {"expect", "equal", "assert.equal"}
        return "value" if asserted or name.isupper() else "function"
    return "class" if _is_class(name) else "value"


def _calls(node: Node) -> tuple[WantedCall, ...]:
    call = node.parent
    if call is None or node not in {part(call, "function"), part(call, "constructor")}:
        return ()
    given = parts(part(call, "arguments"))
    spread = any(one.type == "spread_element" for one in given)
    arguments = tuple(_argument(one) for one in given if one.type != "spread_element")
    awaited = call.parent is not None and call.parent.type == "await_expression"
    return (WantedCall(arguments, spread, awaited=awaited),)


def _argument(node: Node) -> Argument:
    found = node
    while found.type == "unary_expression" and (inner := part(found, "argument")) is not None:
        found = inner
    kind = _TYPES.get(found.type, "")
    if found.type == "new_expression":
        name = text_of_node(part(found, "constructor")).rpartition(".")[2]
    elif found.type == "call_expression":
        name = text_of_node(part(found, "function")).rpartition(".")[2]
    else:
        name = (
            text_of_node(found).rpartition(".")[2]
            if found.type in {"identifier", "member_expression"}
            else ""
        )
    name = name.lower() if name.isupper() else name[:1].lower() + name[1:]
    usable = name.isidentifier() and name not in _RESERVED
    return Argument(_NAMES.get(kind, name if usable else "value"), kind)


_ENDINGS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
_THROW = f'throw new Error("{MARK}");'
_COMMON = re.compile(r"^\s*(?:module\.)?exports\b", re.MULTILINE)
_LOADS = re.compile(r"\brequire\(")


def stubs_of(path: str, files: WorktreeFiles) -> tuple[Stub, ...]:
    text = files.text(path)
    by_file: dict[str, list[Wanted]] = {}
    for one in find_wanted(path, data_of(path, files)):
        if (at := _find_file(path, one.module, files)) is not None:
            by_file.setdefault(at, []).append(one)
    common = bool(_LOADS.search(text)) and " from " not in text
    found = (
        _stub(at, wanted, files, common=common, raises=files.is_behaviour_red)
        for at, wanted in by_file.items()
    )
    return tuple(stub for stub in found if stub is not None)


def _stub(at: str, wanted: list[Wanted], files: WorktreeFiles, *, common: bool, raises: bool) -> Stub | None:
    before = files.text(at)
    known = read_exports(at, data_of(at, files)) if before else frozenset()
    new = at not in files.paths
    if known is None:
        return None
    common = bool(_COMMON.search(before)) if before else common and not at.endswith((".mjs", ".ts", ".tsx"))
    typed = at.endswith((".ts", ".tsx", ".mts", ".cts"))
    texts = [
        "".join(_write_stub(one, _DeclarationStyle(typed, common, raises)))
        for one in wanted
        if one.name and one.name not in known
    ]
    text = "\n".join(texts)
    kept = f"{before.rstrip()}\n\n" if before.strip() else ""
    return Stub(at, text, kept + text, new=new) if texts or new else None


def _find_file(test: str, module: str, files: WorktreeFiles) -> str | None:
    """The source file of a relative import, which need not exist; None for any other import."""
    if not module.startswith("."):
        return None
    place = posixpath.normpath(posixpath.join(posixpath.dirname(test), module))
    bare = re.sub(r"\.([cm]?)[jt]sx?$", "", place)
    tries = [place, *(bare + end for end in _ENDINGS), *(f"{place}/index{end}" for end in _ENDINGS)]
    found = next((each for each in tries if each in files.paths), None)
    at = found or _path_of_new_module(test, place)
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


class _DeclarationStyle:
    """How a module writes declarations: with types or without, and with which kind of export."""

    def __init__(self, typed: bool, common: bool, raises: bool) -> None:
        self.typed, self.common = typed, common
        self.any = ": any" if typed else ""
        self.body = _THROW if raises else f"return undefined; // {MARK}"

    def parameters(self, found: Signature) -> str:
        words = [self._parameter(one) for one in found.parameters]
        words += ["...rest: any[]" if self.typed else "...rest"] * found.spread
        return ", ".join(words)

    def _parameter(self, one: Parameter) -> str:
        if not self.typed:
            return one.name
        return f"{one.name}{'?' if one.optional else ''}: {one.type or 'any'}"

    def result(self, found: Signature) -> str:
        if not self.typed:
            return ""
        return ": Promise<any>" if found.awaited else ": any"


def _write_stub(one: Wanted, way: _DeclarationStyle) -> Iterator[str]:
    name = "main" if one.name == DEFAULT else one.name
    export = "" if way.common else "export default " if one.name == DEFAULT else "export "
    match one.kind:
        case "function":
            start = "async function" if one.signature.awaited else "function"
            head = f"{export}{start} {name}({way.parameters(one.signature)}){way.result(one.signature)}"
            yield f"{head} {{\n  {way.body}\n}}\n"
        case "error":
            yield f"// {MARK}\n{export}class {name} extends Error {{}}\n"
        case "class":
            yield f"// {MARK}\n{export}class {name} {{\n{''.join(_write_members(one, way))}}}\n"
        case _ if one.name == DEFAULT:
            yield f"{export}undefined; // {MARK}\n"
        case _:
            yield f"{export}const {name}{way.any} = undefined; // {MARK}\n"
    if way.common:
        yield f"module.exports.{name} = {name};\n"


def _write_members(one: Wanted, way: _DeclarationStyle) -> Iterator[str]:
    called = {member.name for member in one.members if member.kind == "function"}
    for member in one.members:
        if member.kind == "value" and member.name not in called:
            static = "static " if member.of_type else ""
            yield f"  {static}{member.name}{way.any};\n"
    if one.signature.parameters or one.signature.spread:
        yield f"  constructor({way.parameters(one.signature)}) {{}}\n"
    for member in one.members:
        if member.kind == "function":
            words = ["static"] * member.of_type + ["async"] * member.signature.awaited + [member.name]
            found = member.signature
            head = f"{' '.join(words)}({way.parameters(found)}){way.result(found)}"
            yield f"  {head} {{\n    {way.body}\n  }}\n"
