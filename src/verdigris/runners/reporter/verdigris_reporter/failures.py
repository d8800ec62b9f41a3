"""Describes an exception in a test as plain data: its kind, its place, and the file of its subject.

The subject is the object that lacked something: its file says whether the project's source is to blame.
"""

from __future__ import annotations

import builtins
import linecache
import os
import re
import sys
import unittest
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import limit  # noqa: TID252 - the package has another name when injected
from .data import asked_data  # noqa: TID252 - same
from .files import maker_of  # noqa: TID252 - same
from .limit import Stopped  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

    from .names import WorktreeNames  # noqa: TID252 - same


MESSAGE = 4_000
"""The most characters of an error's message."""
FRAMES = 25
"""The most frames that are kept at each end of a traceback."""
_TIMEOUT = re.compile(r"Timeout (\(>|>)[\d.]+s")
_OUTSIDE = ("/_pytest/", "/pluggy/", "/site-packages/", "/dist-packages/")
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
    """The frames from the test's own down; if the test was never reached, from the first of the project."""
    for start, frame in enumerate(frames):
        if code is not None and frame.frame.f_code is code:
            return frames[start:]
    for start, frame in enumerate(frames):
        if _is_in_project(frame.filename):
            return frames[start:]
    return frames[-1:]


def _is_in_project(filename: str) -> bool:
    return not filename.startswith(("<", UNITTEST)) and not any(part in filename for part in _OUTSIDE)


def failure(error: BaseException, frames: list[Frame], names: WorktreeNames) -> dict[str, Any]:
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
    """The file and line of a frame; for generated code the line that made the code, or None if unknown."""
    return maker_of(frame.filename) if frame.filename.startswith("<") else (frame.filename, frame.line)


def describe(error: BaseException) -> dict[str, Any]:
    """The kind of an error, its built-in base classes, its message, and whether it is a failed assertion."""
    message = _text(error)
    kind = type(error).__name__
    if isinstance(error, Stopped) or (isinstance(error, _failure_types()) and _TIMEOUT.match(message)):
        return {"error": "Timeout", "bases": [], "assertion": False, "message": message}
    bases = [c.__name__ for c in type(error).__mro__ if getattr(builtins, c.__name__, None) is c]
    return {
        "error": kind,
        "bases": [name for name in bases if name not in {"object", "BaseException", "Exception"}],
        "assertion": _is_assertion(error),
        "message": message,
    }


def _failure_types() -> tuple[type, ...]:
    """The type that `pytest.fail` raises; nothing if pytest is not loaded."""
    failed = getattr(sys.modules.get("_pytest.outcomes"), "Failed", None)
    return () if failed is None else (failed,)


def _is_assertion(error: BaseException) -> bool:
    inner = getattr(error, "exceptions", None)
    if isinstance(inner, tuple) and inner:
        return all(_is_assertion(one) for one in inner)
    doctest_failure = type(error).__name__ in {"DocTestFailure", "MultipleDoctestFailures"}
    return isinstance(error, (AssertionError, *_failure_types())) or doctest_failure


def _text(error: BaseException) -> str:
    try:
        return str(error)[:MESSAGE]
    except Exception:  # noqa: BLE001 - a project's own __str__ may do anything
        return f"<{type(error).__name__} that cannot be printed>"


_ARGUMENTS = re.compile(
    r"^([\w.<>]+)\(\) (?:got (?:an? |some |multiple )|missing |takes )"
    r"|^Can't instantiate abstract class ([\w.]+)"
)
_TYPES = re.compile(r"'([\w.]+)'")
_LACKS = re.compile(
    r"object has no attribute|^type object|^module|object is not|object does(?:n't| not) support|"
    r"not supported between instances of|unsupported operand type|^object of type|bad operand type|"
    r"argument of type|context manager protocol|asynchronous"
)
_NONE = "NoneType"
_CHAIN = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def subject_file(error: BaseException, frames: list[Any], names: WorktreeNames) -> str | None:
    """The project's file of the object that lacked an attribute, an operation or a key.

    Or that took other arguments.

    `frames`: from the test's own down to the one that raised.
    """
    lookup = isinstance(error, (KeyError, IndexError))
    if not lookup and not isinstance(error, (AttributeError, TypeError)):
        return None
    frame = frames[-1] if frames else None
    if lookup or _NONE in _text(error):
        # A library complains that it was given None, or lacks a key: the project's deepest frame asked.
        own = [each for each in frames if not names.path(each.filename).startswith(("/", "<"))]
        frame = own[-1] if own else frame
    try:
        found = _files_of_data(frame) if lookup else _files(error, frame)
        return next((names.path(path) for path in found if not names.path(path).startswith("/")), None)
    except Exception:  # noqa: BLE001 - objects under test may do anything when looked at
        return None


def _files(error: BaseException, frame: Any) -> Iterator[str]:
    owner = getattr(error, "obj", None)
    owner = _getattr_owner(frame) if owner is None else owner
    if owner is not None:
        yield from _file(owner)
        return
    message = str(error)
    if _NONE in message and frame is not None:
        # A function of the source returned None: it is called on this line, or in this function.
        for thing in [*_on_line(frame), *_in_function(frame)]:
            yield from (path for path in _file(thing) if path != frame.filename)
        return
    callee = _ARGUMENTS.match(message)
    lacks = _LACKS.search(message)
    for thing in [*_on_line(frame), *_in_function(frame)]:
        if callee:
            yield from _files_of_callee(thing, callee.group(1) or callee.group(2))
        elif lacks:
            yield from _files_by_name(thing, set(_TYPES.findall(message)))
    for name in [callee.group(1) or callee.group(2)] if callee else _TYPES.findall(message) if lacks else []:
        yield from _in_loaded_modules(name)


def _files_of_data(frame: Any) -> Iterator[str]:
    """The files that define what the failing line looked a key up in, or that made it."""
    if frame is None:
        return
    for chain, made in asked_data(frame.filename, frame.line, frame.frame.f_code.co_name):
        things = list(_resolve(frame.frame, chain))
        if len(things) != chain.count(".") + 1:
            continue
        yield from (path for thing in (things[-1:] if made else things) for path in _file(thing))
        if not made and isinstance(things[-1], (dict, list, tuple)):
            yield from _holders(things[-1], frame.filename)


def _holders(data: Any, but: str) -> Iterator[str]:
    """The files of other modules that have these data under a name."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if path and path != but and any(one is data for one in list(vars(module).values())):
            yield path


def _getattr_owner(frame: Any) -> Any:
    """The object whose `__getattr__` raised: before Python 3.10 the error does not name it."""
    code = frame.frame.f_code if frame is not None else None
    if code is None or code.co_name != "__getattr__":
        return None
    return frame.frame.f_locals.get(code.co_varnames[0])


def _file(thing: Any) -> Iterator[str]:
    """The file of a module, or of the module that defines a class, a function or an object's class."""
    if not isinstance(thing, ModuleType):
        named = thing if isinstance(thing, type) or hasattr(thing, "__code__") else type(thing)
        module = sys.modules.get(getattr(named, "__module__", None) or "")
        if module is None:
            return
        thing = module
    path = getattr(thing, "__file__", None)
    if path:
        yield path
    else:
        for folder in list(getattr(thing, "__path__", []))[:1]:
            yield f"{folder}/__init__.py"


def _on_line(frame: Any) -> Iterator[Any]:
    """The objects that the line of a frame names."""
    if frame is not None:
        line = linecache.getline(frame.filename, frame.line)
        for chain in _CHAIN.findall(line):
            yield from _resolve(frame.frame, chain)


def _in_function(frame: Any) -> Iterator[Any]:
    """The objects that the function of a frame names."""
    if frame is not None:
        code = frame.frame.f_code
        for name in (*code.co_names, *code.co_varnames, *code.co_freevars):
            yield from _resolve(frame.frame, name)


def _resolve(frame: Any, chain: str) -> Iterator[Any]:
    """Each object along `a.b.c`. It is looked up in dictionaries, so that no code of the project runs."""
    first, *rest = chain.split(".")
    scope = frame.f_locals if first in frame.f_locals else frame.f_globals
    if first not in scope:
        return
    thing = scope[first]
    yield thing
    for name in rest:
        found = [space[name] for space in _spaces(thing) if name in space]
        if not found:
            return
        thing = found[0]
        yield thing


def _spaces(thing: Any) -> Iterator[dict[str, Any]]:
    own = getattr(thing, "__dict__", None)
    if isinstance(own, dict):
        yield own
    for kind in (thing if isinstance(thing, type) else type(thing)).__mro__:
        yield dict(kind.__dict__)


def _files_of_callee(thing: Any, callee: str) -> Iterator[str]:
    """The file of `thing` if it, or a method of it, has the name of the callee."""
    last = callee.rpartition(".")[2]
    thing = getattr(thing, "__func__", thing)
    if hasattr(thing, "__code__"):
        if callee in {thing.__qualname__, thing.__name__}:
            yield from _file(thing)
        return
    for kind in (thing if isinstance(thing, type) else type(thing)).__mro__:
        if kind is object:
            continue
        if callee in {kind.__name__, kind.__qualname__} or (
            last in kind.__dict__
            and callee
            in {
                last,
                f"{kind.__name__}.{last}",
                f"{kind.__qualname__}.{last}",
            }
        ):
            yield from _file(kind)


def _files_by_name(thing: Any, names: set[str]) -> Iterator[str]:
    kind = thing if isinstance(thing, type) else type(thing)
    if names & {kind.__name__, kind.__qualname__}:
        yield from _file(kind)
    if isinstance(thing, ModuleType) and thing.__name__ in names:
        yield from _file(thing)


def _in_loaded_modules(name: str) -> Iterator[str]:
    parts = name.split(".")
    for module in list(sys.modules.values()):
        thing: Any = module
        for part in parts:
            thing = getattr(thing, "__dict__", {}).get(part)
        if thing is not None and getattr(thing, "__module__", None) == getattr(module, "__name__", ""):
            yield from _file(module)
