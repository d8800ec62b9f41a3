"""One run of unittest, from its arguments to its exit code.

If no start folder is given, it runs what `python -m unittest` finds from the current folder, and also files
`test_*.py` in folders that unittest does not search, because they are no packages. Such a file is loaded as
if discovery had started in the nearest of those folders.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import unittest
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from .. import uses  # noqa: TID252 - the package has another name when injected
from ..channel import CHANNEL  # noqa: TID252 - same
from ..code_loading import TEXTS  # noqa: TID252 - same
from ..limit import Limit  # noqa: TID252 - same
from ..names import AskedTests, WorktreeNames  # noqa: TID252 - same
from ..preload import compare_environment  # noqa: TID252 - same
from .collection import Found, Loading, Naming, ids  # noqa: TID252 - same
from .result import Printed, Result, ResultBook  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .collection import Case  # noqa: TID252 - same


PASSED, FAILED, INTERRUPTED, USAGE_ERROR, NOTHING = 0, 1, 2, 4, 5
"""Exit codes, with pytest's meaning. Those of unittest depend on the version of Python."""


def run(argv: list[str]) -> int:
    settings = CHANNEL.settings
    here = os.getcwd()  # noqa: PTH109 - start-up time
    try:
        options = parse(argv)
    except SystemExit:
        return USAGE_ERROR
    version = ".".join(map(str, sys.version_info[:3]))
    CHANNEL.send("start", python=version, rootdir=here, collect_only=options.collect_only)
    try:
        return _run(options, settings, WorktreeNames(settings.get("worktree", ""), here))
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(options: Any, settings: dict[str, Any], names: WorktreeNames) -> int:
    before = dict(os.environ)
    naming = Naming(names)
    loading = Loading(names, naming, AskedTests(settings.get("select") or []), CHANNEL.send)
    loading.load(Finder(options).find(options.paths), options.wanted, options.pattern)
    if loading.others:
        CHANNEL.send_ids("others", loading.others)
    CHANNEL.send_ids("collected", list(ids(loading.suite, loading.cases)))
    compare_environment(before)
    if options.collect_only:
        return PASSED
    if not loading.cases:
        return FAILED if loading.errors else NOTHING
    if uses.RECORDER is not None:
        uses.RECORDER.begin_tests()
    limit = Limit(settings.get("limit"))
    book = ResultBook(names, loading.cases, name_late_tests(naming), Printed(), CHANNEL.send, limit)
    passed = run_suite(options, loading.suite, book).wasSuccessful()
    return PASSED if passed and not loading.errors else FAILED


def run_suite(options: Any, suite: unittest.TestSuite, book: ResultBook) -> unittest.TestResult:
    runner = unittest.TextTestRunner(
        stream=book.printed.stream,
        resultclass=functools.partial(Result, book),
        buffer=options.buffer,
        tb_locals=options.tb_locals,
        warnings=None if sys.warnoptions else "default",
    )
    try:
        return runner.run(suite)
    finally:
        book.printed.end()


def name_late_tests(naming: Naming) -> Any:
    """A function that makes the case of a test which a suite made only while it ran."""

    def make_case(test: Any) -> Case:
        module = sys.modules[type(test).__module__]
        return naming.case(test, module, getattr(module, "__file__", None) or "")

    return make_case


PATTERN = "test*.py"


def parse(argv: list[str]) -> Any:
    """Parses the user's options, then `--`, then the files and folders that were asked for.

    `-f` has no effect: a verdict needs every result.
    """
    cut = argv.index("--") if "--" in argv else len(argv)
    given, paths = argv[:cut], argv[cut + 1 :]
    parser = argparse.ArgumentParser(prog="python -m unittest", add_help=False, allow_abbrev=False)
    parser.add_argument("-s", "--start-directory", dest="start")
    parser.add_argument("-t", "--top-level-directory", dest="top")
    parser.add_argument("-p", "--pattern")
    parser.add_argument("-k", dest="wanted", action="append")
    parser.add_argument("-b", "--buffer", action="store_true")
    parser.add_argument("--locals", dest="tb_locals", action="store_true")
    parser.add_argument("--durations")
    parser.add_argument("--collect-only", action="store_true")
    for ignored in (("-v", "--verbose"), ("-q", "--quiet"), ("-f", "--failfast"), ("-c", "--catch")):
        parser.add_argument(*ignored, action="store_true")
    if given[:1] == ["discover"]:
        del given[0]
        for name in ("start", "pattern", "top"):
            parser.add_argument(f"{name}_", nargs="?")
    options = parser.parse_args(given)
    for name in ("start", "pattern", "top"):
        setattr(options, name, getattr(options, name) or getattr(options, f"{name}_", None))
    options.wanted = [word if "*" in word else f"*{word}*" for word in options.wanted or ()] or None
    options.paths = paths
    return options


_INIT = "__init__.py"
_STRICT_PATTERN = "test_*.py"
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "build", "dist"})


class Finder:
    """Finds the files with tests, by the rules at the top of this module."""

    def __init__(self, options: Any) -> None:
        self._here = os.getcwd()  # noqa: PTH109 - as everywhere here: start-up time
        self._pattern = options.pattern or PATTERN
        self._chosen = bool(options.pattern)
        start = options.start or options.top
        self._start = None if start is None else _folder(start)
        self._top = _folder(options.top) if options.top else self._start

    def find(self, paths: list[str]) -> list[Found]:
        """Finds all test files, or those among `paths` and below the folders among them."""
        found = {}
        for path in paths or [self._start or self._here]:
            for file in self._files(os.path.abspath(path)):  # noqa: PTH100
                found[file] = self._describe_file(file)
        return list(found.values())

    def _files(self, path: str) -> Iterator[str]:
        if not os.path.isdir(path):  # noqa: PTH112
            if os.path.isfile(path):  # noqa: PTH113
                yield from _packages_around(path, self._top_of(path))
                yield path
            return
        for file in _walk(path):
            if os.path.basename(file) == _INIT:  # noqa: PTH119
                if self._is_reached(file) and _mentions(file, b"load_tests", b"TestCase"):
                    yield file
            elif self._is_test(file):
                yield file

    def _is_test(self, path: str) -> bool:
        name = os.path.basename(path)  # noqa: PTH119
        if not name[: -len(".py")].isidentifier() or not fnmatchcase(name, self._pattern):
            return False
        if self._is_reached(path):
            return True
        return self._start is None and (self._chosen or fnmatchcase(name, _STRICT_PATTERN))

    def _is_reached(self, path: str) -> bool:
        """Whether unittest's discovery reaches a file: every folder below the start folder is a package."""
        start = self._start or self._here
        folder = os.path.dirname(path)  # noqa: PTH120
        while folder != start:
            if not _is_package(folder):
                return False
            folder = os.path.dirname(folder)  # noqa: PTH120
        return True

    def _describe_file(self, path: str) -> Found:
        top = self._top_of(path)
        stem = path[len(top) : -len(".py")].strip("/")
        if stem.endswith("/__init__"):
            stem = os.path.dirname(stem)  # noqa: PTH120
        return Found(path, stem.replace("/", "."), top)

    def _top_of(self, path: str) -> str:
        if self._top is not None and self._is_reached(path):
            return self._top
        folder = os.path.dirname(path)  # noqa: PTH120
        while _is_package(folder) and folder not in {self._here, "/"}:
            folder = os.path.dirname(folder)  # noqa: PTH120
        return folder


def _folder(name: str) -> str:
    """The absolute path of a folder, or of a package given by its dotted name."""
    return os.path.abspath(name if os.path.isdir(name) else name.replace(".", "/"))  # noqa: PTH100, PTH112


def _is_package(folder: str) -> bool:
    return os.path.isfile(f"{folder}/{_INIT}")  # noqa: PTH113


def _packages_around(path: str, top: str) -> Iterator[str]:
    """The packages around a file that have a `load_tests` of their own, the outermost first."""
    folder = os.path.dirname(path)  # noqa: PTH120
    if len(folder) > len(top):
        yield from _packages_around(folder, top)
        if _mentions(f"{folder}/{_INIT}", b"load_tests"):
            yield f"{folder}/{_INIT}"


def _mentions(path: str, *words: bytes) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            text = file.read() or TEXTS.get(os.path.realpath(path), b"")
    except OSError:
        return False
    return any(word in text for word in words)


def _walk(top: str) -> Iterator[str]:
    """The Python files below a folder in the order of discovery; a package's `__init__.py` comes first."""
    seen: set[str] = set()
    waiting = [top]
    while waiting:
        path = waiting.pop()
        if not os.path.isdir(path):  # noqa: PTH112
            yield path
            continue
        real = os.path.realpath(path)
        if real not in seen:
            seen.add(real)
            waiting += reversed(list(_list_folder(path)))


def _list_folder(folder: str) -> Iterator[str]:
    """The Python files and the folders in a folder."""
    try:
        names = sorted(os.listdir(folder), key=lambda name: (name != _INIT, name))  # noqa: PTH208
    except OSError:
        return
    for name in names:
        path = f"{folder}/{name}"
        is_module = name.endswith(".py") and os.path.isfile(path)  # noqa: PTH113
        if is_module or (os.path.isdir(path) and not _is_skipped(path, name)):  # noqa: PTH112
            yield path


def _is_skipped(path: str, name: str) -> bool:
    hidden = name.startswith(".") or name in _SKIPPED_FOLDERS
    return hidden or os.path.exists(f"{path}/pyvenv.cfg")  # noqa: PTH110
