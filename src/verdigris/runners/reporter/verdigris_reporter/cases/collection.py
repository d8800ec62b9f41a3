"""Loads the files that contain tests, and keeps the tests that were asked for.

Each test has the id `<file>::<class>::<method>`, as under pytest.
"""

from __future__ import annotations

import importlib
import os
import sys
import unittest
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.util import strclass

from ..failures import describe  # noqa: TID252 - the package has another name when injected
from ..names import code_of, definition  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, ModuleType

    from ..names import AskedTests, WorktreeNames  # noqa: TID252 - same


_GENERIC = {"doctest", "unittest.case"}
"""Modules with classes whose name says nothing about the test."""


class Found(NamedTuple):
    """A file with tests, before it is loaded."""

    path: str
    module: str
    top: str
    """The folder that must be on `sys.path` for the import."""


class Case(NamedTuple):
    """A loaded test, with its id and its place."""

    test: Any
    """Kept alive, because tests are looked up by the identity of this object."""
    id: str
    holder: str
    """The name of its class, as unittest writes it."""
    module: str
    path: str
    method: str
    code: CodeType | None

    def definition(self, names: WorktreeNames) -> dict[str, Any]:
        line = self.code.co_firstlineno if self.code is not None else 0
        return definition(names, self.path, line, self.method, self.code)


class Naming:
    """Gives tests their ids."""

    def __init__(self, names: WorktreeNames) -> None:
        self._names = names
        self._seen: Counter[str] = Counter()

    def case(self, test: Any, module: ModuleType, path: str) -> Case:
        """`module`, `path`: from which the test was loaded.

        If several tests have one name, the later ones get a number.
        """
        kind = type(test)
        method = getattr(test, "_testMethodName", "")
        function = getattr(test, "_testFunc", None) or getattr(test, method, None)
        if kind.__module__ in _GENERIC or not method:
            name = method = str(test.id() if hasattr(test, "id") else test)
        else:
            name = f"{_class(kind, module)}::{method}"
        found = f"{self._names.path(path)}::{name}"
        self._seen[found] += 1
        number = self._seen[found]
        return Case(
            test=test,
            id=found if number == 1 else f"{found}[{number}]",
            holder=strclass(kind),
            module=kind.__module__,
            path=path,
            method=method,
            code=code_of(function),
        )


def _class(kind: type, module: ModuleType) -> str:
    """The name of a class in its module; if it has none there, its qualified name."""
    if getattr(module, kind.__name__, None) is kind:
        return str(kind.__name__)
    known = (name for name, value in vars(module).items() if value is kind)
    return next(known, kind.__qualname__.rpartition("<locals>.")[2].replace(".", "::"))


class NamedSuite(unittest.TestSuite):
    """A suite that announces the next test before it sets up the fixtures of the test's class and module."""

    _next: Any = None

    def _handleModuleFixture(self, test: Any, result: Any) -> None:  # noqa: N802 - unittest's
        self._next = test
        super()._handleModuleFixture(test, result)  # type: ignore[misc] # not in its stubs
        self._next = None

    def _handleModuleTearDown(self, result: Any) -> None:  # noqa: N802 - same
        super()._handleModuleTearDown(result)  # type: ignore[misc] # same
        _announce(result, self._next)

    def _handleClassSetUp(self, test: Any, result: Any) -> None:  # noqa: N802 - same
        _announce(result, test)
        super()._handleClassSetUp(test, result)  # type: ignore[misc] # same


def _announce(result: Any, test: Any) -> None:
    begin = getattr(result, "begin", None)
    if begin is not None and test is not None:
        begin(test)


class Loading:
    """Loads tests into `suite`, and reports files that cannot be loaded."""

    def __init__(
        self, names: WorktreeNames, naming: Naming, selection: AskedTests, send: Callable[..., None]
    ) -> None:
        self._names = names
        self._naming = naming
        self._selection = selection
        self._send = send
        self._loader: Any = unittest.TestLoader()
        self._loader.suiteClass = NamedSuite
        self._taken: list[str] = []
        self.suite = NamedSuite()
        self.cases: dict[int, Case] = {}
        """The tests that were kept, by the identity of their objects."""
        self.others: list[str] = []
        """Ids of the tests that were not asked for."""
        self.errors = 0

    def load(self, found: list[Found], wanted: list[str] | None, pattern: str | None) -> None:
        """`wanted`: patterns of test names.

        `pattern`: a pattern of file names, which a `load_tests` may use.
        """
        self._loader.testNamePatterns = wanted
        for file in found:
            if not file.path.startswith(tuple(self._taken)):
                self._load(file, pattern)

    def _load(self, file: Found, pattern: str | None) -> None:
        if file.top not in sys.path:
            sys.path.insert(0, file.top)
        self._loader._top_level_dir = file.top  # noqa: SLF001 - for a `load_tests` that discovers more
        try:
            module = _import_file(file)
            loaded = self._loader.loadTestsFromModule(module, pattern=pattern)
        except unittest.SkipTest:
            return
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a module under test may raise anything
            self._report_error(file.path, error)
            return
        if hasattr(module, "load_tests") and hasattr(module, "__path__"):
            self._taken.append(os.path.dirname(file.path) + "/")  # noqa: PTH120 - as everywhere here
        kept = self._keep_asked(loaded, file, module)
        if kept is not None:
            self.suite.addTest(kept)

    def _keep_asked(self, test: Any, file: Found, module: ModuleType) -> Any:
        """Removes the tests that were not asked for from a suite. Returns what is left, or None."""
        if isinstance(test, unittest.BaseTestSuite):
            inner = [self._keep_asked(one, file, module) for one in test]
            test._tests = [one for one in inner if one is not None]  # noqa: SLF001 - keeps the suite's own class
            return test if test._tests else None  # noqa: SLF001
        broken = getattr(test, "_exception", None)
        if type(test).__name__ == "_FailedTest" and broken is not None:
            self._report_error(file.path, broken)
            return None
        case = self._naming.case(test, *_origin_of(test, file, module))
        if self._selection.wanted and not self._selection.keeps(case.id):
            self.others.append(case.id)
            return None
        self.cases[id(test)] = case
        return test

    def _report_error(self, path: str, error: BaseException) -> None:
        told = describe(error)
        self.errors += 1
        self._send("collect-error", path=self._names.path(path), error=told["error"], message=told["message"])


def _import_file(file: Found) -> ModuleType:
    module = importlib.import_module(file.module)
    origin = getattr(module, "__file__", None) or ""
    if os.path.realpath(origin) != os.path.realpath(file.path):
        raise ImportError(
            f"{file.module!r} is already the module of {origin}: give one of the files another name, or the "
            "folders of both an __init__.py",
            name=file.module,
        )
    return module


def _origin_of(test: Any, file: Found, module: ModuleType) -> tuple[ModuleType, str]:
    """The module and file that a test belongs to: a package may load tests of its modules by `load_tests`."""
    if hasattr(module, "__path__"):
        own = sys.modules.get(type(test).__module__)
        path = getattr(own, "__file__", None) or ""
        if own is not None and path.startswith(os.path.dirname(file.path) + "/"):  # noqa: PTH120
            return own, path
    return module, file.path


def ids(suite: Any, cases: dict[int, Case]) -> Iterator[str]:
    """The ids of the tests, in the order in which they will run."""
    for test in suite:
        if isinstance(test, unittest.BaseTestSuite):
            yield from ids(test, cases)
        elif id(test) in cases:
            yield cases[id(test)].id
