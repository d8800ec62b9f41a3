"""Records which lines of some files are executed, at next to no cost for all other files.

Also, what code of tests these files call by a name of their own: a double that stands in the place of source.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from types import FunctionType
from typing import TYPE_CHECKING, Any

from . import audit_events  # noqa: TID252 - the package has another name when injected
from .code_loading import OwnFiles  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .settings_watch import SettingsWatch  # noqa: TID252 - as above

_MOCKS = f"{os.sep}unittest{os.sep}mock.py"
_ENOUGH = 1_000
"""After so many lines of a function that brought nothing new, it is not watched any more in this test.

A loop would become many times slower. Lines that count as idle are asked again by making them fail.
"""


class Tracer:
    """Records nothing: used where no file is to be traced, and as the base of those that record."""

    def __init__(self, root: str, paths: list[str]) -> None:
        self._names = {os.path.realpath(os.path.join(root, path)): path for path in paths}  # noqa: PTH118 - start-up time
        self._known: dict[str, str | None] = {}
        self.lines: dict[str, set[int]] = {path: set() for path in paths}
        self.cut = False
        """Whether Python dropped the tracer in a test: lines that ran later in it are missing."""
        self.hear: Callable[[int], None] | None = None
        """Gets the id of the code of each traced function that is called, if the tracer hears of calls."""
        self.watch: SettingsWatch | None = None
        self.test = ""
        """The test that runs."""
        self.doubles: set[tuple[str, str, str, int, str, int]] = set()
        """Test, name, file and line of the called code, file and line of the call."""
        self._own = OwnFiles(root)
        self._pairs: set[Any] = set()
        self._may_stand_in: dict[str, bool] = {}

    def start(self, *, windows: bool = False) -> None:
        """`windows`: whoever runs the tests opens a `window` wherever code of the project may run."""

    @contextlib.contextmanager
    def window(self) -> Iterator[None]:
        yield

    def renew(self, test: str = "") -> None:
        """Call it before each test."""
        self.test = test

    def has_lost(self) -> bool:
        """Whether it may have missed calls since it was asked this."""
        return False

    def stop(self) -> dict[str, set[int]]:
        return self.lines

    def name(self, filename: str) -> str | None:
        try:
            return self._known[filename]
        except KeyError:
            name = self._known[filename] = self._names.get(os.path.realpath(filename))
            return name

    def note_double(self, frame: Any) -> None:
        """Notes the call that begins with this frame if a traced file calls a double by a name of its own."""
        back, code = frame.f_back, frame.f_code
        by = None if back is None else self.name(back.f_code.co_filename)
        if by is None or not self.may_stand_in(code.co_filename):
            return
        pair = code, back.f_code, self.test
        if pair in self._pairs:
            return
        self._pairs.add(pair)
        if name := _name_of_double(frame, back):
            path = self._own.relative(code.co_filename)
            self.doubles.add((self.test, name, path, code.co_firstlineno, by, back.f_lineno))

    def may_stand_in(self, filename: str) -> bool:
        """Whether the file is one of the project's that is not traced, or that of the library's mocks."""
        try:
            return self._may_stand_in[filename]
        except KeyError:
            may = filename.endswith(_MOCKS) or (self._own.has(filename) and self.name(filename) is None)
            self._may_stand_in[filename] = may
            return may


class Monitor(Tracer):
    """Records by `sys.monitoring` (Python 3.12 and newer).

    Each line costs once; coverage tools are not disturbed.
    """

    def start(self, *, windows: bool = False) -> None:  # noqa: ARG002 - it costs nothing elsewhere
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore] # typed for 3.11
        # The ids without a meaning in PEP 669 first; 1 is coverage's.
        self._tool = next(number for number in (3, 4, 0, 2) if monitoring.get_tool(number) is None)
        monitoring.use_tool_id(self._tool, "verdigris")
        events = monitoring.events

        def begin(code: Any, _offset: int) -> Any:
            if self.name(code.co_filename) is not None:
                ends = events.PY_RETURN | events.PY_YIELD if self.watch is not None else 0
                monitoring.set_local_events(self._tool, code, events.LINE | ends)
            elif self.may_stand_in(code.co_filename):
                self.note_double(sys._getframe(1))  # noqa: SLF001 - as `inspect`
                return None
            return monitoring.DISABLE

        def line(code: Any, number: int) -> Any:
            name = self.name(code.co_filename)
            if name is not None:
                self.lines[name].add(number)
                if self.watch is not None and self.watch.begin_line(sys._getframe(1), name):  # noqa: SLF001
                    return None
            return monitoring.DISABLE

        def end(_code: Any, _offset: int, _value: Any) -> None:
            if self.watch is not None:
                self.watch.end_call(sys._getframe(1))  # noqa: SLF001 - the frame that returns

        monitoring.register_callback(self._tool, events.PY_RETURN, end)
        monitoring.register_callback(self._tool, events.PY_YIELD, end)
        monitoring.register_callback(self._tool, events.PY_START, begin)
        monitoring.register_callback(self._tool, events.LINE, line)
        monitoring.set_events(self._tool, events.PY_START)

    def stop(self) -> dict[str, set[int]]:
        sys.monitoring.free_tool_id(self._tool)  # type: ignore[attr-defined,unused-ignore] # typed for 3.11
        return self.lines


class TraceFunction(Tracer):
    """Records by `sys.settrace`, before Python 3.12.

    Each call costs, and a test tool makes thousands for a test. With windows it listens only while a window
    is open or a module of the project is loaded.
    """

    def __init__(self, root: str, paths: list[str]) -> None:
        super().__init__(root, paths)
        self._left: dict[int, set[int]] = {}
        """The lines that were not seen yet, by the id of their function."""
        self._codes: list[Any] = []
        self._known_lines: dict[int, int] = {}
        """How many lines without news each function ran in this test."""
        self._ours = self._call
        self._loading: Any = None
        """The code of the module for which it listens."""
        self._windows = self._lost = False

    def start(self, *, windows: bool = False) -> None:
        self._windows = windows
        threading.settrace(self._ours)
        sys.settrace(None if windows else self._ours)
        if windows:
            audit_events.listen({"exec": self._begin_loading})

    @contextlib.contextmanager
    def window(self) -> Iterator[None]:
        opens = self._windows and sys.gettrace() is None
        if opens:
            sys.settrace(self._ours)
        self._lost = self._lost or sys.gettrace() != self._ours
        try:
            yield
        finally:
            if opens:
                self._close()

    def renew(self, test: str = "") -> None:
        """Python drops a trace function that fails, and ours does where a test recurses too deeply."""
        self.test = test
        self._known_lines.clear()
        if sys.gettrace() is None and not self._windows:
            self.cut = True
            sys.settrace(self._ours)

    def has_lost(self) -> bool:
        lost = self._lost or not (self._windows or sys.gettrace() == self._ours)
        self._lost = False
        return lost

    def stop(self) -> dict[str, set[int]]:
        """Returns the lines that ran; nothing if another tracer, such as a coverage tool, replaced ours."""
        if sys.gettrace() not in (None, self._ours):
            return {}
        self.cut = self.cut or (sys.gettrace() is None and not self._windows)
        self._windows = False
        sys.settrace(None)
        return self.lines

    def _close(self) -> None:
        if sys.gettrace() == self._ours:
            sys.settrace(None)
        else:
            self.cut = self._lost = True

    def _begin_loading(self, args: Any) -> None:
        if self._windows and sys.gettrace() is None:
            name = getattr(args[0], "co_filename", "")
            if isinstance(name, str) and self._own.has(name):
                self._loading = args[0]
                sys.settrace(self._ours)

    def _call(self, frame: Any, event: str, _argument: Any) -> Any:
        if event != "call":
            return None
        code = frame.f_code
        name, loads = self.name(code.co_filename), code is self._loading
        if name is None:
            if self.may_stand_in(code.co_filename):
                self.note_double(frame)
            return self._end_loading if loads else None
        key = id(code)
        if self.hear is not None:
            self.hear(key)
        if key not in self._left:
            self._codes.append(code)  # an id is its own only as long as it lives
            self._left[key] = _lines_of(code) - self.lines[name]
        if loads or (self._left[key] and self._known_lines.get(key, 0) < _ENOUGH):
            return self._watch(name, key, loads=loads)
        return None

    def _end_loading(self, _frame: Any, event: str, _argument: Any) -> Any:
        if event == "return":
            self._loading = None
            self._close()
        return self._end_loading

    def _watch(self, name: str, key: int, *, loads: bool) -> Any:
        seen, left, counts, watch = self.lines[name], self._left[key], self._known_lines, self.watch

        def local(frame: Any, event: str, _argument: Any) -> Any:
            if event == "line":
                if watch is not None:
                    watch.begin_line(frame, name)
                if frame.f_lineno in left:
                    left.discard(frame.f_lineno)
                    seen.add(frame.f_lineno)
                else:
                    counts[key] = counts.get(key, 0) + 1
                    if counts[key] >= _ENOUGH:
                        frame.f_trace_lines = False
            elif event == "return":
                if watch is not None:
                    watch.end_call(frame)
                if loads:
                    self._end_loading(frame, event, None)
            return local

        return local


def _name_of_double(frame: Any, back: Any) -> str:
    """The name of what is called in the caller's own module; after a dot: in a class of that module."""
    code, names, scope = frame.f_code, back.f_code.co_names, back.f_globals
    own = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    for name in names:
        held = scope.get(name)
        if held is not None and (held is own or _runs(held, code)):
            return str(name)
    kinds = () if own is None else type(own).__mro__
    if any(kind.__module__ == scope.get("__name__") for kind in kinds):
        for name in names:
            held = next((kind.__dict__[name] for kind in kinds if name in kind.__dict__), None)
            if _runs(held, code):
                return f".{name}"
    return ""


def _runs(held: Any, code: Any) -> bool:
    return type(held) is FunctionType and held.__code__ is code


def _lines_of(code: Any) -> set[int]:
    """The lines of a function.

    Before Python 3.10 they are unknown: then a line number that no function has.
    """
    every = code.co_lines() if hasattr(code, "co_lines") else [(0, 0, -1)]
    return {line for _, _, line in every if line}


TRACER = Tracer("", [])
"""The one that was started last."""


def start(settings: dict[str, Any], *, windows: bool = False) -> Tracer:
    """`windows`: see `Tracer.start`."""
    global TRACER  # noqa: PLW0603 - whoever starts a test renews it
    paths = settings.get("trace") or []
    kind = Monitor if hasattr(sys, "monitoring") else TraceFunction
    TRACER = kind(settings["worktree"], paths) if paths else Tracer("", [])
    if settings.get("watch"):
        from .settings_watch import SettingsWatch  # noqa: TID252 - the package has another name when injected

        TRACER.watch = SettingsWatch(settings["watch"])
    TRACER.start(windows=windows)
    return TRACER


def report(tracer: Tracer, send: Callable[..., None]) -> None:
    """Stops the tracer and sends what it saw."""
    for path, lines in tracer.stop().items():
        send("lines", path=path, lines=sorted(lines), cut=tracer.cut)
    if tracer.doubles:
        send("doubles", calls=sorted(tracer.doubles))
    for left in tracer.watch.report() if tracer.watch is not None else ():
        send("left", **left)
