"""Opens windows for the tracer wherever pytest may run code of the project, besides loading it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from . import tracing  # noqa: TID252 - the package has another name when injected
from .code_loading import OwnFiles  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager


class TracingWindows:
    """A plugin: its wrappers are the innermost ones."""

    def __init__(self, worktree: str) -> None:
        self._inside = OwnFiles(worktree)
        self._own_hooks: set[str] = set()
        self._open: list[tuple[str, AbstractContextManager[None]]] = []

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Generator[None, Any, None]:
        with tracing.TRACER.window():
            yield

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Generator[None, Any, None]:
        with tracing.TRACER.window():
            yield

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_teardown(self) -> Generator[None, Any, None]:
        with tracing.TRACER.window():
            yield

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_generate_tests(self) -> Generator[None, Any, None]:
        """The ids of cases may be made by functions of the project."""
        with tracing.TRACER.window():
            yield

    def pytest_plugin_registered(self, plugin: Any, manager: pytest.PytestPluginManager) -> None:
        """Hooks that the project has itself are watched from then on."""
        names = self._hooks_of(plugin)
        if names and not self._own_hooks:
            manager.add_hookcall_monitoring(self._begin_hook, self._end_hook)
        self._own_hooks |= names

    def _hooks_of(self, plugin: Any) -> set[str]:
        home = plugin if hasattr(plugin, "__file__") else sys.modules.get(type(plugin).__module__)
        file = getattr(home, "__file__", None)
        own = isinstance(file, str) and self._inside.has(file)
        return {name for name in dir(plugin) if name.startswith("pytest_")} if own else set()

    def _begin_hook(self, name: str, _implementations: Any, _arguments: Any) -> None:
        if name in self._own_hooks:
            window = tracing.TRACER.window()
            window.__enter__()
            self._open.append((name, window))

    def _end_hook(self, _outcome: Any, name: str, _implementations: Any, _arguments: Any) -> None:
        if self._open and self._open[-1][0] == name:
            self._open.pop()[1].__exit__(None, None, None)
