"""Keeps the byte code of all modules that one command loads, and its regular expressions, in one file.

A short command would spend as much time on finding and reading a hundred files as on running them, and a
tenth of its time on compiling two dozen expressions. The file lies in our package's `__pycache__`, beside
Python's own files, and is trusted like those. A module is taken from it only while its source has the same
size and time, so that an edit has an effect at once. What is missing is loaded or compiled as usual, and
written for the next command.
"""

# `os` calls instead of pathlib: this is loaded before all else.
# ruff: noqa: PTH105, PTH108, PTH110, PTH116, PTH118, PTH120, PTH123

from __future__ import annotations

import _sre  # type: ignore[import-not-found]
import marshal
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from re import _compiler, _parser  # type: ignore[attr-defined]  # the parts of `re`, from Python 3.11 on

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, TypeAlias

    Entry: TypeAlias = tuple[str, str, bool, int, int, bytes]
    """The source, Python's file of its byte code, whether it is a package, time and size of the source, and
    the code.
    """
    Compiled: TypeAlias = tuple[int, bytes, int, dict[str, int], tuple[str | None, ...]]
    """The flags, the code, the number of groups, their numbers by name, and their names by number."""
    Expression: TypeAlias = tuple[str | bytes, int]
    """A pattern, and the flags for compiling it."""

PACKAGE = "verdigris"
ROOT = os.path.dirname(os.path.dirname(__file__))
_CACHES = "__pycache__"
_HEAD = 16
"""The bytes before the code in Python's own files: a number, flags, time and size of the source,
four each.
"""
_WORD = 4
MOST_EXPRESSIONS = 100
"""If there are more, only those of the last command are kept: each project has expressions of its own."""


class CodeLoader(SourceFileLoader):
    def __init__(self, name: str, source: str, code: bytes) -> None:
        super().__init__(name, source)
        self._code = code

    def exec_module(self, module: ModuleType) -> None:
        exec(marshal.loads(self._code), module.__dict__)  # noqa: S102, S302 - as Python does with its own files


class CodeFile:
    """A finder of the modules whose code is in one file."""

    def __init__(self, file: str, root: str, package: str) -> None:
        self._file = file
        self._key = (sys.version, root, _sre.MAGIC)
        """What the code depends on.

        It contains the path of its source, so it is compiled again after a move.
        """
        self._prefix = f"{package}."
        self._known: dict[str, Entry]
        self._known, expressions = self._read()
        self._missed: list[str] = []
        self._expressions = Expressions(expressions)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002 - the signature of finders
        if not name.startswith(self._prefix):
            return None
        entry = self._known.get(name)
        if entry is None or _stamp(entry[0]) != entry[3:5]:
            self._missed.append(name)
            return None
        source, cached, is_package, *_, code = entry
        spec = ModuleSpec(name, CodeLoader(name, source, code), origin=source, is_package=is_package)
        spec.has_location = True
        spec.cached = cached
        if is_package:
            spec.submodule_search_locations = [os.path.dirname(source)]
        return spec

    def close(self) -> None:
        """Writes the file with what was missing. It only saves time, so an error of the disk is ignored."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self._expressions.leave()
        found = {name: entry for name in self._missed if (entry := _entry(sys.modules.get(name))) is not None}
        if sys.dont_write_bytecode or not (found or self._expressions.missed):
            return
        fresh = f"{self._file}.{os.getpid()}"
        try:
            with open(fresh, "wb") as file:
                whole = (self._key, {**self._known, **found}, self._expressions.describe())
                file.write(marshal.dumps(whole))
            os.replace(fresh, self._file)
        except OSError:
            if os.path.exists(fresh):
                os.unlink(fresh)

    def start(self) -> None:
        sys.meta_path.insert(0, self)
        self._expressions.enter()

    def _read(self) -> tuple[dict[str, Entry], dict[Expression, Compiled]]:
        try:
            with open(self._file, "rb") as file:
                key, known, expressions = marshal.loads(file.read())  # noqa: S302 - as in CodeLoader
        except (OSError, ValueError, EOFError, TypeError):
            return {}, {}
        return (known, expressions) if key == self._key else ({}, {})


class Expressions:
    """Compiled expressions of earlier processes, which `re` gets instead of compiling them again."""

    def __init__(self, known: dict[Expression, Compiled]) -> None:
        self._known = known
        self._used: set[Expression] = set()
        self.missed: list[Expression] = []

    def enter(self) -> None:
        self._plain = _compiler.compile
        _compiler.compile = self._compile

    def leave(self) -> None:
        if _compiler.compile == self._compile:
            _compiler.compile = self._plain

    def describe(self) -> dict[Expression, Compiled]:
        """The expressions that are known, and those that were missing."""
        new = {one: _compile_anew(one) for one in self.missed}
        many = len(self._known) + len(new) > MOST_EXPRESSIONS
        kept = {one: made for one, made in self._known.items() if not many or one in self._used}
        return kept | new

    def _compile(self, pattern: Any, flags: int = 0) -> Any:
        if type(pattern) not in {str, bytes} or flags & _compiler.SRE_FLAG_DEBUG:
            return self._plain(pattern, flags)
        asked = (pattern, int(flags))
        made = self._known.get(asked)
        if made is None:
            found = self._plain(pattern, flags)  # raises if it is no expression
            self.missed.append(asked)
            return found
        self._used.add(asked)
        all_flags, code, groups, numbers, names = made
        return _sre.compile(pattern, all_flags, list(memoryview(code).cast("I")), groups, numbers, names)


def _compile_anew(expression: Expression) -> Compiled:
    """What `re` passes to `_sre.compile`: that can be written to a file, and its result cannot."""
    pattern, flags = expression
    parsed = _parser.parse(pattern, flags)
    code = b"".join(word.to_bytes(_sre.CODESIZE, sys.byteorder) for word in _compiler._code(parsed, flags))  # noqa: SLF001
    state = parsed.state
    numbers = dict(state.groupdict)
    names = {number: name for name, number in numbers.items()}
    by_number = tuple(names.get(number) for number in range(state.groups))
    return flags | state.flags, code, state.groups - 1, numbers, by_number


def begin(command: str, root: str = ROOT, package: str = PACKAGE) -> CodeFile | None:
    """Starts to load the modules from the command's file that it loaded last time.

    None if Python keeps its own files elsewhere, or keeps none.
    """
    if sys.pycache_prefix is not None or sys.implementation.name != "cpython":
        return None
    optimized = f".opt-{sys.flags.optimize}" if sys.flags.optimize else ""
    name = f"{command}.{sys.implementation.cache_tag}{optimized}.modules"
    finder = CodeFile(os.path.join(root, _CACHES, name), root, package)
    finder.start()
    return finder


def _entry(module: ModuleType | None) -> Entry | None:
    """The entry of a loaded module.

    Python has just written or read its own file, so that has the module's code, if it names the same time and
    size.
    """
    spec = getattr(module, "__spec__", None)
    source, cached = getattr(spec, "origin", None), getattr(spec, "cached", None)
    if spec is None or source is None or cached is None:
        return None
    stamp = _stamp(source)
    try:
        with open(cached, "rb") as file:
            data = file.read()
    except OSError:
        return None
    if stamp is None:
        return None
    time, size = stamp
    words = (0, time // 1_000_000_000 & 0xFFFFFFFF, size & 0xFFFFFFFF)
    if data[_WORD:_HEAD] != b"".join(word.to_bytes(_WORD, "little") for word in words):
        return None
    return source, cached, spec.submodule_search_locations is not None, time, size, data[_HEAD:]


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
