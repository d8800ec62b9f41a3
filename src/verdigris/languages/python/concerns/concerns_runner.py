"""Source that reaches for its runner: patches it, or joins it."""

from __future__ import annotations

import ast
import sys
import tomllib
from typing import TYPE_CHECKING

from verdigris.languages.python.concerns.concerns_hit import Hit, shown
from verdigris.languages.python.stubforms import Function, last_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.languages.python.concerns.concerns_names import Names
    from verdigris.languages.python.concerns.concerns_scope import Seen

FRAMEWORK = frozenset(
    {
        *("pytest", "_pytest", "unittest", "pluggy", "nose", "doctest", "xdist", "pytest_asyncio"),
        "verdigris_reporter",
    }
)
_MEASURES = frozenset(
    {
        *("builtins", "math", "cmath", "time", "timeit", "datetime", "random", "operator", "statistics"),
        *("decimal", "fractions", "json", "os", "re", "types", "functools", "io", "pickle", "marshal"),
        *("copy", "traceback", "itertools", "numpy", "pandas", "hypothesis"),
    }
)
"""What assertions and reports are made of: whoever changes it changes every answer."""
_PROPERTIES = frozenset({"hypothesis", "schemathesis", "hypofuzz"})
_DATA = frozenset({"strategies", "extra", "__dict__"})
"""Parts of them that only say what data looks like."""
_SYS_TABLES = frozenset({"modules", "meta_path", "path_hooks"})
_WRITERS = frozenset(
    {"update", "setdefault", "__setitem__", "__delitem__", "pop", "clear", "insert", "append"}
)
_SETTERS = frozenset(
    {"builtins.setattr", "builtins.delattr", "builtins.object.__setattr__", "builtins.type.__setattr__"}
)
_OUTCOMES = frozenset(
    {"skip", "xfail", "exit", "importorskip", "SkipTest", "Skipped", "XFailed", "Exit", "skipTest"}
)


def patches(seen: Seen) -> Iterator[Hit]:
    node, names = seen.node, seen.names
    match node:
        case ast.Attribute(value=owner, attr=attr, ctx=ast.Store() | ast.Del()):
            yield from _patched(node, names.dotted(owner), attr, seen)
            yield from _reached(node, owner, names)
        case ast.Subscript(value=owner, slice=key, ctx=ast.Store() | ast.Del()):
            whole = names.dotted(owner)
            if whole == "sys.modules":
                yield from _replaced(node, names.text(key), key)
            elif whole == "builtins" or whole.endswith(".__dict__"):
                yield from _patched(node, whole.removesuffix(".__dict__"), names.text(key) or "", seen)
            elif isinstance(owner, ast.Attribute):
                yield from _reached(node, owner, names)
        case ast.Call(func=func, args=args):
            yield from _patching_call(node, names.dotted(func), args, seen)


def _patched(node: ast.AST, owner: str, attr: str, seen: Seen) -> Iterator[Hit]:
    top = owner.partition(".")[0]
    if top == "sys" and (owner == "sys" and attr not in _SYS_TABLES):
        return
    if (owner, attr) == ("builtins", "_") or owner.startswith("pandas.options"):
        return
    if top in FRAMEWORK | _MEASURES and (owner, attr) != ("json.JSONEncoder", "default"):
        yield Hit("patches", node, f"{shown(seen.statement, node)} changes {top} for everyone", blocks=True)
    elif top in sys.stdlib_module_names and owner != "sys.modules":
        yield Hit("patches", node, f"{shown(seen.statement, node)} changes {top} for everyone")


def _reached(node: ast.AST, owner: ast.expr, names: Names) -> Iterator[Hit]:
    """What was found by going through all modules, or up the stack, belongs to someone else."""
    found = names.origin(owner) & {"frames", "modules", "every module", "class"}
    itself = any(part.id == "__name__" for part in ast.walk(owner) if isinstance(part, ast.Name))
    if found and not names.dotted(owner) and not itself:
        what = f"`{ast.unparse(node)}` changes what it found in the run"
        yield Hit("patches", node, what, blocks=bool(found - {"modules", "class"}))


def _replaced(node: ast.AST, name: str | None, key: ast.expr) -> Iterator[Hit]:
    if last_name(key) == "__name__":
        return
    top = (name or "").partition(".")[0]
    yield Hit(
        "patches",
        node,
        f"`{ast.unparse(node)}` replaces a module",
        blocks=top in FRAMEWORK or top in sys.stdlib_module_names,
    )


def _patching_call(node: ast.Call, called: str, args: list[ast.expr], seen: Seen) -> Iterator[Hit]:
    owner, _, method = called.rpartition(".")
    if called in _SETTERS and args:
        attr = seen.names.text(args[1]) if len(args) > 1 else ""
        yield from _patched(node, seen.names.dotted(args[0]), attr or "", seen)
        yield from _reached(node, args[0], seen.names)
    elif called.startswith(("unittest.mock.patch", "mock.patch")) and args:
        what = seen.names.text(args[0]) or seen.names.dotted(args[0])
        yield from _patched(node, what, "", seen)
    elif method in _WRITERS and owner.endswith(".__dict__"):
        yield from _patched(node, owner.removesuffix(".__dict__"), "", seen)
    elif method in _WRITERS and owner in {f"sys.{table}" for table in _SYS_TABLES}:
        top = ((args and seen.names.text(args[0])) or "").partition(".")[0]
        yield Hit(
            "patches", node, f"`{ast.unparse(node)}` changes how modules are found", blocks=top in FRAMEWORK
        )
    elif called.startswith("ctypes.pythonapi") or called in {"ctypes.memmove", "forbiddenfruit.curse"}:
        yield Hit("patches", node, f"`{ast.unparse(node)}` writes into the interpreter")


def framework_in_source(seen: Seen) -> Iterator[Hit]:
    """`blocks` here means: unless the project's source is part of the framework already."""
    node, names = seen.node, seen.names
    match node:
        case ast.Import(names=aliases):
            yield from _imports(node, [alias.name for alias in aliases])
        case ast.ImportFrom(module=str(module), level=0, names=aliases):
            yield from _imports(node, [f"{module}.{alias.name}" for alias in aliases])
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if _is_hook(name):
            yield Hit("framework-in-source", node, f"`{name}` is a hook of the test runner", blocks=True)
        case ast.Name(id="pytest_plugins", ctx=ast.Store()):
            yield Hit("framework-in-source", node, "`pytest_plugins` registers plugins", blocks=True)
        case ast.Call(func=func) | ast.Raise(exc=ast.Attribute() | ast.Name() as func):
            top, _, rest = names.dotted(func).partition(".")
            if top in FRAMEWORK and rest.rpartition(".")[2] in _OUTCOMES:
                what = f"`{ast.unparse(func)}` decides a test's outcome"
                yield Hit("framework-in-source", node, what, blocks=True)
            elif isinstance(func, ast.Attribute) and last_name(func.value) == "pluginmanager":
                yield Hit("framework-in-source", node, f"`{ast.unparse(func)}` changes plugins", blocks=True)


def properties(seen: Seen) -> Iterator[Hit]:
    """What a property is tried with is the tests' to say; source may hold strategies, nothing else of it."""
    match seen.node:
        case ast.Import(names=aliases):
            named = [alias.name for alias in aliases]
        case ast.ImportFrom(module=str(module), level=0, names=aliases):
            named = [f"{module}.{alias.name}" for alias in aliases]
        case ast.Attribute() | ast.Subscript() | ast.Call():
            named = [seen.names.dotted(seen.node)]
        case _:
            return
    for name in named:
        top, _, rest = name.partition(".")
        part = rest.partition(".")[0]
        if top in _PROPERTIES and part not in _DATA and (part or not isinstance(seen.node, ast.Call)):
            what = f"source has a say in how properties are tried: {top}{f'.{part}' if part else ''}"
            yield Hit("properties", seen.node, what, blocks=bool(part))


def _imports(node: ast.stmt, modules: list[str]) -> Iterator[Hit]:
    for module in modules:
        if module.partition(".")[0] in FRAMEWORK - {"doctest"}:
            blocks = module.startswith("_pytest")
            yield Hit("framework-in-source", node, f"source imports {module}", blocks=blocks)


def _is_hook(name: str) -> bool:
    return name.startswith("pytest_") and name.removeprefix("pytest_").partition("_")[0] in {
        *("runtest", "collection", "collect", "configure", "unconfigure", "sessionstart", "sessionfinish"),
        *("pyfunc", "report", "itemcollected", "deselected", "generate", "load", "cmdline", "addoption"),
        *("fixture", "assertrepr", "assertion", "exception", "warning", "ignore", "pycollect", "terminal"),
        *("plugin", "internalerror", "keyboard", "make", "enter", "leave", "markeval", "addhooks"),
    }


def declares_plugin(pyproject: str) -> bool:
    """Whether a project says that it is a plugin of the runner."""
    try:
        project = tomllib.loads(pyproject).get("project", {})
    except tomllib.TOMLDecodeError:
        return False
    if not isinstance(project, dict):
        return False
    points = project.get("entry-points", {})
    return str(project.get("name", "")).startswith(("pytest-", "pytest_")) or "pytest11" in points


def is_plugin(tree: ast.Module) -> bool:
    """Whether a file has hooks or fixtures of the framework: then more of them are its business."""
    return any(
        (isinstance(node, Function) and _is_hook(node.name))
        or (isinstance(node, ast.Import) and any(a.name == "pytest" for a in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "pytest")
        for node in ast.walk(tree)
    )
