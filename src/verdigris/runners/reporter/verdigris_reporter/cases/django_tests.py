"""Runs Django's tests: `manage.py test` itself, with a test runner that loads and reports tests as we do.

Settings, databases, checks and the order of tests stay those of the project and its own test runner.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import traceback
from typing import TYPE_CHECKING, Any

from .. import uses  # noqa: TID252 - the package has another name when injected
from ..channel import CHANNEL  # noqa: TID252 - same
from ..failures import describe  # noqa: TID252 - same
from ..limit import Limit  # noqa: TID252 - same
from ..names import AskedTests, WorktreeNames  # noqa: TID252 - same
from .collection import Loading, NamedSuite, Naming, ids  # noqa: TID252 - same
from .result import Printed, ResultBook  # noqa: TID252 - same
from .run import FAILED, INTERRUPTED, NOTHING, PASSED, Finder, name_late_tests, parse, run_suite  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = "manage.py"


def run(argv: list[str]) -> int:
    """`argv`: options for `manage.py test`, then `--`, then the files and folders that were asked for."""
    global _job  # noqa: PLW0603 - Django finds the runner by the name of this module
    here = os.getcwd()  # noqa: PTH109 - start-up time
    job = _job = _Job(argv, here)
    version = ".".join(map(str, sys.version_info[:3]))
    CHANNEL.send("start", python=version, rootdir=here, collect_only=job.options.collect_only)
    sys.argv = [SCRIPT, "test", "--noinput", f"--testrunner={__name__}.{_CLASS}", *job.given]
    try:
        runpy.run_path(SCRIPT, run_name="__main__")
    except SystemExit as ended:
        if job.code is None and ended.code:
            job.code = FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the project may raise anything while it is set up
        job.report_error(error)
        return FAILED
    return PASSED if job.code is None else job.code


class _Job:
    """One run, from its arguments to its exit code."""

    def __init__(self, argv: list[str], here: str) -> None:
        cut = argv.index("--") if "--" in argv else len(argv)
        own = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        own.add_argument("--collect-only", action="store_true")
        named, self.given = own.parse_known_args(argv[:cut])
        chosen = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        chosen.add_argument("-p", "--pattern")
        chosen.add_argument("-k", dest="wanted", action="append", default=[])
        known, _ = chosen.parse_known_args(self.given)
        words = [*(["-p", known.pattern] if known.pattern else []), *(f"-k{word}" for word in known.wanted)]
        listed = ["--collect-only"] if named.collect_only else []
        self.options: Any = parse([*words, *listed, *argv[cut:]])
        self.code: int | None = None
        self._names = WorktreeNames(CHANNEL.settings.get("worktree", ""), here)
        self._naming = Naming(self._names)
        self._loading = Loading(
            self._names, self._naming, AskedTests(CHANNEL.settings.get("select") or []), CHANNEL.send
        )

    def load(self, runner: Any) -> NamedSuite:
        loading, options = self._loading, self.options
        loading.load(Finder(options).find(options.paths), options.wanted, options.pattern)
        suite = NamedSuite(_in_order(runner, list(_flatten(loading.suite))))
        if loading.others:
            CHANNEL.send_ids("others", loading.others)
        CHANNEL.send_ids("collected", list(ids(suite, loading.cases)))
        if not loading.cases:
            self.code = FAILED if loading.errors else NOTHING
        return suite

    def run(self, suite: NamedSuite) -> Any:
        if uses.RECORDER is not None:
            uses.RECORDER.begin_tests()
        limit = Limit(CHANNEL.settings.get("limit"))
        late = name_late_tests(self._naming)
        book = ResultBook(self._names, self._loading.cases, late, Printed(), CHANNEL.send, limit)
        result = run_suite(self.options, suite, book)
        if self.code is None:
            self.code = PASSED if result.wasSuccessful() and not self._loading.errors else FAILED
        return result

    def report_error(self, error: Exception) -> None:
        """The project could not be set up: the file that raised stands for all tests."""
        traceback.print_exc()
        told = describe(error)
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        own = [path for file in files if not os.path.isabs(path := self._names.path(file))]  # noqa: PTH117
        path = next((path for path in reversed(own) if "site-packages" not in path), SCRIPT)
        CHANNEL.send("collect-error", path=path, error=told["error"], message=told["message"])


_job: _Job | None = None
_CLASS = "ProjectRunner"


def __getattr__(name: str) -> Any:
    """Makes the runner when Django asks for it: only then the project's settings are known."""
    if name != _CLASS or _job is None:
        raise AttributeError(name)
    from django.conf import settings  # type: ignore[import-not-found] # the project's
    from django.test.utils import get_runner  # type: ignore[import-not-found] # same

    job = _job

    class ProjectRunner(get_runner(settings)):  # type: ignore[misc] # of the settings
        def build_suite(self, *_labels: Any, **_more: Any) -> NamedSuite:
            return job.load(self)

        def run_suite(self, suite: NamedSuite, **_more: Any) -> Any:
            return job.run(suite)

        def run_tests(self, labels: Any, *more: Any, **named: Any) -> int:
            if not job.options.collect_only:
                return int(super().run_tests(labels, *more, **named) or 0)
            self.setup_test_environment()
            job.load(self)
            job.code = PASSED
            return 0

    return ProjectRunner


def _in_order(runner: Any, tests: list[Any]) -> list[Any]:
    """The tests that Django would run, in its order; before Django 4 in the order of their files."""
    from django.test import runner as django_runner  # type: ignore[import-not-found] # same

    if not hasattr(django_runner, "reorder_tests"):
        return tests
    tags, left_out = getattr(runner, "tags", None), getattr(runner, "exclude_tags", None)
    if tags or left_out:
        tests = list(django_runner.filter_tests_by_tags(tests, tags or set(), left_out or set()))
    return list(
        django_runner.reorder_tests(tests, runner.reorder_by, reverse=getattr(runner, "reverse", False))
    )


def _flatten(suite: Any) -> Iterator[Any]:
    for test in suite:
        if hasattr(test, "__iter__"):
            yield from _flatten(test)
        else:
            yield test
