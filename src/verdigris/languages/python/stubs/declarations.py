"""Writes stubs of Python declarations, into the text of a module."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from verdigris.core.languages import STUB_MARK as MARK
from verdigris.core.value import value
from verdigris.languages.python.stubs import bound_names
from verdigris.languages.python.stubs.forms import Function, last_name
from verdigris.languages.python.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from verdigris.languages.stubs import Signature, Wanted


_RAISE = f'raise NotImplementedError("{MARK}")'
_RETURN = f"return None  # {MARK}"


def python_stub(wanted: Wanted, *, raises: bool) -> str:
    """The text of a stub. `raises`: False if only a failed assertion is a red, so the body has to return."""
    body = _RAISE if raises else _RETURN
    match wanted.kind:
        case "function":
            return _write_function(wanted.name, wanted.signature, "", body)
        case "error":
            return f'class {wanted.name}(Exception):\n    """{MARK}"""\n'
        case "class":
            return "\n".join(_write_class(wanted, body))
        case _:
            return f"{wanted.name} = None  # {MARK}\n"


def extend_module(before: str, stubs: Iterable[str]) -> str:
    """The text of a module with the stubs at its end, in its own line ends."""
    end = "\r\n" if "\r\n" in before else "\n"
    kept = before.rstrip("\r\n")
    blocks = [*([f"{kept}{end}"] if kept else []), *(stub.replace("\n", end) for stub in stubs)]
    return (end * 2).join(blocks)


def _write_class(wanted: Wanted, body: str) -> Iterator[str]:
    yield f'class {wanted.name}:\n    """{MARK}"""\n'
    called = {member.name for member in wanted.members if member.kind == "function"}
    values = dict.fromkeys(member.name for member in wanted.members if member.name not in called)
    if values:
        yield "".join(
            f"    {name} = {number if name.isupper() else None}\n" for number, name in enumerate(values, 1)
        )
    if wanted.calls and wanted.signature.takes_any:
        yield _write_function("__init__", wanted.signature, "self", "pass", "    ")
    for member in wanted.members:
        if member.kind == "function":
            first, over = ("cls", "    @classmethod\n") if member.of_type else ("self", "")
            yield over + _write_function(member.name, member.signature, first, body, "    ")


def _write_function(name: str, signature: Signature, first: str, body: str, indent: str = "") -> str:
    words = [first] if first else []
    parameters = (one for one in signature.parameters if one.name not in {"self", "cls"})
    words += [f"{one.name}=None" if one.optional else one.name for one in parameters]
    words += ["*args"] * signature.spread + ["**options"] * signature.options
    start = "async def" if signature.awaited else "def"
    return f"{indent}{start} {name}({', '.join(words)}):\n{indent}    {body}\n"


def read_declarations(text: str) -> frozenset[str] | None:
    """The names that a module binds; None if only running it would show them."""
    try:
        names = frozenset(bound_names(parse(text)))
    except SyntaxError:
        return None
    return None if names & {"*", "__getattr__"} else names


@value
class Extended:
    """A module whose classes were given more members."""

    text: str
    added: tuple[str, ...]
    """The added members, each with its class."""


_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "str", "int", "object"})
"""Bases that add no members: a class with only these has just the members in its own text."""
_TEXTS = frozenset({"StrEnum", "str"})


def add_members(before: str, wanted: Iterable[Wanted]) -> Extended:
    """Adds missing members to classes, but not to a class with an unknown base, which may have them."""
    classes = {node.name: node for node in parse(before).body if isinstance(node, ast.ClassDef)}
    members = {one.name: _missing_members(classes[one.name], one) for one in wanted if one.name in classes}
    end = "\r\n" if "\r\n" in before else "\n"
    lines = before.split("\n")
    added: list[str] = []
    for node in sorted((classes[name] for name, names in members.items() if names), key=lambda n: -n.lineno):
        constants = [_write_constant(node, name, at) for at, name in enumerate(members[node.name], 1)]
        indent, last = " " * node.body[-1].col_offset, node.end_lineno or node.lineno
        lines[last - 1] = lines[last - 1].rstrip("\r\n") + end[:-1]
        lines[last:last] = [f"{indent}{text}{end[:-1]}" for text in constants]
        added.insert(0, f"class {node.name}: {'; '.join(constants)}")
    return Extended("\n".join(lines), tuple(added))


def _missing_members(node: ast.ClassDef, wanted: Wanted) -> list[str]:
    bases = [last_name(base) for base in node.bases]
    if node.keywords or not _ENUMS.issuperset(bases) or node.body[-1].lineno == node.lineno:
        return []
    held = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    held |= {inner.name for inner in node.body if isinstance(inner, ast.FunctionDef | ast.ClassDef)}
    constants = (
        one.name for one in wanted.members if one.of_type and one.kind == "value" and one.name.isupper()
    )
    return [name for name in dict.fromkeys(constants) if name not in held]


def _write_constant(node: ast.ClassDef, name: str, number: int) -> str:
    """A constant for a member. Each has its own value: enumeration members of one value are one member."""
    text = f'"{name}"' if _TEXTS & {last_name(base) for base in node.bases} else str(-number)
    return f"{name} = {text}  # {MARK}"


def stub_of_edit(before: bytes, after: bytes) -> str:
    """A stub, on one line, of the first function that an edit adds; empty if it adds none."""
    try:
        old, new = (parse(data.decode("utf-8", "surrogateescape")) for data in (before, after))
    except SyntaxError:
        return ""
    old_names = {getattr(node, "name", "") for node in old.body}
    for node in new.body:
        if isinstance(node, ast.FunctionDef) and node.name not in old_names and not node.decorator_list:
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            return f"def {node.name}({ast.unparse(node.args)}){returns}: {_RAISE}"
    return ""


def declare_missing(before: str, other: str) -> str:
    """Adds stubs to `before` for the top-level names that only `other` binds. May raise SyntaxError."""
    bound = {name for node in parse(before).body for name in _bound_at_load(node)}
    added = list(_stubs_of_statements(parse(other).body, bound))
    if not added:
        return before
    text = "\n\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in added)
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    return f"{before}{gap}# {MARK}\n{text}\n"


_BINDING = ast.ClassDef | ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign


def _bound_at_load(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.If | ast.Try):
        yield from (name for inner in _inner_statements(node) for name in _bound_at_load(inner))
    elif isinstance(node, Function | _BINDING):
        yield from bound_names(node)


def _inner_statements(node: ast.stmt) -> Iterator[ast.stmt]:
    return (inner for inner in ast.iter_child_nodes(node) if isinstance(inner, ast.stmt))


def _stubs_of_statements(body: Iterable[ast.stmt], known: set[str]) -> Iterator[ast.stmt]:
    for node in body:
        missing = [name for name in _bound_at_load(node) if name not in known and name != "__all__"]
        if isinstance(node, ast.If | ast.Try):
            yield from _stubs_of_statements(_inner_statements(node), known)
        known.update(missing)
        match node:
            case _ if not missing:
                continue
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield _Bare(known).visit(node)
            case ast.ImportFrom(level=level) if level:  # a name of the project itself, which is passed on
                aliases = [alias for alias in node.names if (alias.asname or alias.name) in missing]
                yield ast.ImportFrom(module=node.module, names=aliases, level=level)
            case ast.Assign() | ast.AnnAssign():
                yield from map(_assign_none, missing)


def _assign_none(name: str) -> ast.Assign:
    return ast.Assign(targets=[ast.Name(name, ast.Store())], value=ast.Constant(None))


class _Bare(ast.NodeTransformer):
    """Leaves functions their parameters with plain defaults, and classes their members and known bases."""

    _KEPT = frozenset({"staticmethod", "classmethod", "property"})
    """Decorators that stay on a member, since they decide how it is called."""

    def __init__(self, known: Collection[str]) -> None:
        self.known = known
        self.inside = False

    def visit_FunctionDef(self, node: Function) -> Function:
        node.args = self.visit(node.args)
        node.body = [ast.parse(_RAISE).body[0]]
        kept = self._KEPT if self.inside else ()
        node.decorator_list = [one for one in node.decorator_list if last_name(one) in kept]
        node.returns = None
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Function:
        return self.visit_FunctionDef(node)

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        node.defaults = [_plain(one) for one in node.defaults]
        node.kw_defaults = [one and _plain(one) for one in node.kw_defaults]
        self.generic_visit(node)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        bases = [base for base in node.bases if isinstance(base, ast.Name) and base.id != node.name]
        node.bases = [base for base in bases if base.id in self.known or hasattr(builtins, base.id)]
        node.keywords, node.decorator_list, self.inside = [], [], True
        node.body = [inner for member in node.body for inner in self._member(member)] or [ast.Pass()]
        return node

    def _member(self, node: ast.stmt) -> Iterator[ast.stmt]:
        if isinstance(node, Function):
            yield self.visit(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            yield from map(_assign_none, bound_names(node))


def _plain(default: ast.expr) -> ast.expr:
    return default if isinstance(default, ast.Constant) else ast.Constant(None)
