"""Source that asks who runs it: looks at frames, at its caller's text, or at what a runner leaves around."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.languages.python.concerns.concerns_hit import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.languages.python.concerns.concerns_names import Names
    from verdigris.languages.python.concerns.concerns_scope import Seen

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
"""What gives the text of a module."""
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
"""Letters of a word that can mean one of them."""
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


def asks_where(seen: Seen) -> Iterator[Hit]:
    """What is right only where tests are run looks for that place first: a person is told that it looks."""
    node, names = seen.node, seen.names
    match node:
        case ast.Constant(value=str(text)) if text.startswith(_PLACES):
            yield Hit("asks-where", node, f"`{text}` tells where it runs")
        case ast.Attribute() if names.dotted(node) in _MACHINE:
            yield Hit("asks-where", node, f"`{ast.unparse(node)}` tells where it runs")
        case ast.Call(func=ast.Attribute(attr=method)) if method in _LOOKS:
            text = ast.unparse(node)
            if any(home in text for home in _HOMES):
                yield Hit("asks-where", node, f"`{text}` looks at what lies in the home folder")


def frames(seen: Seen) -> Iterator[Hit]:
    node, names = seen.node, seen.names
    match node:
        case ast.Attribute(ctx=ast.Load(), value=value, attr=attr) if attr in _PEEKS:
            if attr == "f_locals" or "frames" in names.origin(value):
                yield Hit("frames", node, f"`{ast.unparse(node)}` looks into its caller", blocks=True)
        case ast.Call(func=func, args=args):
            yield from _looking_call(node, names.dotted(func), args, names)
    dotted = names.dotted(node) if isinstance(node, ast.Attribute | ast.Name) else ""
    if dotted in _TRACERS:
        yield Hit("frames", node, f"`{ast.unparse(node)}` watches the whole process", blocks=True)
    elif dotted in _FRAMES or (isinstance(node, ast.Attribute) and node.attr in {"f_back", "tb_frame"}):
        yield Hit("frames", node, f"`{ast.unparse(node)}` looks at the stack")


def _looking_call(node: ast.Call, called: str, args: list[ast.expr], names: Names) -> Iterator[Hit]:
    given = frozenset[str]().union(*map(names.origin, args))
    named = {part for arg in args for part in (names.text(arg) or "").split(".")}
    if called.startswith(_READERS) and "frames" in given:
        yield Hit("frames", node, f"`{ast.unparse(node)}` reads its caller's text", blocks=True)
    elif called.startswith(_SHOWS) and "every module" in given:
        yield Hit("frames", node, f"`{ast.unparse(node)}` reads whatever is loaded", blocks=True)
    elif (called == "builtins.getattr" and named & _PEEKS and "frames" in given) or (
        called == "operator.attrgetter" and named & (_PEEKS | _CLIMBS)
    ):
        yield Hit("frames", node, f"`{ast.unparse(node)}` looks into its caller", blocks=True)


def detects_runner(seen: Seen) -> Iterator[Hit]:
    node, names = seen.node, seen.names
    match node:
        case ast.Compare(left=left, comparators=rest):
            parts = [left, *rest]
        case ast.Call(func=ast.Attribute(value=owner, attr=method), args=args) if method in _ASKS:
            parts = [owner, *args]
        case ast.Call(func=ast.Name(), args=args) if names.dotted(node.func).rpartition(".")[2] in _ASKS:
            parts = [node.func, *args]
        case ast.Subscript(value=owner, slice=key, ctx=ast.Load()):
            parts = [owner, key]
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.Sub(), right=right):
            parts = [left, right]
        case ast.Attribute() if names.dotted(node) == "sys.gettrace":
            yield Hit("detects-runner", node, "`sys.gettrace` asks whether someone watches")
            return
        case _:
            return
    origins = frozenset[str]().union(*map(names.origin, parts)) - {"class"}
    if names.dotted(parts[0]) == "os" and isinstance(node, ast.Call):
        origins |= names.origin(node.func)
    words = [text for part in parts for text in _texts(part, names)]
    grade = max((_grade(word, origins) for word in words), default=0)
    if origins and grade:
        yield Hit("detects-runner", node, f"`{ast.unparse(node)}` asks who runs it", blocks=grade > 1)


def _texts(node: ast.expr, names: Names) -> list[str]:
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return [text for part in parts for text in _texts(part, names)]
        case ast.Call(func=func, args=args) if names.dotted(func).startswith("builtins."):
            return [text for arg in args for text in _texts(arg, names)]
        case _:
            text = names.text(node)
            return [] if text is None else [text]


def _grade(word: str, origins: frozenset[str]) -> int:
    """0: nothing; 1: perhaps honest; 2: no honest program asks this."""
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
