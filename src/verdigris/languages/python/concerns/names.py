"""Writes expressions of source with the meanings of their names, without running anything.

`from os import environ as e; k = "PY" + "TEST"; k in e` becomes `(‹PYTEST› os.environ)`. A variable whose
value is not known keeps its name behind a `$`. What a call of an unknown function is given does not count as
its value, so that it is left out: `$f()`.
"""

from __future__ import annotations

import ast
import base64
import binascii
import builtins
import codecs
import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdigris.core.value import value
from verdigris.languages.concern_rules import read_rules
from verdigris.languages.findings import Concern
from verdigris.languages.python.modules import imported_names, package_of, resolve_import
from verdigris.languages.python.stubs.forms import Function
from verdigris.languages.python.syntax import nodes_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

FRAMEWORK = (
    *("pytest", "_pytest", "unittest", "pluggy", "nose", "doctest", "xdist", "pytest_asyncio"),
    "verdigris_reporter",
)
RULES = read_rules(
    Path(__file__).parents[1] / "concerns.txt",
    framework="|".join(FRAMEWORK),
    stdlib="|".join(sorted(sys.stdlib_module_names)),
)
_FACTS = {
    fact: re.compile(RULES.words[fact]) for fact in ("argv", "environ", "frames", "modules", "surroundings")
}
_HASH = re.compile(RULES.words["hash"])
_TELLS = re.compile(rf"{_HASH.pattern}|builtins\.type\(|\.__class__\b")
_QUOTED = re.compile(r"‹(?!/proc/|ps|pgrep|lsof)[^›]*›")
_THROUGH = re.compile(
    r"(?:builtins|os\.path|pathlib|str|itertools|subprocess)\.[\w.]+\Z|os\.(?:popen|system)\Z"
    r"|.*\.(?:join|union|intersection|isdisjoint|issubset|chain)\Z"
)
"""Calls whose value contains their arguments."""
_LONGEST, _LONGEST_CONSTANT = 400, 100_000
_PASSES = 3
"""How often assignments are read: a name may be assigned from a name that is assigned later."""
_CODECS = frozenset({"rot13", "hex", "hexcodec", "base64", "base64codec"})
_METHODS = frozenset(
    {
        *("lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "casefold", "swapcase"),
        *("replace", "removeprefix", "removesuffix", "format", "decode", "encode", "join"),
    }
)
_WIDE = re.compile(r"\d{5}")


def _coded(text: Any, codec: str, turn: Callable[[Any, str], Any]) -> Any:
    plain = codec.lower().replace("_", "").replace("-", "")
    return (
        turn(text.encode() if isinstance(text, str) and plain != "rot13" else text, codec)
        if plain in _CODECS
        else text
    )


_PURE: dict[str, Callable[..., Any]] = {
    **{
        f"base64.{name}decode": getattr(base64, f"{name}decode")
        for name in ("b64", "standard_b64", "urlsafe_b64", "b16", "b32", "b85", "a85")
    },
    **{f"binascii.{name}": getattr(binascii, name) for name in ("a2b_base64", "unhexlify", "a2b_hex")},
    **dict.fromkeys(("builtins.bytes.fromhex", "builtins.bytearray.fromhex"), bytes.fromhex),
    **dict.fromkeys(
        ("builtins.str", "builtins.bytes", "builtins.bytearray"),
        lambda data, *_: bytes(data) if isinstance(data, list) else data,
    ),
    "builtins.chr": chr,
    "builtins.reversed": lambda data: list(data[::-1]),
    "codecs.decode": lambda data, codec, *_: _coded(data, codec, codecs.decode),
    "codecs.encode": lambda data, codec, *_: _coded(data, codec, codecs.encode),
}
"""Functions of constants that are computed here."""


class Names:
    """The meanings of the names in one scope."""

    def __init__(self, outer: Names | None = None) -> None:
        self.meanings: dict[str, str] = {} if outer is None else dict(outer.meanings)
        self.constants: dict[str, Any] = {} if outer is None else dict(outer.constants)
        self._texts: dict[ast.AST, str] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Names) and (self.meanings, self.constants) == (
            other.meanings,
            other.constants,
        )

    __hash__ = object.__hash__

    def text(self, node: ast.AST) -> str:
        if (text := self._texts.get(node)) is None:
            constant = self.constant(node)
            text = self._texts[node] = self._write(node) if constant is None else f"‹{constant}›"
        return text

    def _write(self, node: ast.AST) -> str:
        match node:
            case ast.Name(id="__builtins__" | "__file__" as name):
                return name.strip("_") if name == "__builtins__" else name
            case ast.Name(id=name):
                return self.meanings.get(name) or (f"builtins.{name}" if _is_builtin(name) else f"${name}")
            case ast.Attribute(value=owner, attr=attr):
                return f"{self.text(owner)}.{attr}"
            case ast.Subscript(value=owner, slice=key):
                whole = self.text(owner), self.text(key)
                return _member(*whole) or f"{whole[0]}[{whole[1]}]"
            case ast.Call(func=func, args=args):
                return self._write_call(self.text(func), [self.text(arg) for arg in args])
            case ast.NamedExpr(value=inner) | ast.Starred(value=inner):
                return self.text(inner)
            case ast.Constant(value=constant):
                return repr(constant)
            case ast.Lambda() | ast.Dict():
                return "{}"
            case _:
                parts = (part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
                return f"({' '.join(map(self.text, parts))})"

    def _write_call(self, function: str, args: list[str]) -> str:
        given, word = ", ".join(args), args[0][1:-1] if args and args[0][:1] == "‹" else ""
        match function, args:
            case "importlib.import_module" | "builtins.__import__", [_, *_] if word:
                return word
            case "builtins.getattr", [owner, name, *_] if name[:1] == "‹":
                return f"{owner}.{name[1:-1]}"
            case "builtins.vars", [owner]:
                return f"{owner}.__dict__"
        owner, _, method = function.rpartition(".")
        if method in {"get", "__getitem__", "pop", "setdefault"} and (member := _member(owner, given)):
            return member
        if _THROUGH.match(function) or not re.search(r"[$.]", _QUOTED.sub("", given)):
            return f"{function}({given})"
        return f"{function}({'$' if '$' in given else ''})"

    def constant(self, node: ast.AST) -> str | None:
        """The constant text of an expression, which may join or decode pieces; None if it has none."""
        try:
            constant = self._value(node)
        except (LookupError, ValueError, TypeError, AttributeError, OverflowError, MemoryError):
            return None
        text = constant.decode("latin-1") if isinstance(constant, bytes) else constant
        return text if isinstance(text, str) and len(text) <= _LONGEST_CONSTANT else None

    def _value(self, node: ast.AST) -> Any:
        match node:
            case ast.Constant(value=str() | bytes() | int() as constant):
                return constant
            case ast.Name(id=name):
                return self.constants[name]
            case ast.NamedExpr(value=inner) | ast.FormattedValue(value=inner):
                return self._value(inner)
            case ast.JoinedStr(values=parts):
                return "".join(map(self._value, parts))
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return list(map(self._value, parts))
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self._value(inner)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._value(left) + self._value(right)
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return self._method(self._value(left), "__mod__", [self._value(right)])
            case ast.Subscript(value=base, slice=ast.Slice(lower=lower, upper=upper, step=step)):
                bounds = (None if at is None else self._value(at) for at in (lower, upper, step))
                return self._value(base)[slice(*bounds)]
        return self._value_of_call(node)

    def _value_of_call(self, node: ast.AST) -> Any:
        match node:
            case (
                ast.Call(func=ast.Name(id="map"), args=[ast.expr() as made, numbers])
                | ast.GeneratorExp(elt=ast.Call(func=made), generators=[ast.comprehension(iter=numbers)])
                | ast.ListComp(elt=ast.Call(func=made), generators=[ast.comprehension(iter=numbers)])
            ):
                return [_PURE[self.text(made)](number) for number in self._value(numbers)]
            case ast.Call(func=func, args=args) if (pure := _PURE.get(self.text(func))) is not None:
                return pure(*map(self._value, args))
            case ast.Call(func=ast.Attribute(value=base, attr=method), args=args) if method in _METHODS:
                return self._method(self._value(base), method, [self._value(arg) for arg in args])
        raise LookupError

    @staticmethod
    def _method(base: Any, method: str, args: list[Any]) -> Any:
        if not isinstance(base, str | bytes) or (method in {"format", "__mod__"} and _WIDE.search(str(base))):
            raise TypeError
        if method == "__mod__":
            return base % (tuple(args[0]) if isinstance(args[0], list) else args[0])
        return getattr(base, method)(*args)

    def facts(self, *nodes: ast.AST) -> frozenset[str]:
        """The facts about the run in the values of expressions."""
        return _facts(" ".join(map(self.text, nodes)))

    def is_hash(self, node: ast.AST) -> bool:
        parts = (part for part in nodes_in(node) if isinstance(part, ast.Call | ast.Name))
        return any(_HASH.search(self.text(part)) for part in parts)

    # -- binding ---------------------------------------------------------------------------------------------

    def bind_all(self, own: Sequence[ast.AST], owner: ast.Module | Function, package: list[str]) -> None:
        stored = {node.id for node in own if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        if isinstance(owner, Function):
            stored |= {part.arg for part in nodes_in(owner.args) if isinstance(part, ast.arg)}
        for name in stored:
            self.meanings[name] = f"${name}"
            self.constants.pop(name, None)
        binding = [node for node in own if isinstance(node, _BINDS)]
        returned: dict[ast.AST, list[ast.expr]] = {
            node: returned_expressions(node) for node in binding if isinstance(node, ast.FunctionDef)
        }
        for _ in range(_PASSES):
            for node in binding:
                self._texts.clear()
                self._bind(node, package, returned.get(node, []))
        self._texts.clear()

    def _bind(self, node: ast.AST, package: list[str], returned: Sequence[ast.expr]) -> None:
        match node:
            case ast.Import():
                self.meanings.update(imported_names(node))
            case ast.ImportFrom():
                self.meanings.update(imported_names(node, resolve_import(node, package)))
            case ast.Assign(targets=targets, value=given):
                for target in targets:
                    self._assign(target, given)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as given)
                | ast.NamedExpr(target=target, value=given)
            ):
                self._assign(target, given)
            case (
                ast.For(target=target, iter=given)
                | ast.comprehension(target=target, iter=given)
                | ast.withitem(optional_vars=ast.expr() as target, context_expr=given)
            ):
                self._spread(target, f"$part({self.text(given)})")
            case ast.FunctionDef(name=name):
                text = " ".join(map(self.text, returned))
                self.meanings[name] = f"$returned({text})" if _facts(text) else f"${name}"

    def _assign(self, target: ast.expr, given: ast.expr) -> None:
        if not isinstance(target, ast.Name):
            return self._spread(target, f"$part({self.text(given)})")
        text = self.text(given)
        if self.constant(given) is not None:
            self.constants[target.id] = self._value(given)
        elif not re.fullmatch(r"[\w.]+", text):
            self._spread(target, text)
        elif not text[0].isdigit():
            self.meanings[target.id] = text
        return None

    def _spread(self, target: ast.expr, text: str) -> None:
        """Gives a text to the names of a target, if it says something about their values."""
        whole = "$" not in text and bool(re.search(r"[.‹]|__file__", text))
        if len(text) > _LONGEST or not (whole or _facts(text) or _TELLS.search(text)):
            return
        for part in nodes_in(target):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                before = self.meanings.get(part.id, "")
                if text not in before and len(before) < _LONGEST:
                    self.meanings[part.id] = f"{before} {text}" if _facts(before) else text


_BINDS = (
    *(ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.NamedExpr),
    *(ast.For, ast.comprehension, ast.withitem, ast.FunctionDef),
)


@lru_cache(maxsize=4096)
def _facts(text: str) -> frozenset[str]:
    bare = _QUOTED.sub("", text)
    return frozenset(fact for fact, pattern in _FACTS.items() if pattern.search(bare))


def _member(owner: str, key: str) -> str:
    """The dotted name of a member of a table of modules or names; empty if it is not known."""
    word = re.match(r"‹([^›]*)›", key)
    if word is None:
        return ""
    if owner == "sys.modules":
        return word[1]
    table = owner == "builtins" or owner.endswith(".__dict__")
    return f"{owner.removesuffix('.__dict__')}.{word[1]}" if table else ""


def _is_builtin(name: str) -> bool:
    return hasattr(builtins, name) and (name == "__import__" or not name.startswith("__"))


def returned_expressions(function: ast.AST) -> list[ast.expr]:
    return [n.value for n in nodes_in(function) if isinstance(n, ast.Return) and n.value is not None]


@value
class SeenNode:
    """A node of a source file, with the meanings of the names around it."""

    node: ast.AST
    names: Names
    function: Function | None
    statement: ast.stmt
    main: bool
    """True if the node runs only when the module is run as a program."""
    path: str

    def text(self, node: ast.AST) -> str:
        return self.names.text(node)

    def concern(
        self, kind: str, what: str, node: ast.AST | None = None, *, blocks: bool = False, **facts: Any
    ) -> Concern:
        line = getattr(node or self.node, "lineno", 1)
        return Concern(kind, self.path, line, what, blocks, **facts)


_OwnNode = tuple[ast.AST, ast.stmt, bool]


def walk(tree: ast.Module, path: str, untouched: Collection[ast.stmt] = ()) -> Iterator[SeenNode]:
    """Yields the nodes of a file. `untouched`: statements to leave out."""
    own = list(_own_nodes([node for node in tree.body if node not in untouched]))
    yield from _walk_scope(own, module_names(tree, path), None, path)


@lru_cache(maxsize=8)
def module_names(tree: ast.Module, path: str) -> Names:
    """The meanings of a module's names. Cached, since they are compared first and used for the walk later."""
    names = Names()
    names.bind_all([node for node, *_ in _own_nodes(tree.body)], tree, package_of(path))
    return names


def _walk_scope(
    own: list[_OwnNode], names: Names, function: Function | None, path: str
) -> Iterator[SeenNode]:
    for node, statement, main in own:
        yield SeenNode(node, names, function, statement, main, path)
        if isinstance(node, Function):
            inner, inside = list(_own_nodes(node.body)), Names(names)
            inside.bind_all([part for part, *_ in inner], node, package_of(path))
            yield from _walk_scope(inner, inside, node, path)


def _own_nodes(body: Sequence[ast.stmt]) -> Iterator[_OwnNode]:
    """Every node of a scope; of an inner function, only its decorators and arguments."""
    stack: list[_OwnNode] = [(node, node, False) for node in reversed(body)]
    while stack:
        node, statement, main = stack.pop()
        yield node, statement, main
        main = main or (isinstance(node, ast.If) and "__main__" in ast.unparse(node.test))
        inside = (
            [*node.decorator_list, node.args] if isinstance(node, Function) else ast.iter_child_nodes(node)
        )
        stack.extend(
            (child, child if isinstance(child, ast.stmt) else statement, main)
            for child in reversed(list(inside))
        )
