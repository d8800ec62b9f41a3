"""Resolves names and expressions of source without running it."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from verdigris.languages.python.concerns.text import fold_text
from verdigris.languages.python.modules import imported_names
from verdigris.languages.python.stubs.forms import Function, last_name
from verdigris.languages.python.syntax import nodes_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence


_ORIGINS = {
    **dict.fromkeys(("sys.modules", "__main__"), "modules"),
    **dict.fromkeys(("sys.modules.values", "sys.modules.items", "sys.modules.copy"), "every module"),
    **dict.fromkeys(("sys.argv", "sys.orig_argv", "psutil.Process"), "argv"),
    **dict.fromkeys(("os.environ", "os.environb", "os.getenv"), "environ"),
    **dict.fromkeys(
        (
            *("sys._getframe", "sys._current_frames", "inspect.stack", "inspect.currentframe"),
            *("inspect.getouterframes", "inspect.trace", "traceback.extract_stack", "traceback.walk_stack"),
            *("traceback.format_stack", "gc.get_objects", "gc.get_referrers"),
        ),
        "frames",
    ),
    **dict.fromkeys(
        (
            *("sys.stdout", "sys.stderr", "sys.stdin", "sys.meta_path", "sys.path_hooks", "sys.path"),
            *("logging.getLogger", "logging.root", "warnings.filters", "threading.enumerate"),
        ),
        "surroundings",
    ),
}
"""Maps names of the library to the fact about the run that they reveal."""
_THROUGH = ("builtins.", "os.path.", "pathlib.", "str.", "itertools.")
"""Prefixes of calls that only convert their arguments."""
_GATHERS = frozenset({"join", "union", "intersection", "isdisjoint", "issubset", "chain"})
_ITSELF = frozenset({"self", "cls"})
_LISTS = (["ps"], ["pgrep"], ["pstree"], ["lsof"])
_HASHES = ("hashlib.", "zlib.crc32", "zlib.adler32", "binascii.crc", "builtins.hash")


@dataclass(slots=True)
class SourceNames:
    meanings: dict[str, str] = field(default_factory=dict)
    """Maps a name to the dotted name that it was imported or assigned from; empty for a variable."""
    texts: dict[str, str] = field(default_factory=dict)
    origins: dict[str, frozenset[str]] = field(default_factory=dict)
    """Maps a variable to the facts about the run in its value: `modules`, `argv`, `environ`, `frames`."""
    paths: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Maps a variable to the texts of its path, if only these and `__file__` make it up."""
    hashes: set[str] = field(default_factory=set)

    def dotted_name(self, node: ast.AST) -> str:
        match node:
            case ast.Name(id="__builtins__"):
                return "builtins"
            case ast.Name(id=name):
                builtin = hasattr(builtins, name) and (name == "__import__" or not name.startswith("__"))
                return self.meanings.get(name, f"builtins.{name}" if builtin else "")
            case ast.Attribute(value=value, attr=attr):
                owner = self.dotted_name(value)
                return f"{owner}.{attr}" if owner else ""
            case ast.NamedExpr(value=value):
                return self.dotted_name(value)
            case ast.Subscript(value=value, slice=index):
                return self._member(self.dotted_name(value), self.text(index))
            case ast.Call(func=func, args=args):
                return self._meaning_of_call(self.dotted_name(func), args)
            case _:
                return ""

    def _meaning_of_call(self, function: str, args: list[ast.expr]) -> str:
        match function, args:
            case "importlib.import_module" | "builtins.__import__", [name, *_]:
                return self.text(name) or ""
            case "builtins.getattr", [owner, name, *_] if (base := self.dotted_name(owner)) and self.text(
                name
            ):
                return f"{base}.{self.text(name)}"
            case "builtins.vars", [owner] if base := self.dotted_name(owner):
                return f"{base}.__dict__"
            case str(), [name, *_] if function.endswith((".get", ".__getitem__", ".pop", ".setdefault")):
                return self._member(function.rpartition(".")[0], self.text(name))
            case _:
                return ""

    @staticmethod
    def _member(owner: str, key: str | None) -> str:
        if key is None:
            return ""
        if owner == "sys.modules":
            return key
        if owner == "builtins" or owner.endswith(".__dict__"):
            return f"{owner.removesuffix('.__dict__')}.{key}"
        return ""

    def text(self, node: ast.AST) -> str | None:
        """The constant text of an expression, which may join pieces; None if it is not constant."""
        return fold_text(node, self.texts, self.dotted_name)

    def origin(self, node: ast.AST | None) -> frozenset[str]:
        """The facts about the run in the value of an expression; a call of an unknown function has none."""
        if node is None:
            return frozenset()
        dotted = self.dotted_name(node)
        known = _known_origins(dotted) if dotted else frozenset()
        match node:
            case _ if known:
                return known
            case ast.Name(id=name):
                return self.origins.get(name, frozenset())
            case ast.Attribute(attr="f_back" | "tb_frame" | "gi_frame" | "cr_frame" | "findCaller"):
                return frozenset({"frames"})
            case ast.Call(func=ast.Name(id="type"), args=[ast.Name(id=of) as one]) if of not in _ITSELF:
                return self.origin(one) | {"class"}
            case ast.Attribute(value=ast.Name(id=of) as one, attr="__class__") if of not in _ITSELF:
                return self.origin(one) | {"class"}
            case ast.Constant() | ast.BinOp() if kind := _file_of_the_run(self.text(node)):
                return frozenset({kind})
            case ast.Call(func=func) if self._asks_the_system(node):
                return frozenset({"argv"})
            case ast.Call(func=func, args=args):
                inside = self.origin(func)
                passes = self.dotted_name(func).startswith(_THROUGH) or last_name(func) in _GATHERS
                return inside.union(*map(self.origin, args)) if passes else inside
            case ast.comprehension() | ast.Lambda() | ast.Dict():
                return frozenset()
            case ast.expr():
                return frozenset().union(*map(self.origin, ast.iter_child_nodes(node)))
            case _:
                return frozenset()

    def _asks_the_system(self, node: ast.Call) -> bool:
        """Whether the call runs `ps` or its like as a program."""
        if not self.dotted_name(node.func).startswith(("subprocess.", "os.popen", "os.system")):
            return False
        texts = (self.text(part) for arg in node.args for part in nodes_in(arg))
        return any(text and text.split()[:1] in _LISTS for text in texts)

    def path_texts(self, node: ast.AST) -> tuple[str, ...] | None:
        """The constant texts in a path; None if the path also depends on a variable."""
        whole = self.text(node)
        match node:
            case _ if whole is not None:
                return (whole,)
            case ast.Name(id="__file__"):
                return ()
            case ast.Name(id=name):
                return self.paths.get(name, () if self.dotted_name(node) else None)
            case _:
                inner = [self.path_texts(child) for child in ast.iter_child_nodes(node)]
                if None in inner:
                    return None
                return tuple(text for texts in inner for text in texts or ())

    def is_hash(self, node: ast.AST) -> bool:
        return any(
            (isinstance(part, ast.Call) and self.dotted_name(part.func).startswith(_HASHES))
            or (isinstance(part, ast.Name) and part.id in self.hashes)
            for part in nodes_in(node)
        )


@lru_cache(maxsize=4096)
def _known_origins(dotted: str) -> frozenset[str]:
    """The facts that a dotted name, or a prefix of it, reveals."""
    parts = dotted.split(".")
    names = (".".join(parts[: end + 1]) for end in range(len(parts)))
    return frozenset(_ORIGINS[name] for name in names if name in _ORIGINS)


def _file_of_the_run(text: str | None) -> str:
    if text is None or not text.startswith("/proc/"):
        return ""
    return "argv" if "cmdline" in text else "environ" if "environ" in text else ""


_PASSES = 3
"""How often assignments are read: a name may be assigned from a name that is assigned later."""

_OwnNode = tuple[ast.AST, ast.stmt, bool]


@dataclass(slots=True)
class SeenNode:
    """A node of a source file, with the meanings of the names around it."""

    node: ast.AST
    names: SourceNames
    function: Function | None
    statement: ast.stmt
    main: bool
    """True if the node runs only when the module is run as a program."""


def walk(
    tree: ast.Module, path: str, untouched: Collection[ast.stmt] = (), names: SourceNames | None = None
) -> Iterator[SeenNode]:
    """Yields the nodes of a file. `untouched`: statements to leave out. `names`: of the module, if known."""
    package = module_of(path).split(".")[:-1]
    own = list(_own_nodes([node for node in tree.body if node not in untouched]))
    yield from _walk_scope(own, names or module_names(tree, path), None, package)


@lru_cache(maxsize=8)
def module_names(tree: ast.Module, path: str) -> SourceNames:
    """The meanings of a module's names. Cached, since they are compared first and used for the walk later."""
    own = list(_own_nodes(tree.body))
    return _bind_names(own, tree, SourceNames(), module_of(path).split(".")[:-1])


def module_of(path: str) -> str:
    """The dotted name of a module from the source root; that of a package ends in `__init__`."""
    return path.removesuffix(".py").removeprefix("src/").replace("/", ".")


def _walk_scope(
    own: list[_OwnNode], names: SourceNames, function: Function | None, package: list[str]
) -> Iterator[SeenNode]:
    for node, statement, main in own:
        yield SeenNode(node, names, function, statement, main)
        if isinstance(node, Function):
            inner = list(_own_nodes(node.body))
            yield from _walk_scope(inner, _bind_names(inner, node, names, package), node, package)


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


def _bind_names(
    own: list[_OwnNode], owner: ast.Module | Function, outer: SourceNames, package: list[str]
) -> SourceNames:
    names = SourceNames(
        dict(outer.meanings), dict(outer.texts), dict(outer.origins), dict(outer.paths), set(outer.hashes)
    )
    stored = {n.id for n, *_ in own if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    if isinstance(owner, Function):
        stored |= {part.arg for part in nodes_in(owner.args) if isinstance(part, ast.arg)}
    for name in stored:
        names.meanings[name] = ""
        names.texts.pop(name, None)
        names.origins.pop(name, None)
        names.paths.pop(name, None)
        names.hashes.discard(name)
    binding = [node for node, *_ in own if isinstance(node, _BINDS)]
    returned = {id(node): returned_expressions(node) for node in binding if isinstance(node, ast.FunctionDef)}
    for _ in range(_PASSES):
        for node in binding:
            _bind(node, names, package, returned.get(id(node), ()))
    return names


_BINDS = (
    *(ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.NamedExpr),
    *(ast.For, ast.comprehension, ast.withitem, ast.FunctionDef),
)


def returned_expressions(function: ast.AST) -> list[ast.expr]:
    return [n.value for n in nodes_in(function) if isinstance(n, ast.Return) and n.value is not None]


def _bind(node: ast.AST, names: SourceNames, package: list[str], returned: Sequence[ast.expr]) -> None:
    """Binds the names of a node. `returned`: the expressions that it returns, if it is a function."""
    match node:
        case ast.Import():
            names.meanings.update(imported_names(node))
        case ast.ImportFrom():
            names.meanings.update(imported_names(node, resolve_import(node, package)))
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                _assign(target, value, names)
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.NamedExpr(target=target, value=value)
        ):
            _assign(target, value, names)
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            _bind_target(target, names.origin(value), names)
        case ast.withitem(optional_vars=ast.expr() as target, context_expr=value):
            _bind_target(target, names.origin(value), names)
        case ast.FunctionDef(name=name):
            origins = frozenset[str]().union(*map(names.origin, returned))
            names.meanings[name] = ""
            if origins:
                names.origins[name] = origins


def resolve_import(node: ast.ImportFrom, package: list[str]) -> str:
    if not node.level:
        return node.module or ""
    above = package[: len(package) - node.level + 1]
    return ".".join([*above, *filter(None, [node.module])])


def _assign(target: ast.expr, value: ast.expr, names: SourceNames) -> None:
    if isinstance(target, ast.Name):
        names.meanings[target.id] = names.dotted_name(value)
        text = names.text(value)
        if text is not None:
            names.texts[target.id] = text
        elif (texts := names.path_texts(value)) is not None:
            names.paths[target.id] = texts
        if names.is_hash(value):
            names.hashes.add(target.id)
    _bind_target(target, names.origin(value), names)


def _bind_target(target: ast.expr, origins: frozenset[str], names: SourceNames) -> None:
    for part in nodes_in(target):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and origins:
            names.origins[part.id] = names.origins.get(part.id, frozenset()) | origins
