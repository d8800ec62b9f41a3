"""What is worth knowing about one phase of one test, as plain data."""

from __future__ import annotations

import builtins
import linecache
import re
import unittest
from typing import TYPE_CHECKING, Any

import pytest

from .names import Names, code_of  # noqa: TID252 - the package has another name when injected
from .subject import subject_file  # noqa: TID252 - same

if TYPE_CHECKING:
    from types import CodeType

MESSAGE = 4_000
FRAMES = 25
"""Kept at each end of a traceback."""
_TIMEOUT = re.compile(r"Timeout (\(>|>)[\d.]+s")
_NOT_OURS = ("/_pytest/", "/pluggy/", "/site-packages/", "/dist-packages/")
_UNITTEST_SETUP = {
    "setUp": "setup",
    "asyncSetUp": "setup",
    "tearDown": "teardown",
    "asyncTearDown": "teardown",
}


class Facts:
    def __init__(self, names: Names) -> None:
        self.names = names

    def of(self, item: pytest.Item, call: pytest.CallInfo[None]) -> dict[str, Any]:
        code = code_of(getattr(item, "obj", None))
        facts: dict[str, Any] = self._definition(item, code)
        if call.excinfo is not None and not call.excinfo.errisinstance(
            (pytest.skip.Exception, unittest.SkipTest)
        ):
            frames = _frames(call.excinfo, code)
            facts["failure"] = self._failure(call.excinfo.value, frames)
            facts.update(_unittest_phase(item, call, frames, code))
        return facts

    def _definition(self, item: pytest.Item, code: CodeType | None) -> dict[str, Any]:
        path = str(item.path)
        line = (item.location[1] or 0) + 1
        if code is None or code.co_filename == path:
            return {"line": code.co_firstlineno if code else line, "in": self.names.path(path)}
        name = re.escape(getattr(item, "originalname", None) or item.name)
        if re.search(rf"^\s*(async\s+)?def\s+{name}\b", "".join(linecache.getlines(path)), re.MULTILINE):
            return {"line": line, "in": self.names.path(path)}
        return {"line": code.co_firstlineno, "in": self.names.path(code.co_filename)}

    def _failure(self, error: BaseException, frames: list[Any]) -> dict[str, Any]:
        places = [[self.names.path(f.filename), f.line] for f in frames if not f.filename.startswith("<")]
        if len(places) > 2 * FRAMES:
            places = places[:FRAMES] + places[-FRAMES:]
        subject = subject_file(error, frames[-1] if frames else None, self.names)
        return {**describe(error), "frames": places, "subject": subject}


class Frame:
    def __init__(self, frame: Any, line: int) -> None:
        self.frame = frame
        self.filename: str = frame.f_code.co_filename
        self.line = line


def describe(error: BaseException) -> dict[str, Any]:
    message = _text(error)
    kind = type(error).__name__
    if isinstance(error, pytest.fail.Exception) and _TIMEOUT.match(message):
        return {"error": "Timeout", "bases": [], "assertion": False, "message": message}
    bases = [c.__name__ for c in type(error).__mro__ if getattr(builtins, c.__name__, None) is c]
    return {
        "error": kind,
        "bases": [name for name in bases if name not in {"object", "BaseException", "Exception"}],
        "assertion": _is_assertion(error),
        "message": message,
    }


def collect_error(error: BaseException) -> dict[str, Any]:
    """What an import raised comes wrapped; the wrapped one is the fact."""
    if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
        error = error.__cause__
    told = describe(error)
    return {key: told[key] for key in ("error", "message")}


def _is_assertion(error: BaseException) -> bool:
    inner = getattr(error, "exceptions", None)
    if isinstance(inner, tuple) and inner:
        return all(_is_assertion(one) for one in inner)
    doctest_failure = type(error).__name__ in {"DocTestFailure", "MultipleDoctestFailures"}
    return isinstance(error, (AssertionError, pytest.fail.Exception)) or doctest_failure


def _text(error: BaseException) -> str:
    try:
        return str(error)[:MESSAGE]
    except Exception:  # noqa: BLE001 - a project's own __str__ may do anything
        return f"<{type(error).__name__} that cannot be printed>"


def _frames(excinfo: pytest.ExceptionInfo[BaseException], code: CodeType | None) -> list[Frame]:
    """From the test's own frame down; from the first frame of the project when it never got there."""
    frames = []
    entry: Any = excinfo.tb
    while entry is not None:
        frames.append(Frame(entry.tb_frame, entry.tb_lineno))
        entry = entry.tb_next
    for start, frame in enumerate(frames):
        if code is not None and frame.frame.f_code is code:
            return frames[start:]
    for start, frame in enumerate(frames):
        if not frame.filename.startswith("<") and not any(part in frame.filename for part in _NOT_OURS):
            return frames[start:]
    return frames[-1:]


def _unittest_phase(
    item: pytest.Item, call: pytest.CallInfo[None], frames: list[Frame], code: CodeType | None
) -> dict[str, Any]:
    """Under pytest a TestCase's setUp and tearDown run inside the call."""
    if call.when != "call" or not issubclass(getattr(item, "cls", None) or object, unittest.TestCase):
        return {}
    if any(frame.frame.f_code is code for frame in frames):
        return {}
    names = (frame.frame.f_code.co_name for frame in frames)
    phase = next((_UNITTEST_SETUP[name] for name in names if name in _UNITTEST_SETUP), None)
    return {} if phase is None else {"phase": phase}
