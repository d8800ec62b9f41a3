"""Places the stubs of a Python test into the modules that it imports, and missing constants into classes."""

from __future__ import annotations

import ast
import builtins
import posixpath
import sys
from functools import cached_property
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.modules import ENDS, import_roots
from verdigris.languages.python.stubs.forms import last_name
from verdigris.languages.python.stubs.missing_names import (
    extend_module,
    find_wanted,
    python_stub,
    read_declarations,
)
from verdigris.languages.python.stubs.origins import MARK
from verdigris.languages.python.syntax import parse
from verdigris.languages.stubs import Stub, Wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from verdigris.languages.stubs import WorktreeFiles


_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "str", "int", "object"})
"""Bases that add no members: a class with only these has just the members in its own text."""
_TEXTS = frozenset({"StrEnum", "str"})


@value
class Extended:
    """A module whose classes were given more members."""

    text: str
    added: tuple[str, ...]
    """The added members, each with its class."""


def add_members(before: str, wanted: Iterable[Wanted]) -> Extended:
    """Adds missing members to classes, but not to a class with an unknown base, which may have them."""
    tree = parse(before)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    end = "\r\n" if "\r\n" in before else "\n"
    lines = before.split("\n")
    found: list[tuple[ast.ClassDef, list[str]]] = []
    for one in wanted:
        node = classes.get(one.name)
        if node is not None and (names := _missing_members(node, one)):
            found.append(
                (node, [_write_constant(node, name, number) for number, name in enumerate(names, 1)])
            )
    for node, constants in sorted(found, key=lambda each: -each[0].lineno):
        indent = " " * node.body[-1].col_offset
        at = node.end_lineno or node.lineno
        lines[at - 1] = lines[at - 1].rstrip("\r\n")
        lines[at - 1 : at] = [lines[at - 1] + end[:-1], *(f"{indent}{text}{end[:-1]}" for text in constants)]
    added = tuple(f"class {node.name}: " + "; ".join(texts) for node, texts in found)
    return Extended("\n".join(lines), added)


def _missing_members(node: ast.ClassDef, wanted: Wanted) -> list[str]:
    bases = [last_name(base) for base in node.bases]
    if node.keywords or not _ENUMS.issuperset(bases) or node.body[-1].lineno == node.lineno:
        return []
    held = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    held |= {inner.name for inner in node.body if isinstance(inner, ast.FunctionDef | ast.ClassDef)}
    asked = (one.name for one in wanted.members if one.of_type and one.kind == "value" and one.name.isupper())
    return [name for name in dict.fromkeys(asked) if name not in held]


def _write_constant(node: ast.ClassDef, name: str, number: int) -> str:
    """A constant for a member. Each has its own value: enumeration members of one value are one member."""
    text = f'"{name}"' if _TEXTS & {last_name(base) for base in node.bases} else str(-number)
    return f"{name} = {text}  # {MARK}"


_INSTALLED = ("", ".py", ".pyi", ".so")


def stubs_of(path: str, files: WorktreeFiles) -> tuple[Stub, ...]:
    places = _ModulePlaces(path, files)
    by_module: dict[str, list[Wanted]] = {}
    for one in find_wanted(files.text(path), lambda module: places.find_file(module) is not None):
        by_module.setdefault(one.module, []).append(one)
    found: dict[str, Stub] = {}
    for module, wanted in by_module.items():
        if (at := places.file(module)) is not None:
            for stub in _stubs(at, wanted, files, raises=files.is_behaviour_red):
                found[stub.path] = stub
    packages = (Stub(at, "", "", new=True) for stub in found.values() for at in places.packages(stub.path))
    return (*dict.fromkeys(packages), *found.values())


def _stubs(at: str, wanted: list[Wanted], files: WorktreeFiles, *, raises: bool) -> Iterator[Stub]:
    before = files.text(at)
    known = read_declarations(before)
    if known is None:
        return
    inside = posixpath.dirname(at) if at.endswith("/__init__.py") else None
    texts = [
        python_stub(one, raises=raises)
        for one in wanted
        if one.name and one.name not in known and not _is_inner(inside, one.name, files)
    ]
    new = at not in files.paths
    grown = add_members(before, [one for one in wanted if one.name in known])
    if texts or new or grown.added:
        text = "\n\n".join([*grown.added, *texts])
        yield Stub(at, text, extend_module(grown.text, texts) if texts else grown.text, new=new)


def _is_inner(package: str | None, name: str, files: WorktreeFiles) -> bool:
    """Whether a name is a module of the package, so that the package need not bind it."""
    ends = tuple(f"{name}{end}" for end in ENDS)
    return package is not None and any(f"{package}/{end}" in files.paths for end in ends)


_PATH_FILE = "# Lets plain `pytest` find the modules in this folder.\n"
_SAID = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
"""Where pytest may be told which folders it looks in."""


def path_files(test: str, stubs: Sequence[Stub], files: WorktreeFiles) -> tuple[Stub, ...]:
    """A `conftest.py` beside the first modules of a project, by which pytest finds them from any folder.

    Our own runs look in the stack's folder, as `python -m pytest` does; plain `pytest` would not.
    """
    stack = files.stack_of(test)
    home = "" if stack.root in {"", "."} else stack.root.rstrip("/")
    at = posixpath.join(home, "conftest.py")
    found = stack.runner != "pytest" or bool(files.source) or at in files.paths or _top(test, files) == home
    if found or all(stub.path.startswith(posixpath.join(home, "src/")) for stub in stubs):
        return ()
    if any("pythonpath" in files.text(posixpath.join(home, name)) for name in _SAID):
        return ()
    return (Stub(at, _PATH_FILE, _PATH_FILE, new=True),)


def _top(test: str, files: WorktreeFiles) -> str:
    """The folder that pytest looks in because of a test file: the one around its outermost package."""
    folder = posixpath.dirname(test)
    while folder and posixpath.join(folder, "__init__.py") in files.paths:
        folder = posixpath.dirname(folder)
    return folder


class _ModulePlaces:
    """Finds the files of modules, also of those that do not exist yet."""

    def __init__(self, test: str, files: WorktreeFiles) -> None:
        self._files = files
        stack = files.stack_of(test)
        self._stack = stack
        self._home = "" if stack.root in {"", "."} else stack.root.rstrip("/")
        self._src = posixpath.join(self._home, "src")
        self._roots = tuple(dict.fromkeys((self._home, *import_roots(files.source))))
        self._beside = posixpath.dirname(test)

    def find_file(self, module: str) -> str | None:
        """The file of an existing module, of any path class; None if there is none."""
        name = module.replace(".", "/")
        ends = tuple(f"{name}{end}" for end in ENDS)
        places = (posixpath.join(root, end) for root in (*self._roots, self._beside) for end in ends)
        return next((place for place in places if place in self._files.paths), None)

    def file(self, module: str) -> str | None:
        """The source file of a module, which need not exist; None if the module is not this project's."""
        found = self.find_file(module)
        if found is not None:
            return found if self._files.is_source(found) else None
        top, *rest = module.split(".")
        if not self._is_own(top) and (top in sys.stdlib_module_names or self._is_installed(top)):
            return None
        if rest and (package := self._package(module)):
            return package
        name = module.replace(".", "/")
        others = (self._home, *self._roots)
        # An empty `src` shows no source yet, but may be the only place where source may stand.
        bases = (self._src, *others) if self._has_folder(self._src) else (*others, self._src)
        places = (posixpath.join(base, f"{name}.py") for base in bases)
        return next((place for place in places if self._files.is_source(place)), None)

    def _is_own(self, top: str) -> bool:
        """Whether the project has a folder of this package. It may be installed as well, e.g. as editable."""
        return any(self._has_folder(self._path_of_module(root, top)) for root in self._roots)

    def _package(self, module: str) -> str | None:
        """The path of a new module inside the nearest existing package around it; None if there is none."""
        outer, _, inner = module.rpartition(".")
        while outer:
            found = self.find_file(outer)
            if found is not None and found.endswith("/__init__.py"):
                return posixpath.join(posixpath.dirname(found), f"{inner.replace('.', '/')}.py")
            folder = next(
                (f for root in self._roots if self._has_folder(f := self._path_of_module(root, outer))), None
            )
            if folder is not None:
                return posixpath.join(folder, f"{inner.replace('.', '/')}.py")
            outer, _, last = outer.rpartition(".")
            inner = f"{last}.{inner}"
        return None

    def _path_of_module(self, root: str, module: str) -> str:
        return posixpath.join(root, module.replace(".", "/"))

    def _has_folder(self, folder: str) -> bool:
        return any(path.startswith(f"{folder}/") for path in self._files.source)

    def packages(self, path: str) -> Iterator[str]:
        """The `__init__.py` files that a new module needs in folders that do not exist yet."""
        folder = posixpath.dirname(path)
        while folder not in {"", self._src} and not any(
            known.startswith(f"{folder}/") for known in self._files.paths
        ):
            at = f"{folder}/__init__.py"
            if at != path and self._files.is_source(at):
                yield at
            folder = posixpath.dirname(folder)

    def _exists(self, folder: str) -> bool:
        return any(path.startswith(f"{folder}/") for path in self._files.paths)

    def _is_installed(self, top: str) -> bool:
        return any((folder / f"{top}{end}").exists() for folder in self._packages for end in _INSTALLED)

    @cached_property
    def _packages(self) -> Sequence[Path]:
        return self._files.packages(self._stack)


_KEPT = frozenset({"staticmethod", "classmethod", "property"})
"""Decorators that a stub keeps, since they decide how a member is called."""


def declare_missing(before: str, other: str) -> str:
    """Adds stubs to `before` for the top-level names that only `other` binds. May raise SyntaxError."""
    known = {name for node in parse(before).body for name in _names(node)}
    added = [stub for node in parse(other).body for stub in _stub_of_statement(node, known)]
    if not added:
        return before
    text = "\n\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in added)
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    return f"{before}{gap}# {MARK}\n{text}\n"


def _names(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.If() | ast.Try():
            for inner in ast.iter_child_nodes(node):
                if isinstance(inner, ast.stmt):
                    yield from _names(inner)
        case _:
            return


def _stub_of_statement(node: ast.stmt, known: set[str]) -> Iterator[ast.stmt]:
    missing = [name for name in _names(node) if name not in known and name != "__all__"]
    if not missing:
        return
    known.update(missing)
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield _stub_of_function(node)
        case ast.ClassDef():
            yield _stub_of_class(node, known)
        case ast.ImportFrom(level=level) if level:  # a name of the project itself, which is passed on
            aliases = [alias for alias in node.names if (alias.asname or alias.name) in missing]
            yield ast.ImportFrom(module=node.module, names=aliases, level=level)
        case ast.Assign() | ast.AnnAssign():
            yield from (_assign_none(name) for name in missing)
        case ast.If() | ast.Try():
            for inner in ast.iter_child_nodes(node):
                if isinstance(inner, ast.stmt):
                    yield from _stub_of_statement(inner, known.difference(missing))
        case _:
            return


def _assign_none(name: str) -> ast.Assign:
    return ast.Assign(targets=[ast.Name(name, ast.Store())], value=ast.Constant(None), lineno=1)


def _stub_of_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, *, kept: Collection[str] = ()
) -> ast.stmt:
    """A function with the same parameters and plain defaults that only raises."""
    given = node.args
    arguments = ast.arguments(
        posonlyargs=[ast.arg(one.arg) for one in given.posonlyargs],
        args=[ast.arg(one.arg) for one in given.args],
        vararg=given.vararg and ast.arg(given.vararg.arg),
        kwonlyargs=[ast.arg(one.arg) for one in given.kwonlyargs],
        kw_defaults=[one and _plain(one) for one in given.kw_defaults],
        kwarg=given.kwarg and ast.arg(given.kwarg.arg),
        defaults=[_plain(one) for one in given.defaults],
    )
    raised = ast.Call(ast.Name("NotImplementedError", ast.Load()), [ast.Constant(MARK)], [])
    kind = type(node)
    return kind(
        name=node.name,
        args=arguments,
        body=[ast.Raise(raised)],
        decorator_list=[one for one in node.decorator_list if last_name(one) in kept],
        lineno=1,
    )


def _plain(default: ast.expr) -> ast.expr:
    return default if isinstance(default, ast.Constant) else ast.Constant(None)


def _stub_of_class(node: ast.ClassDef, known: Collection[str]) -> ast.ClassDef:
    """A class with those of its bases that exist; its methods raise, and its attributes are None."""
    bases: list[ast.expr] = [
        base
        for base in node.bases
        if isinstance(base, ast.Name)
        and (base.id in known or hasattr(builtins, base.id))
        and base.id != node.name
    ]
    body: list[ast.stmt] = []
    for member in node.body:
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
            body.append(_stub_of_function(member, kept=_KEPT))
        elif isinstance(member, ast.Assign | ast.AnnAssign):
            body += [_assign_none(name) for name in _names(member)]
    return ast.ClassDef(
        name=node.name, bases=bases, keywords=[], body=body or [ast.Pass()], decorator_list=[], lineno=1
    )
