"""Reads the files of a suite, and resolves their names: definitions, imports, bases and fixtures."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from verdigris.languages.python.modules import files_of_module, imported_names, without_suffix
from verdigris.languages.python.stubs.forms import Function, last_name
from verdigris.languages.python.syntax import nodes_in, shared_tree
from verdigris.languages.python.tests import is_fixture, visible_statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_MOST = 200
"""The most names in other files and classes that one name is followed to."""

Env = dict[str, ast.expr]
Place = tuple["Code", str]
"""A file and the qualified name (`Class::name`) of a definition in it."""


class Code:
    """One file. It is shared by many comparisons, so nobody changes it or its tree."""

    def __init__(self, path: str, tree: ast.Module) -> None:
        self.path = path
        self.tree = tree
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.values: dict[str, list[ast.expr]] = {}
        """By name: the values that the branches of the file assign to it, in order."""
        self.made: list[tuple[re.Pattern[str], str]] = []
        """Patterns of names that hold a function which another function made, and that inner function."""
        self.imports: dict[str, str] = {}
        """By local name: its dotted meaning. `from m import *` stands under `m.*`."""
        imports = [node for node in nodes_in(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in reversed(imports):  # what the file itself imports hides the imports in its functions
            self.imports |= imported_names(node)
        self._read(visible_statements(tree.body), "")

    def _read(self, body: Iterable[ast.AST], prefix: str) -> None:
        for node in body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.functions[prefix + node.name] = node
                case ast.ClassDef():
                    self.classes[prefix + node.name] = node
                    self._read(visible_statements(node.body), f"{prefix}{node.name}::")
                case ast.Assign(targets=targets, value=value):
                    self._take_assignment(node, prefix)
                    if not prefix:
                        self._hold_value(
                            [target.id for target in targets if isinstance(target, ast.Name)], value
                        )
                case ast.Expr():
                    self._take_assignment(node, prefix)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if not prefix:
                    self._hold_value([name], value)
                case ast.stmt():
                    self._read(ast.iter_child_nodes(node), prefix)

    def _hold_value(self, names: Iterable[str], value: ast.expr) -> None:
        for name in names:
            self.values.setdefault(name, []).append(value)

    def _take_assignment(self, node: ast.stmt, prefix: str) -> None:
        """Records a name for a function that a call makes: by assignment, `setattr`, or `globals()`."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=made):
                self._record_made(ast.Constant(name), made, prefix)
            case ast.Expr(ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=owner), named, made])):
                self._record_made(named, made, f"{owner}::")
            case ast.Assign(targets=[ast.Subscript(value=ast.Call(func=table), slice=named)], value=made):
                if last_name(table) == "globals":
                    self._record_made(named, made, "")

    def _record_made(self, name: ast.expr, made: ast.expr, prefix: str) -> None:
        pattern = _pattern(name)
        match made:
            case ast.Call(func=ast.Name(id=maker)) if pattern and maker in self.functions:
                inner = _returned_function(self.functions[maker])
                if inner is not None:
                    self.functions.setdefault(f"{maker}::{inner.name}", inner)
                    self.made.append((re.compile(re.escape(prefix) + pattern), f"{maker}::{inner.name}"))

    def maker_of(self, function: str) -> str | None:
        """The only made function that may have this name; None if there is none, or more than one."""
        made = {inner for pattern, inner in self.made if pattern.fullmatch(function)}
        return made.pop() if len(made) == 1 else None

    def bases(self, owner: str) -> list[str]:
        """The dotted names of a class's bases, as they are written."""
        return [ast.unparse(base) for base in self.classes[owner].bases] if owner in self.classes else []

    @cached_property
    def single_values(self) -> Env:
        """Values of the names that the top level assigns once."""
        return find_single_assignments(self.tree)

    @cached_property
    def meanings(self) -> Mapping[str, str]:
        """Maps each name to its meaning as text: a function with its classes, a value, or an import."""
        heads = {
            name: "".join(map(ast.dump, [*node.decorator_list, *node.bases]))
            for name, node in self.classes.items()
        }
        functions = {
            name: "".join(
                [ast.dump(function), *(heads[owner] for owner in owners_of(name) if owner in heads)]
            )
            for name, function in self.functions.items()
        }
        values = {name: ast.dump(value) for name, value in self.single_values.items()}
        return functions | values | self.imports

    @cached_property
    def words(self) -> Mapping[str, frozenset[str]]:
        """Maps each function to the names that it uses, also as strings."""
        return {name: frozenset(_used_words(function)) for name, function in self.functions.items()}

    @cached_property
    def used(self) -> frozenset[str]:
        """The names that any code of the file uses."""
        return frozenset(_used_words(self.tree))


@lru_cache(maxsize=32)
def read_code(path: str, text: str) -> Code | None:
    """Reads a file; None if it does not parse. The last ones are cached, since comparisons ask again."""
    tree = shared_tree(text)
    return None if tree is None else Code(path, tree)


def owners_of(name: str) -> list[str]:
    """The classes around a qualified name, the outermost one first: `A` and `A::B` of `A::B::test_x`."""
    words = name.split("::")
    return ["::".join(words[:count]) for count in range(1, len(words))]


def _used_words(node: ast.AST) -> Iterator[str]:
    for part in nodes_in(node):
        match part:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word):
                yield word
            case ast.Constant(value=str(word)):
                yield word


def _pattern(name: ast.expr) -> str:
    """A regular expression for the names that the expression may make; empty if that is not known."""
    match name:
        case ast.Constant(value=str(text)):
            return re.escape(text)
        case ast.JoinedStr(values=parts):
            fixed = (p.value for p in parts if isinstance(p, ast.Constant))
            texts = [re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".+" for p in parts]
            return "".join(texts) if any(str(text).startswith("test") for text in fixed) else ""
        case _:
            return ""


def _returned_function(maker: Function) -> Function | None:
    """The function that a function defines and returns."""
    match maker.body[-1]:
        case ast.Return(value=ast.Name(id=name)):
            inner = (node for node in maker.body if isinstance(node, Function) and node.name == name)
            return next(inner, None)
        case _:
            return None


def own_nodes(owner: ast.Module | Function) -> Iterator[ast.AST]:
    """The nodes of a scope, without those of functions and classes inside it."""
    stack: list[ast.AST] = list(reversed(owner.body))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef):
            stack.extend(reversed(list(ast.iter_child_nodes(node))))


def find_single_assignments(owner: ast.Module | Function) -> Env:
    nodes = list(own_nodes(owner))
    stores = Counter(n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    values: Env = {}
    for node in nodes:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ) if stores[name] == 1:
                values[name] = value
    return values


class Files:
    """Files that belong together, each read when it is first needed."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self._resolved: dict[tuple[str, str], Place | None] = {}
        self._by_end: dict[str, list[str]] = {}
        for path in texts:
            self._by_end.setdefault(without_suffix(path).rpartition("/")[2], []).append(path)

    def code(self, path: str) -> Code | None:
        """One of the files; None if it is missing, or if it is no Python that parses."""
        return read_code(path, self.texts[path]) if path in self.texts and path.endswith(".py") else None

    @cached_property
    def codes(self) -> Mapping[str, Code]:
        """All the files that are Python and parse."""
        return {path: code for path in self.texts if (code := self.code(path)) is not None}

    @cached_property
    def _fixtures(self) -> Mapping[str, tuple[Code, Function]]:
        functions = ((code, node) for code in self.codes.values() for node in code.functions.values())
        return {node.name: (code, node) for code, node in functions if is_fixture(node)}

    def fixture(self, code: Code, name: str) -> tuple[Code, Function] | None:
        own = code.functions.get(name)
        return (code, own) if own is not None and is_fixture(own) else self._fixtures.get(name)

    def resolve(self, code: Code, dotted: str) -> Place | None:
        """The function, class or value that a name means in a file, also if it is inherited or imported."""
        key = code.path, dotted.replace("::", ".")
        if key not in self._resolved:
            self._resolved[key] = self._resolve(code, key[1], set())
        return self._resolved[key]

    def _resolve(self, code: Code, dotted: str, seen: set[tuple[str, str]]) -> Place | None:
        """`seen`: the names, with their files, that were tried already: imports may go in a circle."""
        if (code.path, dotted) in seen or len(seen) > _MOST:
            return None
        seen.add((code.path, dotted))
        name = dotted.replace(".", "::")
        if name in code.functions or name in code.classes:
            return code, name
        if (made := code.maker_of(name)) is not None:
            return code, made
        if name in code.values:
            return code, name
        owner, _, method = name.rpartition("::")
        for base in code.bases(owner):
            if place := self._resolve(code, f"{base}.{method}", seen):
                return place
        for module, rest in _import_of(code, dotted):
            places = {self._resolve(there, rest, seen) for there in self._files_of(code, module)}
            if len(places - {None}) == 1:
                return (places - {None}).pop()
        return None

    def _files_of(self, code: Code, module: str) -> list[Code]:
        end = module.rpartition(".")[2]
        paths = files_of_module(module, code.path, self._by_end.get(end, ()) if end else self.texts)
        return [there for path in paths if (there := self.code(path)) is not None]

    def function(self, code: Code, dotted: str) -> Place | None:
        """The function that a name means in a file."""
        place = self.resolve(code, dotted)
        return place if place is not None and place[1] in place[0].functions else None

    def called(self, place: Place, call: ast.Call, within: Place | None = None) -> Place | None:
        """The function that a call in a function means.

        `within`: the test that runs: `self` is an object of its class, which may inherit the function.
        """
        code, name = place
        match call.func:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=method):
                own, test = within or place
                inherited = own, f"{test.rpartition('::')[0]}::{method}"
                return inherited if self.function(*inherited) is not None else None
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=method):
                bases = code.bases(name.rpartition("::")[0])
                meant = (self.function(code, f"{base}.{method}") for base in bases)
                return next(filter(None, meant), None)
            case ast.Name() | ast.Attribute():
                return self.function(code, ast.unparse(call.func))
            case _:
                return None

    def classes_above(
        self, code: Code, owner: str, seen: frozenset[object] = frozenset()
    ) -> Iterator[tuple[str, Place | None]]:
        """The direct and indirect bases of a class, the nearest first: as they are written, and where."""
        for base in code.bases(owner):
            place = self.resolve(code, base)
            yield base, place
            if place is not None and place not in seen:
                yield from self.classes_above(*place, seen | {place})


def _import_of(code: Code, dotted: str) -> Iterator[tuple[str, str]]:
    """The modules that a dotted name may come from by a file's imports, each with the name in it."""
    first, dot, rest = dotted.partition(".")
    origins = [f"{code.imports[first]}{dot}{rest}"] if first in code.imports else []
    origins += (star[:-1] + dotted for star in code.imports if star.endswith("*"))
    for origin in origins:
        dots = origin[: len(origin) - len(origin.lstrip("."))]  # those of a relative import
        words = origin[len(dots) :].split(".")
        for count in range(len(words) - 1, -1 if dots else 0, -1):
            yield dots + ".".join(words[:count]), ".".join(words[count:])
