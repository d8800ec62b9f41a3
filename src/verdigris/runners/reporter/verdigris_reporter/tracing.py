"""Records which lines of some files are executed, at next to no cost for all other files.

Also, what code of tests these files call by a name of their own: a double that stands in the place of source.
"""

from __future__ import annotations

import os
import sys
import threading
from types import FunctionType
from typing import TYPE_CHECKING, Any

from .code_loading import OwnFiles  # noqa: TID252 - the package has another name when injected

if TYPE_CHECKING:
    from collections.abc import Callable

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
        self.heard: Any = None
        """Called with the code of each call in a traced file, before Python 3.12."""
        self.watch: SettingsWatch | None = None
        self.test = ""
        """The test that runs."""
        self.doubles: set[tuple[str, str, str, int, str, int]] = set()
        """Test, name, file and line of the called code, file and line of the call."""
        self._own = OwnFiles(root)
        self._pairs: set[Any] = set()
        self._may_stand_in: dict[str, bool] = {}

    def start(self) -> None:
        pass

    def renew(self, test: str = "") -> None:
        """Call it before each test."""
        self.test = test

    def is_listening(self) -> bool:
        """Whether no other tool took our place."""
        return True

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

    def start(self) -> None:
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
    """Records by `sys.settrace`, before Python 3.12."""

    def __init__(self, root: str, paths: list[str]) -> None:
        super().__init__(root, paths)
        self._left: dict[int, set[int] | None] = {}
        self._codes: list[Any] = []
        self._known_lines: dict[int, int] = {}
        """How many lines without news each function ran in this test."""

    def start(self) -> None:
        threading.settrace(self._call)
        sys.settrace(self._call)

    def renew(self, test: str = "") -> None:
        """Python drops a trace function that fails, and ours does where a test recurses too deeply."""
        self.test = test
        self._known_lines.clear()
        if sys.gettrace() is None:
            self.cut = True
            sys.settrace(self._call)

    def is_listening(self) -> bool:
        return sys.gettrace() == self._call

    def stop(self) -> dict[str, set[int]]:
        """Returns the lines that ran; nothing if another tracer, such as a coverage tool, replaced ours."""
        if sys.gettrace() not in (None, self._call):
            return {}
        self.cut = self.cut or sys.gettrace() is None
        sys.settrace(None)
        return self.lines

    def _call(self, frame: Any, event: str, _argument: Any) -> Any:
        code = frame.f_code
        try:
            left = self._left[id(code)]
        except KeyError:
            left = self._left[id(code)] = self._begin(code)
        if event != "call":
            return None
        if left is None:
            if self.may_stand_in(code.co_filename):
                self.note_double(frame)
            return None
        if self.heard is not None:
            self.heard(code)
        if not left or self._known_lines.get(id(code), 0) >= _ENOUGH:
            return None
        return self._watch(code, left)

    def _begin(self, code: Any) -> set[int] | None:
        """The lines of a function that were not seen yet; None for what is not to be traced."""
        self._codes.append(code)  # an id is its own only as long as it lives
        name = self.name(code.co_filename)
        return None if name is None else _lines_of(code) - self.lines[name]

    def _watch(self, code: Any, left: set[int]) -> Any:
        seen, counts, key = self.lines[self._known[code.co_filename] or ""], self._known_lines, id(code)

        watch, name = self.watch, self._known[code.co_filename] or ""

        def local(frame: Any, event: str, _argument: Any) -> Any:
            if watch is not None and event == "return":
                watch.end_call(frame)
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


def start(settings: dict[str, Any]) -> Tracer:
    global TRACER  # noqa: PLW0603 - whoever starts a test renews it
    paths = settings.get("trace") or []
    kind = Monitor if hasattr(sys, "monitoring") else TraceFunction
    TRACER = kind(settings["worktree"], paths) if paths else Tracer("", [])
    if settings.get("watch"):
        from .settings_watch import SettingsWatch  # noqa: TID252 - the package has another name when injected

        TRACER.watch = SettingsWatch(settings["watch"])
    TRACER.start()
    return TRACER


def report(tracer: Tracer, send: Callable[..., None]) -> None:
    """Stops the tracer and sends what it saw."""
    for path, lines in tracer.stop().items():
        send("lines", path=path, lines=sorted(lines), cut=tracer.cut)
    if tracer.doubles:
        send("doubles", calls=sorted(tracer.doubles))
    for left in tracer.watch.report() if tracer.watch is not None else ():
        send("left", **left)
