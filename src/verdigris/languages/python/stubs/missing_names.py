"""Finds the names that a test uses and modules do not have, and writes their stubs."""

from __future__ import annotations

import ast
import keyword
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.stubs import bound_names
from verdigris.languages.python.stubs.forms import last_name
from verdigris.languages.python.stubs.origins import MARK
from verdigris.languages.python.syntax import parse
from verdigris.languages.stubs import Argument, Kind, Wanted, WantedCall, merge_wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from verdigris.languages.stubs import Parameter, Signature


_RAISING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "suppress"})
_NAMES = {str: "text", int: "number", float: "number", bool: "flag", bytes: "data"}
_OPERANDS = (
    ast.Compare,
    ast.Assert,
    ast.Subscript,
    ast.BinOp,
    ast.BoolOp,
    ast.UnaryOp,
    ast.JoinedStr,
    ast.Attribute,
)


@value
class _ImportedNames:
    """The meanings of the names in a test file."""

    taken: Mapping[str, tuple[str, str]]
    """Names from `from module import name`, each with its module and its name there."""
    modules: Mapping[str, str]
    """Names of modules, as the text writes them, each with the dotted name of the module."""
    made: Mapping[str, tuple[str, str]]
    """Maps variables to the class of their object."""

    def origin(self, node: ast.expr) -> tuple[str, str] | None:
        """The module and the name in it that an expression means; None if it is not imported."""
        match node:
            case ast.Name(id=name):
                return self.taken.get(name)
            case ast.Attribute(value=owner, attr=attr):
                module = self.modules.get(ast.unparse(owner))
                return None if module is None else (module, attr)
            case _:
                return None

    def instance(self, node: ast.expr) -> tuple[str, str] | None:
        """The imported class of the object that an expression makes or holds; None if it is not known."""
        match node:
            case ast.Name(id=name):
                return self.made.get(name)
            case ast.Call(func=func):
                found = self.origin(func)
                return found if found is not None and _is_type_name(found[1]) else None
            case _:
                return None


def find_wanted(text: str, is_module: Callable[[str], bool]) -> tuple[Wanted, ...]:
    """The names that a test uses from each module that it imports by a full name.

    `is_module`: whether a module of that dotted name exists.
    """
    tree = parse(text)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    bound = _bind_names(tree, parents, is_module)
    return merge_wanted(_find_uses(tree, bound, parents))


def read_declarations(text: str) -> frozenset[str] | None:
    """The names that a module binds; None if only running it would show them."""
    try:
        tree = parse(text)
    except SyntaxError:
        return None
    names = frozenset(bound_names(tree))
    return None if names & {"*", "__getattr__"} else names


def _bind_names(
    tree: ast.Module, parents: Mapping[ast.AST, ast.AST], is_module: Callable[[str], bool]
) -> _ImportedNames:
    taken: dict[str, tuple[str, str]] = {}
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                modules |= {alias.asname or alias.name: alias.name for alias in aliases}
            case ast.ImportFrom(module=str(module), level=0, names=aliases):
                taken |= {alias.asname or alias.name: (module, alias.name) for alias in aliases}
    for name, (module, original) in list(taken.items()):
        inner = f"{module}.{original}"
        if is_module(inner) or (original.islower() and _is_used_as_module(name, tree, parents)):
            del taken[name]
            modules[name] = inner
    bound = _ImportedNames(taken, modules, {})
    return _ImportedNames(taken, modules, dict(_find_made(tree, bound)))


def _is_used_as_module(name: str, tree: ast.Module, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether a name is used only to call its members, as a module is."""
    uses = [parents[node] for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    inside = [isinstance(use, ast.Attribute) and _is_called(use, parents) for use in uses]
    return bool(uses) and all(inside)


def _is_called(node: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> bool:
    parent = parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _find_made(tree: ast.Module, bound: _ImportedNames) -> Iterator[tuple[str, tuple[str, str]]]:
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found = bound.instance(value)
            case ast.withitem(context_expr=value, optional_vars=ast.Name(id=name)):
                found = bound.instance(value)
            case _:
                continue
        if found is not None:
            yield name, found


def _find_uses(
    tree: ast.Module, bound: _ImportedNames, parents: Mapping[ast.AST, ast.AST]
) -> Iterator[Wanted]:
    for module, name in bound.taken.values():
        if name != "*":
            yield Wanted(module, name, _named_kind(name))
    for module in bound.modules.values():
        yield Wanted(module, "", "value")
    expressions = (node for node in ast.walk(tree) if isinstance(node, ast.expr))
    for node in sorted(expressions, key=lambda node: (node.lineno, node.col_offset)):
        if (found := bound.origin(node)) is not None:
            kind = _kind(node, found[1], parents)
            yield Wanted(*found, kind, _calls(node, parents))
        if isinstance(node, ast.Attribute):
            yield from _members(node, bound, parents)


def _members(
    node: ast.Attribute, bound: _ImportedNames, parents: Mapping[ast.AST, ast.AST]
) -> Iterator[Wanted]:
    """The member that a test uses of a class, or of an object of it."""
    of_type = bound.origin(node.value)
    owner = of_type or bound.instance(node.value)
    if owner is None or not _is_type_name(owner[1]) or (node.attr.startswith("__")):
        return
    calls = _calls(node, parents)
    kind: Kind = "function" if calls else "value"
    member = Wanted(owner[0], node.attr, kind, calls, of_type=of_type is not None)
    yield Wanted(*owner, "class", members=(member,))


def _calls(node: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> tuple[WantedCall, ...]:
    call = parents.get(node)
    if not isinstance(call, ast.Call) or call.func is not node:
        return ()
    places = [Argument(_parameter_name(one)) for one in call.args if not isinstance(one, ast.Starred)]
    named = [Argument(one.arg, keyword=True) for one in call.keywords if one.arg is not None]
    return (
        WantedCall(
            arguments=(*places, *named),
            spread=any(isinstance(one, ast.Starred) for one in call.args),
            options=any(one.arg is None for one in call.keywords),
            awaited=isinstance(parents.get(call), ast.Await),
        ),
    )


def _parameter_name(node: ast.expr) -> str:
    """A name for the parameter that takes this argument."""
    match node:
        case ast.Constant(value=value):
            return _NAMES.get(type(value), "value")
        case ast.UnaryOp(operand=operand):
            return _parameter_name(operand)
        case ast.List() | ast.Tuple() | ast.Set() | ast.ListComp():
            return "items"
        case ast.JoinedStr():
            return "text"
        case ast.Call(func=func) if last_name(func):
            return _to_snake_case(last_name(func))
        case ast.Name() | ast.Attribute():
            return _to_snake_case(last_name(node))
        case _:
            return "value"


def _to_snake_case(name: str) -> str:
    spaced = "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
    found = name.lower() if name.isupper() else spaced.strip("_")
    return found if found.isidentifier() and not keyword.iskeyword(found) and found != "self" else "value"


def _named_kind(name: str) -> Kind:
    if name.endswith(("Error", "Exception", "Warning")):
        return "error"
    if _is_type_name(name):
        return "class"
    return "value"


def _is_type_name(name: str) -> bool:
    bare = name.lstrip("_")
    return bare[:1].isupper() and not (len(bare) > 1 and bare.isupper())


def _kind(node: ast.expr, name: str, parents: Mapping[ast.AST, ast.AST]) -> Kind:
    parent = parents.get(node)
    parent = parents.get(parent) if isinstance(parent, ast.Tuple) else parent
    match parent:
        case ast.ExceptHandler():
            return "error"
        case ast.Call(func=func, args=[first, *_]) if first is node and last_name(func) in _RAISING:
            return "error"
        case ast.ClassDef() | ast.arg() | ast.AnnAssign():
            return "class"
        case ast.Call(func=func, args=[_, second, *_]) if second is node and last_name(func) == "isinstance":
            return "class"
    named = _named_kind(name)
    if named != "value" or (parent is not None and _is_value(node, name, parent)):
        return named
    return "function"


def _is_value(node: ast.expr, name: str, parent: ast.AST) -> bool:
    """Whether a name is compared or computed with, and not called or passed on."""
    if isinstance(parent, ast.Call) and parent.func is node:
        return False
    return name.isupper() or isinstance(parent, _OPERANDS)


_RAISE = f'raise NotImplementedError("{MARK}")'
_RETURN = f"return None  # {MARK}"


def python_stub(wanted: Wanted, *, raises: bool) -> str:
    """The text of a stub. `raises`: False if only a failed assertion is a red, so the body has to return."""
    match wanted.kind:
        case "function":
            return "".join(_write_function(wanted.name, wanted.signature, "", _body(raises=raises)))
        case "error":
            return f'class {wanted.name}(Exception):\n    """{MARK}"""\n'
        case "class":
            return "".join(_write_class(wanted, raises=raises))
        case _:
            return f"{wanted.name} = None  # {MARK}\n"


def extend_module(before: str, stubs: Iterable[str]) -> str:
    """The text of a module with the stubs at its end, in its own line ends."""
    end = "\r\n" if "\r\n" in before else "\n"
    kept = before.rstrip("\r\n")
    blocks = [*([f"{kept}{end}"] if kept else []), *(stub.replace("\n", end) for stub in stubs)]
    return (end * 2).join(blocks)


def _body(*, raises: bool) -> str:
    return _RAISE if raises else _RETURN


def _write_class(wanted: Wanted, *, raises: bool) -> Iterator[str]:
    yield f'class {wanted.name}:\n    """{MARK}"""\n'
    called = {member.name for member in wanted.members if member.kind == "function"}
    values = [member for member in wanted.members if member.kind == "value" and member.name not in called]
    if values:
        yield "\n"
    for number, member in enumerate(values, 1):
        yield f"    {member.name} = {number if member.name.isupper() else None}\n"
    if wanted.calls and (wanted.signature.parameters or wanted.signature.spread or wanted.signature.options):
        yield "\n"
        yield from _write_function("__init__", wanted.signature, "self", "pass", "    ")
    for member in wanted.members:
        if member.kind != "function":
            continue
        yield "\n"
        if member.of_type:
            yield "    @classmethod\n"
        first = "cls" if member.of_type else "self"
        yield from _write_function(member.name, member.signature, first, _body(raises=raises), "    ")


def _write_function(name: str, found: Signature, first: str, body: str, indent: str = "") -> Iterator[str]:
    words = [first] if first else []
    words += [_spell_parameter(one) for one in found.parameters if one.name not in {"self", "cls"}]
    words += ["*args"] * found.spread + ["**options"] * found.options
    start = "async def" if found.awaited else "def"
    yield f"{indent}{start} {name}({', '.join(words)}):\n{indent}    {body}\n"


def _spell_parameter(one: Parameter) -> str:
    return f"{one.name}=None" if one.optional else one.name


def stub_of_edit(before: bytes, after: bytes) -> str:
    """A stub, on one line, of the first function that an edit adds; empty if it adds none."""
    try:
        old, new = (parse(data.decode("utf-8", "surrogateescape")) for data in (before, after))
    except SyntaxError:
        return ""
    known = {getattr(node, "name", "") for node in old.body}
    for node in new.body:
        if isinstance(node, ast.FunctionDef) and node.name not in known and not node.decorator_list:
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            return f"def {node.name}({ast.unparse(node.args)}){returns}: {_RAISE}"
    return ""
