"""Finds mocks in a Python test that replace the very code that the test calls."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verdigris.languages.findings import TestFault
from verdigris.languages.python.modules import SUFFIX, dotted_name
from verdigris.languages.python.stubs.forms import Function, last_name, owner_name
from verdigris.languages.python.tests.code import Files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from verdigris.languages.findings import TestText
    from verdigris.languages.python.tests.code import Code

_SPYING = frozenset({"wraps", "autospec_call_through"})
_SET_UP = frozenset({"setUp", "setup_method", "setUpClass", "setup_class", "setup", "setup_module"})


def find_mocked_subjects(test: TestText, sources: Collection[str]) -> tuple[TestFault, ...] | None:
    """Finds such mocks. `sources`: paths of the project's modules. None if the test is not in the text."""
    files = Files(test.texts)
    file = files.code(test.path)
    if file is None or test.name not in file.functions:
        return None
    reading = _TestMocks(test, file, frozenset(filter(None, map(_module, sources))))
    for owner, function in _nodes_around(files, file, test.name):
        reading.take_patches(owner, function)
    function = file.functions[test.name]
    reading.take_uses(function)
    return tuple(reading.faults())


def _module(path: str) -> str:
    """The dotted name of a Python file from the root; empty for other files."""
    return dotted_name(path) if path.endswith(SUFFIX) else ""


def _nodes_around(files: Files, file: Code, name: str) -> Iterator[tuple[Code, ast.AST]]:
    """The code that runs for a test: decorators of its class, set-up functions, fixtures, and itself."""
    owner = name.rpartition("::")[0]
    for node in ast.walk(file.tree):
        if isinstance(node, ast.ClassDef) and node.name in owner.split("::"):
            yield from ((file, decorator) for decorator in node.decorator_list)
    yield from ((file, node) for known, node in file.functions.items() if _sets_up(known, owner))
    waiting: list[tuple[Code, Function]] = [(file, file.functions[name])]
    waiting += ((file, node) for node in file.functions.values() if _is_automatic(node))
    seen: set[int] = set()
    while waiting:
        there, function = waiting.pop()
        if id(function) not in seen:
            seen.add(id(function))
            yield there, function
            wanted = (files.fixture(there, arg.arg) for arg in function.args.args)
            waiting += (found for found in wanted if found is not None)


def _sets_up(known: str, owner: str) -> bool:
    return known.rpartition("::")[0] in {owner, ""} and known.rpartition("::")[2] in _SET_UP


def _is_automatic(function: Function) -> bool:
    return any(
        isinstance(one, ast.Call) and any(word.arg == "autouse" for word in one.keywords)
        for one in function.decorator_list
    )


@dataclass(slots=True)
class _TestMocks:
    test: TestText
    file: Code
    modules: frozenset[str]
    patched: dict[str, tuple[str, int]] = field(default_factory=dict)
    """By dotted name: the path and line that replaces it."""
    called: dict[str, int] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    """Names of methods that the test calls on any object."""

    def take_patches(self, file: Code, started: ast.AST) -> None:
        for node in ast.walk(started):
            for target in self._targets(file, node):
                if self._is_project(target):
                    self.patched.setdefault(target, (file.path, getattr(node, "lineno", 1)))

    def _targets(self, file: Code, node: ast.AST) -> Iterator[str]:
        match node:
            case ast.Call(keywords=words) if any(word.arg in _SPYING for word in words):
                return
            case ast.Call(func=func, args=[ast.Constant(value=str(target)), *_], keywords=words):
                name, owner = last_name(func), owner_name(func)
                if name in {"patch", "setattr"}:
                    yield self._resolve_target(target)
                elif name == "multiple" and owner == "patch":
                    yield from (f"{target}.{word.arg}" for word in words)
                elif name == "dict" and owner == "patch" and target == "sys.modules":
                    yield from _texts([*node.args[1:], *(word.value for word in words)])
            case ast.Call(func=func, args=[owner, ast.Constant(value=str(name)), *_]):
                if last_name(func) == "setitem" and ast.unparse(owner) == "sys.modules":
                    yield name
                elif last_name(func) == "setattr" or (
                    last_name(func) == "object" and owner_name(func) == "patch"
                ):
                    yield f"{_dotted_name(file, owner)}.{name}"
            case ast.Assign(targets=[ast.Attribute() as target]):
                yield _dotted_name(file, target)
            case ast.Assign(targets=[ast.Subscript(value=table, slice=ast.Constant(value=str(name)))]):
                if ast.unparse(table) == "sys.modules":
                    yield name

    def _resolve_target(self, target: str) -> str:
        """The dotted name of a patch target; a name in the test's own module means what it imports there."""
        module, _, name = target.rpartition(".")
        own = module and f".{_module(self.test.path)}".endswith(f".{module}")
        return self.file.imports.get(name, target) if own else target

    def _is_project(self, dotted: str) -> bool:
        """Whether a dotted name is a module of the project, or inside one."""
        parts = dotted.split(".")
        heads = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
        return any(
            module in heads or module.endswith(tuple(f".{h}" for h in heads)) for module in self.modules
        )

    def take_uses(self, function: Function) -> None:
        inner = [node for statement in function.body for node in ast.walk(statement)]
        for node in inner:
            if isinstance(node, ast.Call):
                self.called.setdefault(_dotted_name(self.file, node.func), node.lineno)
                if isinstance(node.func, ast.Attribute):
                    self.methods.add(node.func.attr)
        names = {
            _dotted_name(self.file, node) for node in inner if isinstance(node, ast.Name | ast.Attribute)
        }
        self.used = {name for name in names if name in self.called and self._is_project(name)}

    def faults(self) -> Iterator[TestFault]:
        is_replaced = False
        for target, (path, line) in self.patched.items():
            if self._is_subject(target):
                is_replaced = True
                yield TestFault(
                    path,
                    line,
                    f"`{target}` is replaced here and called by the test, which asserts the replacement: "
                    "call the real one, and replace only what it uses",
                )
        if not is_replaced and self.used and all(self._is_patched(name) for name in self.used):
            path, line = next(iter(self.patched.values()))
            yield TestFault(
                path,
                line,
                "everything of the project that the test calls is replaced: leave at least one part real",
            )

    def _is_subject(self, target: str) -> bool:
        owner, _, name = target.rpartition(".")
        kind = owner.rpartition(".")[2]
        is_ours = owner in self.file.imports.values() or owner in self.called
        method = kind[:1].isupper() and name in self.methods and is_ours
        return target in self.called or method or any(one.startswith(f"{target}.") for one in self.called)

    def _is_patched(self, dotted: str) -> bool:
        return any(dotted == target or dotted.startswith(f"{target}.") for target in self.patched)


def _texts(nodes: Iterable[ast.expr]) -> Iterator[str]:
    for node in nodes:
        for key in node.keys if isinstance(node, ast.Dict) else ():
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value


def _dotted_name(file: Code, node: ast.expr) -> str:
    """The dotted meaning of an expression by the file's imports; other names stay as they are."""
    match node:
        case ast.Name(id=name):
            return file.imports.get(name, name)
        case ast.Attribute(value=value, attr=name):
            return f"{_dotted_name(file, value)}.{name}"
        case _:
            return "?"
