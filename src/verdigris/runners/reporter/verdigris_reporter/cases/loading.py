"""Loads the files that hold tests, and keeps of them what was asked for."""

from __future__ import annotations

import importlib
import os
import sys
import unittest
from typing import TYPE_CHECKING, Any

from ..failures import describe  # noqa: TID252 - the package has another name when injected
from .suite import Suite  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from ..names import Names  # noqa: TID252 - same
    from ..selection import Selection  # noqa: TID252 - same
    from .finding import Found  # noqa: TID252 - same
    from .naming import Case, Naming  # noqa: TID252 - same


class Loading:
    def __init__(self, names: Names, naming: Naming, selection: Selection, send: Callable[..., None]) -> None:
        self._names = names
        self._naming = naming
        self._selection = selection
        self._send = send
        self._loader: Any = unittest.TestLoader()
        self._loader.suiteClass = Suite
        self._taken: list[str] = []
        self.suite = Suite()
        self.cases: dict[int, Case] = {}
        """By the identity of the test."""
        self.others: list[str] = []
        self.errors = 0

    def load(self, found: list[Found], wanted: list[str] | None, pattern: str | None) -> None:
        """`wanted`: patterns of names; `pattern`: of files, for a `load_tests` to use."""
        self._loader.testNamePatterns = wanted
        for file in found:
            if not file.path.startswith(tuple(self._taken)):
                self._load(file, pattern)

    def _load(self, file: Found, pattern: str | None) -> None:
        if file.top not in sys.path:
            sys.path.insert(0, file.top)
        self._loader._top_level_dir = file.top  # noqa: SLF001 - for a `load_tests` that discovers more
        try:
            module = _imported(file)
            loaded = self._loader.loadTestsFromModule(module, pattern=pattern)
        except unittest.SkipTest:
            return
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a module under test may raise anything
            self._cannot(file.path, error)
            return
        if hasattr(module, "load_tests") and hasattr(module, "__path__"):
            self._taken.append(os.path.dirname(file.path) + "/")  # noqa: PTH120 - as everywhere here
        kept = self._kept(loaded, file, module)
        if kept is not None:
            self.suite.addTest(kept)

    def _kept(self, test: Any, file: Found, module: ModuleType) -> Any:
        """What is left of a suite or a test, if anything is."""
        if isinstance(test, unittest.BaseTestSuite):
            inner = [self._kept(one, file, module) for one in test]
            test._tests = [one for one in inner if one is not None]  # noqa: SLF001 - keeps the suite's own class
            return test if test._tests else None  # noqa: SLF001
        broken = getattr(test, "_exception", None)
        if type(test).__name__ == "_FailedTest" and broken is not None:
            self._cannot(file.path, broken)
            return None
        case = self._naming.case(test, *_home(test, file, module))
        if self._selection.wanted and not self._selection.keeps(case.id):
            self.others.append(case.id)
            return None
        self.cases[id(test)] = case
        return test

    def _cannot(self, path: str, error: BaseException) -> None:
        told = describe(error)
        self.errors += 1
        self._send("collect-error", path=self._names.path(path), error=told["error"], message=told["message"])


def _imported(file: Found) -> ModuleType:
    module = importlib.import_module(file.module)
    origin = getattr(module, "__file__", None) or ""
    if os.path.realpath(origin) != os.path.realpath(file.path):
        raise ImportError(
            f"{file.module!r} is already the module of {origin}: give one of the files another name, or the "
            "folders of both an __init__.py",
            name=file.module,
        )
    return module


def _home(test: Any, file: Found, module: ModuleType) -> tuple[ModuleType, str]:
    """A package that loads its tests itself has them from its modules."""
    if hasattr(module, "__path__"):
        own = sys.modules.get(type(test).__module__)
        path = getattr(own, "__file__", None) or ""
        if own is not None and path.startswith(os.path.dirname(file.path) + "/"):  # noqa: PTH120
            return own, path
    return module, file.path


def ids(suite: Any, cases: dict[int, Case]) -> Iterator[str]:
    """In the order in which they will run."""
    for test in suite:
        if isinstance(test, unittest.BaseTestSuite):
            yield from ids(test, cases)
        elif id(test) in cases:
            yield cases[id(test)].id
