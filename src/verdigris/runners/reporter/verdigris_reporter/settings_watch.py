"""Watches what the whole process is set to, and which of some lines of source leaves it changed.

Each setting is read by public functions, before a line runs and after it. A change that is taken back before
the run ends is none.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from . import audit_events  # noqa: TID252 - the package has another name when injected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_SIGNALS = ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGCHLD", "SIGUSR1", "SIGUSR2", "SIGPIPE")
_HOOKS = (
    "excepthook",
    "displayhook",
    "unraisablehook",
    "stdin",
    "stdout",
    "stderr",
    "meta_path",
    "path_hooks",
)
_CODECS = ("strict", "ignore", "replace", "backslashreplace", "xmlcharrefreplace", "surrogateescape")
_TWISTS, _WORDS = 20, 624
"""So many rounds of numbers that one line may draw are followed; one round has so many."""
_RESTORED_IN_TESTS = frozenset(("warnings.filters", "threading.excepthook", "sys.unraisablehook"))
_RESTORED_AT_END = ("the working directory",)
"""What pytest itself takes back, after each phase of a test and at the end of its run."""
_LONGEST = 60
_MOST = 5
"""So often each line is watched."""


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


_ABSENT = _Absent()


class SettingsWatch:
    """`lines`: by file, as the tracer names it."""

    def __init__(self, lines: dict[str, list[int]]) -> None:
        self._runs = {(name, line): 0 for name, own in lines.items() for line in own}
        self._thread = threading.get_ident()
        self._going: list[tuple[Any, str]] = []
        """The lines that are running, the innermost last, each with its frame."""
        self._last: list[dict[str, Any]] = []
        self._left: dict[str, tuple[str, Any, Any]] = {}
        self._firm: set[str] = set()
        """Of these, what only the runner takes back."""
        self._library = [name for name in getattr(sys, "stdlib_module_names", ()) if name in sys.modules]
        self._environment = dict(os.environ)
        self._moved = False
        audit_events.listen(dict.fromkeys(_ENVIRONMENT, self._note_move))

    def _note_move(self, _args: Any) -> None:
        self._moved = True

    def begin_line(self, frame: Any, name: str) -> bool:
        """The line of the frame is about to run. Returns whether it shall be told again."""
        if threading.get_ident() != self._thread:
            return True
        line = frame.f_lineno
        runs = self._runs.get((name, line), _MOST)
        is_read = self._end(frame)
        if runs < _MOST:
            self._runs[name, line] = runs + 1
            if not is_read:
                self._compare()
            self._going.append((frame, f"{name}:{line}"))
        return runs < _MOST

    def end_call(self, frame: Any) -> None:
        """The frame returns or yields."""
        self._end(frame)

    def _end(self, frame: Any) -> bool:
        """Whether a line of the frame was running, so that all is read anew."""
        if not self._going or self._going[-1][0] is not frame:
            return False
        self._compare()
        self._going.pop()
        return True

    def _compare(self) -> None:
        """Reads all, and notes what the line that is running has changed."""
        before_line, self._last = self._last, self._read()
        if not self._going:
            return
        at = self._going[-1][1]
        for template, old, new in zip(_TEMPLATES, before_line, self._last):  # noqa: B905 - before Python 3.10
            for key in {**old, **new} if old is not new else ():
                before, after = old.get(key, _ABSENT), new.get(key, _ABSENT)
                if before is not after and not _is_same(key, before, after):
                    self._note(template.format(key), at, before, after)

    def end_test(self) -> None:
        """A test and its fixtures are over."""
        names = [name for name in _RESTORED_AT_END if name in self._left]
        now = self._named() if names else {}
        self._firm |= {name for name in names if _stays(name, self._left[name][2], now.get(name, _ABSENT))}

    def report(self) -> Iterator[dict[str, str]]:
        now = self._named() if self._left else {}
        for name, (at, before, after) in self._left.items():
            if name in self._firm | _RESTORED_IN_TESTS or _stays(name, after, now.get(name, _ABSENT)):
                yield {"name": name, "before": _show(name, before), "after": _show(name, after), "at": at}

    def _note(self, name: str, at: str, before: Any, after: Any) -> None:
        first, old = self._left[name][:2] if name in self._left else (at, before)
        if _is_same(name, old, after):
            self._left.pop(name, None)
        else:
            self._left[name] = (first, old, after)

    def _named(self) -> dict[str, Any]:
        groups = zip(_TEMPLATES, self._read())  # noqa: B905 - same
        return {template.format(key): value for template, group in groups for key, value in group.items()}

    def _read(self) -> list[dict[str, Any]]:
        """One dictionary for each of the templates."""
        if self._moved:
            self._moved, self._environment = False, dict(os.environ)
        modules = sys.modules
        library = {name: modules[name] for name in self._library if name in modules}
        return [self._environment, vars(builtins).copy(), library, _read_settings()]


_ENVIRONMENT = frozenset(("os.putenv", "os.unsetenv"))
_TEMPLATES = ("os.environ[{!r}]", "builtins.{}", "sys.modules[{!r}]", "{}")


def _read_settings() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for read in _READERS:
        with contextlib.suppress(Exception):  # a project may have replaced anything
            found.update(read())
    return found


def _is_same(name: str, one: Any, other: Any) -> bool:
    if one is other:
        return True
    if name.endswith("random"):
        return one is _ABSENT or other is _ABSENT or one == other or _follows(one, other)
    if isinstance(one, _VALUES) and isinstance(other, _VALUES):
        return type(one) is type(other) and one == other
    return one is other


_VALUES = (int, float, str, bytes, tuple, type(None))


def _follows(one: Any, other: Any) -> bool:
    """Whether a generator comes from one state to the other by drawing numbers."""
    from random import Random

    generator = Random()  # noqa: S311 - it shows what numbers come next
    generator.setstate((3, (*one, _WORDS), None))
    for _ in range(_TWISTS):
        generator.getrandbits(32 * _WORDS)
        if generator.getstate()[1][:_WORDS] == other:
            return True
    return False


def _stays(name: str, after: Any, now: Any) -> bool:
    """A generator that was seeded goes on from there."""
    return name.endswith("random") or _is_same(name, after, now)


def _show(name: str, value: Any) -> str:
    if name.endswith("random"):
        return "a state of its own"
    if isinstance(value, _VALUES) or value is _ABSENT:
        text = repr(value)
    else:
        text = getattr(value, "__qualname__", "") or f"another {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _module(name: str) -> Any:
    return sys.modules.get(name)


def _of_interpreter() -> dict[str, Any]:
    return {
        "the recursion limit": sys.getrecursionlimit(),
        "the switch interval": sys.getswitchinterval(),
        "sys.path": tuple(map(str, sys.path)),
        "sys.dont_write_bytecode": sys.dont_write_bytecode,
        "garbage collection": gc.isenabled(),
        "its thresholds": gc.get_threshold(),
        "threading.excepthook": threading.excepthook,
        "the working directory": os.getcwd(),  # noqa: PTH109 - start-up time
        "the time zone": time.tzname,
        **{f"sys.{name}": getattr(sys, name, None) for name in _HOOKS},
    }


def _of_logging() -> dict[str, Any]:
    logging = _module("logging")
    if logging is None:
        return {}
    root = logging.getLogger()
    return {
        "logging.disable": root.manager.disable,
        "the root logger's level": root.level,
        "the root logger's handlers": tuple(type(handler).__name__ for handler in root.handlers),
        "logging.raiseExceptions": logging.raiseExceptions,
    }


def _of_warnings() -> dict[str, Any]:
    warnings = _module("warnings")
    if warnings is None:
        return {}
    return {
        "warnings.filters": tuple(map(str, warnings.filters)),
        "warnings.showwarning": warnings.showwarning,
    }


def _of_numbers() -> dict[str, Any]:
    found: dict[str, Any] = {}
    if (decimal := _module("decimal")) is not None:
        context = decimal.getcontext()
        traps = tuple(trap.__name__ for trap, on in context.traps.items() if on)
        found["the decimal context"] = (context.prec, context.rounding, context.Emin, context.Emax, *traps)
    if (random := _module("random")) is not None:
        found["random"] = random.getstate()[1][:_WORDS]
    if (numpy := _module("numpy")) is not None:
        found["numpy's errors"] = tuple(numpy.geterr().items())
        state = numpy.random.get_state()
        found |= {"numpy.random": tuple(map(int, state[1]))} if state[0] == "MT19937" else {}
    return found


def _of_system() -> dict[str, Any]:
    found: dict[str, Any] = {}
    if (locale := _module("locale")) is not None:
        found["the locale"] = locale.setlocale(locale.LC_ALL)
    if (socket := _module("socket")) is not None:
        found["the default timeout of sockets"] = socket.getdefaulttimeout()
    if (signal := _module("signal")) is not None:
        numbers = {name: getattr(signal, name, None) for name in _SIGNALS}
        found |= {name: signal.getsignal(number) for name, number in numbers.items() if number is not None}
    if (codecs := _module("codecs")) is not None:
        found |= {f"the error handler {name!r}": codecs.lookup_error(name) for name in _CODECS}
    return found


_READERS: tuple[Callable[[], dict[str, Any]], ...] = (
    _of_interpreter,
    _of_logging,
    _of_warnings,
    _of_numbers,
    _of_system,
)
