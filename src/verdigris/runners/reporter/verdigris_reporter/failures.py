"""What is worth knowing about an exception in a test, as plain data, whichever tool runs it."""

from __future__ import annotations

import builtins
import os
import re
import sys
import unittest
from typing import TYPE_CHECKING, Any

from . import limit  # noqa: TID252 - the package has another name when injected
from .files import maker_of  # noqa: TID252 - same
from .limit import Stopped  # noqa: TID252 - same
from .subject import subject_file  # noqa: TID252 - same

if TYPE_CHECKING:
    from types import CodeType

    from .names import Names  # noqa: TID252 - same

MESSAGE = 4_000
FRAMES = 25
"""Kept at each end of a traceback."""
_TIMEOUT = re.compile(r"Timeout (\(>|>)[\d.]+s")
_NOT_OURS = ("/_pytest/", "/pluggy/", "/site-packages/", "/dist-packages/")
UNITTEST = os.path.dirname(unittest.__file__) + "/"  # noqa: PTH120 - start-up time


class Frame:
    def __init__(self, frame: Any, line: int) -> None:
        self.frame = frame
        self.filename: str = frame.f_code.co_filename
        self.line = line


def frames_of(traceback: Any) -> list[Frame]:
    frames = []
    while traceback is not None:
        frames.append(Frame(traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return frames


def own_frames(frames: list[Frame], code: CodeType | None) -> list[Frame]:
    """From the test's own frame down; from the first frame of the project when it never got there."""
    for start, frame in enumerate(frames):
        if code is not None and frame.frame.f_code is code:
            return frames[start:]
    for start, frame in enumerate(frames):
        if _ours(frame.filename):
            return frames[start:]
    return frames[-1:]


def _ours(filename: str) -> bool:
    return not filename.startswith(("<", UNITTEST)) and not any(part in filename for part in _NOT_OURS)


def failure(error: BaseException, frames: list[Frame], names: Names) -> dict[str, Any]:
    if isinstance(error, Stopped):
        frames = [frame for frame in frames if frame.filename != limit.__file__]
    places = [(names.path(file), line) for file, line in filter(None, map(_place, frames))]
    if len(places) > 2 * FRAMES:
        places = places[:FRAMES] + places[-FRAMES:]
    told = describe(error)
    if isinstance(error, Stopped):
        own = [f"{path}:{line}" for path, line in places if not path.startswith("/")]
        told["message"] += f", while it ran in {own[-1]}" if own else ", while nothing of the project ran"
    return {**told, "frames": places, "subject": subject_file(error, frames, names)}


def _place(frame: Frame) -> tuple[str, int] | None:
    """Of generated code the line that made it; nowhere, if nobody knows that."""
    return maker_of(frame.filename) if frame.filename.startswith("<") else (frame.filename, frame.line)


def describe(error: BaseException) -> dict[str, Any]:
    message = _text(error)
    kind = type(error).__name__
    if isinstance(error, Stopped) or (isinstance(error, _failed()) and _TIMEOUT.match(message)):
        return {"error": "Timeout", "bases": [], "assertion": False, "message": message}
    bases = [c.__name__ for c in type(error).__mro__ if getattr(builtins, c.__name__, None) is c]
    return {
        "error": kind,
        "bases": [name for name in bases if name not in {"object", "BaseException", "Exception"}],
        "assertion": _is_assertion(error),
        "message": message,
    }


def _failed() -> tuple[type, ...]:
    """What `pytest.fail` raises, where pytest is loaded."""
    failed = getattr(sys.modules.get("_pytest.outcomes"), "Failed", None)
    return () if failed is None else (failed,)


def _is_assertion(error: BaseException) -> bool:
    inner = getattr(error, "exceptions", None)
    if isinstance(inner, tuple) and inner:
        return all(_is_assertion(one) for one in inner)
    doctest_failure = type(error).__name__ in {"DocTestFailure", "MultipleDoctestFailures"}
    return isinstance(error, (AssertionError, *_failed())) or doctest_failure


def _text(error: BaseException) -> str:
    try:
        return str(error)[:MESSAGE]
    except Exception:  # noqa: BLE001 - a project's own __str__ may do anything
        return f"<{type(error).__name__} that cannot be printed>"
