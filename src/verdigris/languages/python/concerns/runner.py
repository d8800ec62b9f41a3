"""Finds source that asks who runs it, or patches the runner."""

from __future__ import annotations

import ast
import sys
import tomllib
from typing import TYPE_CHECKING

from verdigris.languages.python.concerns.answers import Hit, quote_statement
from verdigris.languages.python.stubs.forms import Function, last_name
from verdigris.languages.python.syntax import nodes_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.languages.python.concerns.names import SeenNode, SourceNames


_TRACERS = frozenset(
    {
        *("gc.get_objects", "gc.get_referrers", "sys.settrace", "sys.setprofile", "threading.settrace"),
        *("threading.setprofile", "threading.settrace_all_threads", "threading.setprofile_all_threads"),
        *("sys.monitoring.set_events", "sys.monitoring.register_callback"),
    }
)
_FRAMES = frozenset(
    {
        *("sys._getframe", "sys._current_frames", "inspect.stack", "inspect.currentframe"),
        *("inspect.getouterframes", "inspect.trace", "traceback.extract_stack", "traceback.walk_stack"),
        *("traceback.format_stack", "gc.get_referents"),
    }
)
_PEEKS = frozenset({"f_locals", "code_context", "co_consts", "co_code", "f_trace"})
_CLIMBS = frozenset({"f_back", "tb_frame", "gi_frame", "_getframe", "_current_frames"})
_SHOWS = ("linecache.", "inspect.getsource", "inspect.findsource", "builtins.open")
"""Prefixes of calls that return the text of a module."""
_READERS = (*_SHOWS, "pathlib.Path", "ast.", "tokenize.", "dis.", "marshal.")
_FRAGMENTS = frozenset({"pyt", "pyte", "pytes", "plugg", "ytest"})
_SURROUNDING_WORDS = ("rewrit", "capture", "encodedfile")
_RUNNER_WORDS = ("pytest", "py.test", "unittest", "nose2", "conftest", "pluggy", "@py_")
_CI = frozenset(
    {"CI", "TESTING", "TEST", "GITHUB_ACTIONS", "GITLAB_CI", "TOX_ENV_NAME", "NOX_CURRENT_SESSION"}
)
_ASKS = frozenset(
    {
        *("get", "startswith", "endswith", "find", "index", "count", "__contains__", "__getitem__"),
        *("isdisjoint", "intersection", "issuperset", "search", "match", "findall", "fnmatch", "getenv"),
    }
)


_OURS = ("verdigris_reporter", "verdigris_bootstrap")
_FEWEST = 4
"""A shorter word is not taken for a part of one of these names."""
_PLACES = ("/proc/", "/sys/", "/.dockerenv", "/run/.containerenv", "/etc/hostname", "/etc/mtab")
_MACHINE = frozenset(
    {
        *(
            "os.getuid",
            "os.geteuid",
            "os.getlogin",
            "os.getppid",
            "os.uname",
            "os.path.ismount",
            "os.statvfs",
        ),
        *("getpass.getuser", "socket.gethostname", "platform.node", "platform.uname", "uuid.getnode"),
        *("resource.getrlimit", "resource.getrusage", "os.getpriority", "os.sched_getaffinity"),
    }
)
_HOMES = ("Path.home()", "expanduser(", "environ['HOME']", "getenv('HOME')")
_LOOKS = frozenset(
    {"iterdir", "glob", "rglob", "exists", "is_file", "is_dir", "stat", "listdir", "scandir", "walk"}
)


def find_place_detection(seen: SeenNode) -> Iterator[Hit]:
    """Finds code that asks where it runs, as code does that is right only under test; a person decides."""
    node, names = seen.node, seen.names
    match node:
        case ast.Constant(value=str(text)) if text.startswith(_PLACES):
            yield Hit("asks-where", node, f"`{text}` reveals where it runs")
        case ast.Attribute() if names.dotted_name(node) in _MACHINE:
            yield Hit("asks-where", node, f"`{ast.unparse(node)}` reveals where it runs")
        case ast.Call(func=ast.Attribute(attr=method)) if method in _LOOKS:
            text = ast.unparse(node)
            if any(home in text for home in _HOMES):
                yield Hit("asks-where", node, f"`{text}` looks into the home folder")


def find_frames(seen: SeenNode) -> Iterator[Hit]:
    node, names = seen.node, seen.names
    match node:
        case ast.Attribute(ctx=ast.Load(), value=value, attr=attr) if attr in _PEEKS:
            if attr == "f_locals" or "frames" in names.origin(value):
                yield Hit("frames", node, f"`{ast.unparse(node)}` reads its caller's frame", blocks=True)
        case ast.Call(func=func, args=args):
            yield from _judge_call(node, names.dotted_name(func), args, names)
    dotted = names.dotted_name(node) if isinstance(node, ast.Attribute | ast.Name) else ""
    if dotted in _TRACERS:
        yield Hit("frames", node, f"`{ast.unparse(node)}` traces the whole process", blocks=True)
    elif dotted in _FRAMES or (isinstance(node, ast.Attribute) and node.attr in {"f_back", "tb_frame"}):
        yield Hit("frames", node, f"`{ast.unparse(node)}` looks at the stack")


def _judge_call(node: ast.Call, called: str, args: list[ast.expr], names: SourceNames) -> Iterator[Hit]:
    given = frozenset[str]().union(*map(names.origin, args))
    named = {part for arg in args for part in (names.text(arg) or "").split(".")}
    if called.startswith(_READERS) and "frames" in given:
        yield Hit("frames", node, f"`{ast.unparse(node)}` reads its caller's text", blocks=True)
    elif called.startswith(_SHOWS) and "every module" in given:
        yield Hit("frames", node, f"`{ast.unparse(node)}` reads every loaded module", blocks=True)
    elif (called == "builtins.getattr" and named & _PEEKS and "frames" in given) or (
        called == "operator.attrgetter" and named & (_PEEKS | _CLIMBS)
    ):
        yield Hit("frames", node, f"`{ast.unparse(node)}` reads its caller's frame", blocks=True)


def find_runner_detection(seen: SeenNode) -> Iterator[Hit]:
    node, names = seen.node, seen.names
    match node:
        case ast.Compare(left=left, comparators=rest):
            parts = [left, *rest]
        case ast.Call(func=ast.Attribute(value=owner, attr=method), args=args) if method in _ASKS:
            parts = [owner, *args]
        case ast.Call(func=ast.Name(), args=args) if names.dotted_name(node.func).rpartition(".")[2] in _ASKS:
            parts = [node.func, *args]
        case ast.Subscript(value=owner, slice=key, ctx=ast.Load()):
            parts = [owner, key]
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.Sub(), right=right):
            parts = [left, right]
        case ast.Attribute() if names.dotted_name(node) == "sys.gettrace":
            yield Hit("detects-runner", node, "`sys.gettrace` asks whether a tracer or debugger is active")
            return
        case _:
            return
    origins = frozenset[str]().union(*map(names.origin, parts)) - {"class"}
    if names.dotted_name(parts[0]) == "os" and isinstance(node, ast.Call):
        origins |= names.origin(node.func)
    words = [text for part in parts for text in _texts(part, names)]
    grade = max((_grade(word, origins) for word in words), default=0)
    if origins and grade:
        yield Hit("detects-runner", node, f"`{ast.unparse(node)}` asks who runs it", blocks=grade > 1)


def _texts(node: ast.expr, names: SourceNames) -> list[str]:
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return [text for part in parts for text in _texts(part, names)]
        case ast.Call(func=func, args=args) if names.dotted_name(func).startswith("builtins."):
            return [text for arg in args for text in _texts(arg, names)]
        case _:
            text = names.text(node)
            return [] if text is None else [text]


def _grade(word: str, origins: frozenset[str]) -> int:
    """0 if the word shows nothing, 1 if it may be honest, 2 if no honest program asks for it."""
    bare = word.lower().strip("_@. ")
    if len(bare) >= _FEWEST and any(bare in name for name in _OURS):
        return 2
    runner = any(part in word.lower() for part in _RUNNER_WORDS) or bare in _FRAGMENTS
    if "environ" in origins:
        if word.upper().startswith("PYTEST_") or "CURRENT_TEST" in word.upper() or bare in _FRAGMENTS:
            return 2
        return int(runner or word in _CI)
    if "surroundings" in origins:
        runner = runner or any(part in word.lower() for part in _SURROUNDING_WORDS)
    if "frames" in origins and word.startswith("@"):
        return 2
    if runner:
        return 2
    testy = word.lower().strip("/_. ").startswith("test") or "/test" in word
    return 0 if not testy else 2 if origins & {"frames", "modules"} else 1


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
"""Modules on which assertions and reports rely: a change of them can change every result."""
_PROPERTIES = frozenset({"hypothesis", "schemathesis", "hypofuzz"})
_DATA = frozenset({"strategies", "extra", "__dict__"})
"""Parts of these libraries that only describe data."""
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


def find_patches(seen: SeenNode) -> Iterator[Hit]:
    node, names = seen.node, seen.names
    match node:
        case ast.Attribute(value=owner, attr=attr, ctx=ast.Store() | ast.Del()):
            yield from _judge_patch(node, names.dotted_name(owner), attr, seen)
            yield from _find_reaches(node, owner, names)
        case ast.Subscript(value=owner, slice=key, ctx=ast.Store() | ast.Del()):
            whole = names.dotted_name(owner)
            if whole == "sys.modules":
                yield from _find_replaced(node, names.text(key), key)
            elif whole == "builtins" or whole.endswith(".__dict__"):
                yield from _judge_patch(node, whole.removesuffix(".__dict__"), names.text(key) or "", seen)
            elif isinstance(owner, ast.Attribute):
                yield from _find_reaches(node, owner, names)
        case ast.Call(func=func, args=args):
            yield from _patching_call(node, names.dotted_name(func), args, seen)


def _judge_patch(node: ast.AST, owner: str, attr: str, seen: SeenNode) -> Iterator[Hit]:
    top = owner.partition(".")[0]
    if top == "sys" and (owner == "sys" and attr not in _SYS_TABLES):
        return
    if (owner, attr) == ("builtins", "_") or owner.startswith("pandas.options"):
        return
    if top in FRAMEWORK | _MEASURES and (owner, attr) != ("json.JSONEncoder", "default"):
        yield Hit(
            "patches",
            node,
            f"{quote_statement(seen.statement, node)} changes {top} for the whole process",
            blocks=True,
        )
    elif top in sys.stdlib_module_names and owner != "sys.modules":
        yield Hit(
            "patches", node, f"{quote_statement(seen.statement, node)} changes {top} for the whole process"
        )


def _find_reaches(node: ast.AST, owner: ast.expr, names: SourceNames) -> Iterator[Hit]:
    """Finds changes of an object that the code found by searching all modules or the stack."""
    found = names.origin(owner) & {"frames", "modules", "every module", "class"}
    itself = any(part.id == "__name__" for part in nodes_in(owner) if isinstance(part, ast.Name))
    if found and not names.dotted_name(owner) and not itself:
        what = f"`{ast.unparse(node)}` changes an object that it found by searching the process"
        yield Hit("patches", node, what, blocks=bool(found - {"modules", "class"}))


def _find_replaced(node: ast.AST, name: str | None, key: ast.expr) -> Iterator[Hit]:
    if last_name(key) == "__name__":
        return
    top = (name or "").partition(".")[0]
    yield Hit(
        "patches",
        node,
        f"`{ast.unparse(node)}` replaces a module",
        blocks=top in FRAMEWORK or top in sys.stdlib_module_names,
    )


def _patching_call(node: ast.Call, called: str, args: list[ast.expr], seen: SeenNode) -> Iterator[Hit]:
    owner, _, method = called.rpartition(".")
    if called in _SETTERS and args:
        attr = seen.names.text(args[1]) if len(args) > 1 else ""
        yield from _judge_patch(node, seen.names.dotted_name(args[0]), attr or "", seen)
        yield from _find_reaches(node, args[0], seen.names)
    elif called.startswith(("unittest.mock.patch", "mock.patch")) and args:
        what = seen.names.text(args[0]) or seen.names.dotted_name(args[0])
        yield from _judge_patch(node, what, "", seen)
    elif method in _WRITERS and owner.endswith(".__dict__"):
        yield from _judge_patch(node, owner.removesuffix(".__dict__"), "", seen)
    elif method in _WRITERS and owner in {f"sys.{table}" for table in _SYS_TABLES}:
        top = ((args and seen.names.text(args[0])) or "").partition(".")[0]
        yield Hit(
            "patches", node, f"`{ast.unparse(node)}` changes how modules are found", blocks=top in FRAMEWORK
        )
    elif called.startswith("ctypes.pythonapi") or called in {"ctypes.memmove", "forbiddenfruit.curse"}:
        yield Hit("patches", node, f"`{ast.unparse(node)}` writes into the interpreter")


def find_framework_use(seen: SeenNode) -> Iterator[Hit]:
    """Finds use of the test framework. `blocks` does not hold if the project is a plugin of the framework."""
    node, names = seen.node, seen.names
    match node:
        case ast.Import(names=aliases):
            yield from _find_imports(node, [alias.name for alias in aliases])
        case ast.ImportFrom(module=str(module), level=0, names=aliases):
            yield from _find_imports(node, [f"{module}.{alias.name}" for alias in aliases])
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if _is_hook(name):
            yield Hit("framework-in-source", node, f"`{name}` is a hook of the test runner", blocks=True)
        case ast.Name(id="pytest_plugins", ctx=ast.Store()):
            yield Hit("framework-in-source", node, "`pytest_plugins` registers plugins", blocks=True)
        case ast.Call(func=func) | ast.Raise(exc=ast.Attribute() | ast.Name() as func):
            top, _, rest = names.dotted_name(func).partition(".")
            if top in FRAMEWORK and rest.rpartition(".")[2] in _OUTCOMES:
                what = f"`{ast.unparse(func)}` decides a test's outcome"
                yield Hit("framework-in-source", node, what, blocks=True)
            elif isinstance(func, ast.Attribute) and last_name(func.value) == "pluginmanager":
                yield Hit("framework-in-source", node, f"`{ast.unparse(func)}` changes plugins", blocks=True)


def find_property_settings(seen: SeenNode) -> Iterator[Hit]:
    """Finds use of a property-testing library. Source may hold strategies; the rest belongs to the tests."""
    match seen.node:
        case ast.Import(names=aliases):
            named = [alias.name for alias in aliases]
        case ast.ImportFrom(module=str(module), level=0, names=aliases):
            named = [f"{module}.{alias.name}" for alias in aliases]
        case ast.Attribute() | ast.Subscript() | ast.Call():
            named = [seen.names.dotted_name(seen.node)]
        case _:
            return
    for name in named:
        top, _, rest = name.partition(".")
        part = rest.partition(".")[0]
        if top in _PROPERTIES and part not in _DATA and (part or not isinstance(seen.node, ast.Call)):
            what = f"source configures how properties are tried: {top}{f'.{part}' if part else ''}"
            yield Hit("properties", seen.node, what, blocks=bool(part))


def _find_imports(node: ast.stmt, modules: list[str]) -> Iterator[Hit]:
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
    """Whether `pyproject.toml` declares the project as a plugin of the runner."""
    try:
        project = tomllib.loads(pyproject).get("project", {})
    except tomllib.TOMLDecodeError:
        return False
    if not isinstance(project, dict):
        return False
    points = project.get("entry-points", {})
    return str(project.get("name", "")).startswith(("pytest-", "pytest_")) or "pytest11" in points


def is_plugin(tree: ast.Module) -> bool:
    """Whether a file has hooks of the framework or imports pytest: then more of that is no concern."""
    return any(
        (isinstance(node, Function) and _is_hook(node.name))
        or (isinstance(node, ast.Import) and any(a.name == "pytest" for a in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "pytest")
        for node in nodes_in(tree)
    )
