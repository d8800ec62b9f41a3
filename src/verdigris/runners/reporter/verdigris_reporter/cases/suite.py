"""A suite that says which test is next before the fixtures of its class and module are set up."""

from __future__ import annotations

import unittest
from typing import Any


class Suite(unittest.TestSuite):
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
