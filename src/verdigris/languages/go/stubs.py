"""Tells stubs from work in Go, and places the stubs of a test into the package that it tests."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from verdigris.core.languages import STUB_MARK as MARK
from verdigris.languages.findings import StubFinding
from verdigris.languages.go.missing_names import find_wanted, imports, package_of, read_declarations
from verdigris.languages.grammar.stubs import (
    DeclarationItem,
    StubContext,
    faulty,
    find_unmarked,
    head_form,
    inside,
    within,
)
from verdigris.languages.grammar.trees import COMMENTS, first, line_of, part, parts, shape, text_of_node, walk
from verdigris.languages.stubs import UNTOLD, Stub, Wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tree_sitter import Node

    from verdigris.languages.stubs import Files, Signature


_LITERALS = frozenset(
    {
        *("int_literal", "float_literal", "imaginary_literal", "rune_literal", "interpreted_string_literal"),
        *("raw_string_literal", "nil", "true", "false", "iota"),
    }
)
_ERRORS = frozenset({"errors.New", "fmt.Errorf"})
_GROUPS = frozenset({"type_declaration", "var_declaration", "import_declaration"})
_DIRECTIVES = ("//go:", "// +build", "//export ", "//line ")


class GoForms:
    def items(self, scope: Node) -> list[DeclarationItem]:
        return [item for node in scope.children for item in _items(node)]

    def known(self, root: Node) -> tuple[frozenset[str], frozenset[str]]:
        items = self.items(root)
        bound = {name for item in items for name in item.names}
        declared = {text_of_node(n) for node in walk(root) for n in node.children_by_field_name("name")}
        made = (node for node in walk(root) if node.type == "short_var_declaration")
        declared |= {text_of_node(n) for node in made for n in walk(part(node, "left") or node)}
        used = {text_of_node(node) for node in walk(root) if node.type in {"identifier", "type_identifier"}}
        types = {name for item in items if item.node.type == "type_spec" for name in item.names}
        return frozenset(bound | (used - declared)), frozenset(types)

    def raises(self, node: Node) -> bool:
        return node.type == "call_expression" and text_of_node(part(node, "function")) == "panic"

    def continues(self, old: DeclarationItem, new: DeclarationItem) -> bool:
        bodies = _body(old.node), _body(new.node)
        if None in bodies or old.node.type != new.node.type or _head(old.node) != _head(new.node):
            return False
        # Constants count from the top of their group.
        firsts = [self.items(body)[:1] for body in bodies if body]
        same = [item.form for item in firsts[0]] == [item.form for item in firsts[1]]
        return same or old.node.type != "const_declaration"

    def growth(self, old: DeclarationItem, new: DeclarationItem, seen: StubContext) -> Iterator[StubFinding]:
        yield from within(self, new, _body(old.node), _body(new.node), inside(seen, new))

    def addition(self, item: DeclarationItem, seen: StubContext) -> Iterator[StubFinding]:
        node = item.node
        match node.type:
            case "import_spec":
                if (
                    text_of_node(part(node, "name")) in {"_", "."}
                    or text_of_node(part(node, "path")) == '"C"'
                ):
                    yield StubFinding(item.line, f"{item.called} imports names that cannot be seen here")
            case "package_clause" if not seen.existing:
                return
            case "function_declaration" | "method_declaration":
                yield from find_unmarked(item, seen)
                if text_of_node(part(node, "name")) == "init" and node.type == "function_declaration":
                    yield StubFinding(item.line, "`init` runs although nobody calls it")
                yield from faulty(item, _body_fault(part(node, "body")))
            case "type_spec" | "type_alias" | "method_elem" | "type_elem":
                yield from find_unmarked(item, seen)
            case "field_declaration":
                yield from find_unmarked(item, seen)
                if part(node, "name") is None and seen.existing:
                    yield StubFinding(item.line, f"{item.called} would add its methods to existing code")
            case "var_spec" | "const_spec":
                yield from find_unmarked(item, seen)
                values = parts(part(node, "value"))
                yield from faulty(item, None if all(map(constant, values)) else "the value is not a constant")
            case "const_declaration":
                yield from within(self, item, None, node, inside(seen, item))
            case _:
                yield StubFinding(item.line, f"{item.called} does work")


def _items(node: Node) -> Iterator[DeclarationItem]:
    if node.type in COMMENTS:
        if text_of_node(node).startswith(_DIRECTIVES):
            yield DeclarationItem(node, form=text_of_node(node).strip())
    elif node.type in _GROUPS or node.type in {"import_spec_list", "var_spec_list", "statement_list"}:
        for child in node.children:
            yield from _items(child)
    elif node.is_named and node.type != "empty_statement":
        body = _body(node)
        yield DeclarationItem(node, (), _names(node), line_of(body) if body else 0, shape(node))


def _names(node: Node) -> tuple[str, ...]:
    match node.type:
        case "import_spec":
            alias, path = text_of_node(part(node, "name")), text_of_node(part(node, "path")).strip('"`')
            return (alias or path.rpartition("/")[2],)
        case "method_declaration":
            receiver = text_of_node(part(node, "receiver")).strip("()").rpartition(" ")[2]
            return (f"{receiver.lstrip('*').partition('[')[0]}.{text_of_node(part(node, 'name'))}",)
        case "package_clause" | "const_declaration" | "type_elem":
            return ()
        case _:
            names = [text_of_node(name) for name in node.children_by_field_name("name")]
            return tuple(name for name in names if name != "_")


def _body(node: Node) -> Node | None:
    """What holds the members of a type, or the entries of a group of constants."""
    match node.type:
        case "type_spec":
            kind = part(node, "type")
            if kind is not None and kind.type == "struct_type":
                return first(parts(kind), "field_declaration_list")
            return kind if kind is not None and kind.type == "interface_type" else None
        case "const_declaration":
            return node
        case _:
            return None


def _head(node: Node) -> str:
    return f"{node.type} {head_form(node, 'type')}" if node.type == "type_spec" else node.type


def _body_fault(body: Node | None) -> str | None:
    statements = parts(first(parts(body), "statement_list"))
    zeros = {text_of_node(n) for s in statements if s.type == "var_declaration" for n in _zero_names(s)}
    if all(_is_empty(node, zeros) for node in statements):
        return None
    return "the body does more than panic or return a constant"


def _zero_names(node: Node) -> Iterator[Node]:
    for spec in parts(node):
        if part(spec, "value") is None:
            yield from spec.children_by_field_name("name")


def _is_empty(node: Node, zeros: set[str]) -> bool:
    match node.type:
        case "expression_statement":
            (call,) = parts(node)[:1] or [node]
            return _calls_one_of(call, {"panic"})
        case "return_statement":
            values = [value for listed in parts(node) for value in parts(listed)]
            return all(constant(value) or text_of_node(value) in zeros for value in values)
        case "assignment_statement":
            kinds = {n.type for n in walk(part(node, "right") or node)}
            blank = all(text_of_node(n) == "_" for n in parts(part(node, "left")))
            return blank and kinds <= {"expression_list", "identifier", ","}
        case "var_declaration":
            return all(part(spec, "value") is None for spec in parts(node))
        case _:
            return False


def constant(node: Node) -> bool:
    match node.type:
        case kind if kind in _LITERALS:
            return True
        case "unary_expression" | "parenthesized_expression":
            return all(map(constant, parts(node)))
        case "composite_literal":
            return all(map(constant, parts(part(node, "body"))))
        case "literal_element" | "literal_value" | "expression_list":
            return all(map(constant, parts(node)))
        case "keyed_element":
            value = part(node, "value")
            return value is not None and constant(value)
        case "binary_expression":
            return all(map(constant, parts(node)))
        case "call_expression":
            return _calls_one_of(node, _ERRORS)
        case _:
            return False


def _calls_one_of(node: Node, names: Collection[str]) -> bool:
    """One of these functions, with constants."""
    return text_of_node(part(node, "function")) in names and all(
        map(constant, parts(part(node, "arguments")))
    )


_MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)
_TEST = "_test.go"


def stubs_of(path: str, files: Files) -> tuple[Stub, ...]:
    data = _data(path, files)
    folder, package = posixpath.dirname(path), package_of(path, data)
    found: list[Stub | None] = []
    if not package.endswith("_test"):
        known = _declared_names(folder, files, tests=True)
        found.append(_stub(folder, package, path, find_wanted(path, data, known), files))
    for name, at in imports(path, data).items():
        inside = _folder(at, path, files)
        if inside is not None:
            wanted = find_wanted(path, data, _declared_names(inside, files, tests=False), name)
            bare = package.removesuffix("_test") if inside == folder else posixpath.basename(at)
            found.append(_stub(inside, bare, path if inside == folder else "", wanted, files))
    return tuple(stub for stub in found if stub is not None)


def _stub(folder: str, package: str, test: str, wanted: tuple[Wanted, ...], files: Files) -> Stub | None:
    own = test.removesuffix(_TEST) + ".go" if test else f"{folder}/{package}.go".lstrip("/")
    there = [each for each in _package(folder, files, tests=False) if files.is_source(each)]
    at = own if own in there or not there or test else there[0]
    new = at not in files.paths
    if not files.is_source(at) or not (wanted or (new and not there)):
        return None
    before = files.text(at).rstrip("\n") or f"package {package}"
    texts = [text for one in wanted for text in _texts(one)]
    text = "\n".join(texts)
    notes = tuple(note for one in wanted for note in _notes(one))
    shown = f"package {package}\n\n{text}" if new else text
    return Stub(at, shown, f"{before}\n\n{text}" if text else f"{before}\n", new=new, notes=notes)


def _texts(one: Wanted) -> Iterator[str]:
    match one.kind:
        case "function":
            yield _function(one.name, one.signature, "")
        case "error":
            yield f"var {one.name} error // {MARK}\n"
        case "class":
            yield from _class(one)
        case _:
            yield f"var {one.name} {one.type or 'any'} // {MARK}\n"


def _class(one: Wanted) -> Iterator[str]:
    called = {member.name for member in one.members if member.kind == "function"}
    fields = [member for member in one.members if member.kind == "value" and member.name not in called]
    body = "".join(f"\t{field.name} {field.type or 'any'}\n" for field in fields)
    yield f"// {MARK}\ntype {one.name} struct {{{chr(10) if body else ''}{body}}}\n"
    receiver = f"({one.name[0].lower()} {one.name}) "
    for member in one.members:
        if member.kind == "function":
            yield _function(member.name, member.signature, receiver)


def _function(name: str, found: Signature, receiver: str) -> str:
    words = ", ".join(f"{one.name} {one.type or 'any'}" for one in found.parameters)
    results = [each or "any" for each in found.result]
    after = f" {results[0]}" if len(results) == 1 else f" ({', '.join(results)})" if results else ""
    return f'func {receiver}{name}({words}){after} {{\n\tpanic("{MARK}")\n}}\n'


def _notes(one: Wanted) -> Iterator[str]:
    """Where `any` stands for a type that the text did not tell."""
    for each in (one, *one.members):
        found = each.signature
        unknown = [parameter.name for parameter in found.parameters if not parameter.type]
        if unknown:
            yield f"the type of {', '.join(unknown)} in {each.name}"
        if UNTOLD in found.result:
            yield f"what {each.name} returns"


def _declared_names(folder: str, files: Files, *, tests: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in _package(folder, files, tests=tests):
        found |= read_declarations(path, _data(path, files))
    return found


def _package(folder: str, files: Files, *, tests: bool) -> list[str]:
    inside = (path for path in files.paths if path.endswith(".go") and posixpath.dirname(path) == folder)
    return sorted(path for path in inside if tests or not path.endswith(_TEST))


def _folder(imported: str, test: str, files: Files) -> str | None:
    """Where a package of the test's own module is or belongs; None for what is not of this module."""
    home = posixpath.dirname(test)
    while True:
        at = posixpath.join(home, "go.mod")
        if at in files.paths:
            found = _MODULE.search(files.text(at))
            if found is None or f"{imported}/".startswith(f"{found[1]}/") is False:
                return None
            return posixpath.join(home, imported[len(found[1]) :].lstrip("/")).rstrip("/")
        if not home:
            return None
        home = posixpath.dirname(home)


def _data(path: str, files: Files) -> bytes:
    return files.text(path).encode("utf-8", "surrogateescape")
