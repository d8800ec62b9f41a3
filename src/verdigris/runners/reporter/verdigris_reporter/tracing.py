"""Records which lines of some files are executed, at next to no cost for all other files."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from .code_loading import OwnFiles  # noqa: TID252 - the package has another name when injected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Tracer:
    """Records nothing: used where no file is to be traced, and as the base of those that record."""

    def __init__(self, root: str, paths: list[str]) -> None:
        self._names = {os.path.realpath(os.path.join(root, path)): path for path in paths}  # noqa: PTH118 - start-up time
        self._known: dict[str, str | None] = {}
        self.lines: dict[str, set[int]] = {path: set() for path in paths}
        self.cut = False
        """Whether Python dropped the tracer in a test: lines that ran later in it are missing."""
        self.hear: Callable[[Any], None] | None = None
        """Gets the code of each traced function that is called, if the tracer hears of calls."""

    def start(self, *, windows: bool) -> None:
        """`windows`: whoever runs the tests opens a `window` wherever code of the project may run."""

    @contextlib.contextmanager
    def window(self) -> Iterator[None]:
        yield

    def renew(self) -> None:
        """Call it before each test."""

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


class Monitor(Tracer):
    """Records by `sys.monitoring` (Python 3.12 and newer).

    Each line costs once; coverage tools are not disturbed.
    """

    def start(self, *, windows: bool) -> None:  # noqa: ARG002 - it costs nothing elsewhere
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore] # typed for 3.11
        # The ids without a meaning in PEP 669 first; 1 is coverage's.
        self._tool = next(number for number in (3, 4, 0, 2) if monitoring.get_tool(number) is None)
        monitoring.use_tool_id(self._tool, "verdigris")
        events = monitoring.events

        def begin(code: Any, _offset: int) -> Any:
            if self.name(code.co_filename) is not None:
                monitoring.set_local_events(self._tool, code, events.LINE)
            return monitoring.DISABLE

        def line(code: Any, number: int) -> Any:
            name = self.name(code.co_filename)
            if name is not None:
                self.lines[name].add(number)
            return monitoring.DISABLE

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
        self._own = OwnFiles(root)
        self._ours = self._call
        self._loading: Any = None
        """The code of the module for which it listens."""
        self._windows = self._lost = False

    def start(self, *, windows: bool) -> None:
        self._windows = windows
        threading.settrace(self._ours)
        sys.settrace(None if windows else self._ours)
        if windows:
            sys.addaudithook(self._on_event)

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

    def renew(self) -> None:
        """Python drops a trace function that fails, and ours does where a test recurses too deeply."""
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

    def _on_event(self, event: str, args: Any) -> None:
        if event == "exec" and self._windows and sys.gettrace() is None:
            name = getattr(args[0], "co_filename", "")
            if isinstance(name, str) and self._own.has(name):
                self._loading = args[0]
                sys.settrace(self._ours)

    def _call(self, frame: Any, event: str, _argument: Any) -> Any:
        code = frame.f_code
        name = self.name(code.co_filename)
        loads = code is self._loading
        if event != "call" or (name is None and not loads):
            return None
        if name is not None and self.hear is not None:
            self.hear(code)
        seen = set() if name is None else self.lines[name]
        if not loads and seen.issuperset(_lines_of(code)):
            return None  # all its lines are known: this call costs nothing more

        def local(frame: Any, event: str, _argument: Any) -> Any:
            if event == "line":
                seen.add(frame.f_lineno)
            elif event == "return" and loads:
                self._loading = None
                self._close()
            return local

        return local


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
    TRACER.start(windows=windows)
    return TRACER
