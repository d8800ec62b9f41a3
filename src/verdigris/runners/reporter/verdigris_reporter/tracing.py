"""Records which lines of some files are executed, at next to no cost for all other files."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

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

    def start(self) -> None:
        pass

    def renew(self) -> None:
        """Call it before each test."""

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

    def start(self) -> None:
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
    """Records by `sys.settrace`, before Python 3.12."""

    def __init__(self, root: str, paths: list[str]) -> None:
        super().__init__(root, paths)
        self._left: dict[int, set[int]] = {}
        self._codes: list[Any] = []
        self._known_lines: dict[int, int] = {}
        """How many lines without news each function ran in this test."""

    def start(self) -> None:
        threading.settrace(self._call)
        sys.settrace(self._call)

    def renew(self) -> None:
        """Python drops a trace function that fails, and ours does where a test recurses too deeply."""
        self._known_lines.clear()
        if sys.gettrace() is None:
            self.cut = True
            sys.settrace(self._call)

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
        if not left or event != "call" or self._known_lines.get(id(code), 0) >= _ENOUGH:
            return None
        return self._watch(code, left)

    def _begin(self, code: Any) -> set[int]:
        """The lines of a function that were not seen yet; none for what is not to be traced."""
        self._codes.append(code)  # an id is its own only as long as it lives
        name = self.name(code.co_filename)
        return set() if name is None else _lines_of(code) - self.lines[name]

    def _watch(self, code: Any, left: set[int]) -> Any:
        seen, counts, key = self.lines[self._known[code.co_filename] or ""], self._known_lines, id(code)

        def local(frame: Any, event: str, _argument: Any) -> Any:
            if event == "line":
                if frame.f_lineno in left:
                    left.discard(frame.f_lineno)
                    seen.add(frame.f_lineno)
                else:
                    counts[key] = counts.get(key, 0) + 1
                    if counts[key] >= _ENOUGH:
                        frame.f_trace_lines = False
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


def start(settings: dict[str, Any]) -> Tracer:
    global TRACER  # noqa: PLW0603 - whoever starts a test renews it
    paths = settings.get("trace") or []
    kind = Monitor if hasattr(sys, "monitoring") else TraceFunction
    TRACER = kind(settings["worktree"], paths) if paths else Tracer("", [])
    TRACER.start()
    return TRACER
