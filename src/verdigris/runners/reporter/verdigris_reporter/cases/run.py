"""One run of unittest, from its arguments to its exit code."""

from __future__ import annotations

import functools
import os
import sys
import unittest
from typing import TYPE_CHECKING, Any

from ..channel import CHANNEL  # noqa: TID252 - the package has another name when injected
from ..limit import Limit  # noqa: TID252 - same
from ..names import Names, Selection  # noqa: TID252 - same
from ..preload import compare_environment  # noqa: TID252 - same
from .collection import Loading, Naming, ids  # noqa: TID252 - same
from .discovery import Finder, parse  # noqa: TID252 - same
from .result import Book, Printed, Result  # noqa: TID252 - same

if TYPE_CHECKING:
    from .collection import Case  # noqa: TID252 - same


PASSED, FAILED, INTERRUPTED, USAGE_ERROR, NOTHING = 0, 1, 2, 4, 5
"""As pytest means them, whatever this Python's unittest says."""


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
        return _run(options, settings, Names(settings.get("worktree", ""), here))
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(options: Any, settings: dict[str, Any], names: Names) -> int:
    before = dict(os.environ)
    naming = Naming(names)
    loading = Loading(names, naming, Selection(settings.get("select") or []), CHANNEL.send)
    loading.load(Finder(options).find(options.paths), options.wanted, options.pattern)
    if loading.others:
        CHANNEL.send_ids("others", loading.others)
    CHANNEL.send_ids("collected", list(ids(loading.suite, loading.cases)))
    compare_environment(before)
    if options.collect_only:
        return PASSED
    if not loading.cases:
        return FAILED if loading.errors else NOTHING
    limit = Limit(settings.get("limit"))
    book = Book(names, loading.cases, _nameless(naming), Printed(), CHANNEL.send, limit)
    passed = _run_tests(options, loading, book)
    return PASSED if passed and not loading.errors else FAILED


def _run_tests(options: Any, loading: Loading, book: Book) -> bool:
    runner = unittest.TextTestRunner(
        stream=book.printed.stream,
        resultclass=functools.partial(Result, book),
        buffer=options.buffer,
        tb_locals=options.tb_locals,
        warnings=None if sys.warnoptions else "default",
    )
    try:
        return runner.run(loading.suite).wasSuccessful()
    finally:
        book.printed.end()


def _nameless(naming: Naming) -> Any:
    """The case of a test that a suite made only while it ran."""

    def named(test: Any) -> Case:
        module = sys.modules[type(test).__module__]
        return naming.case(test, module, getattr(module, "__file__", None) or "")

    return named
