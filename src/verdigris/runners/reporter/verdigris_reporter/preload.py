"""Loads the installed modules that an earlier run used, so that forked runs need not load them again."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from .code_loading import INSTALLED  # noqa: TID252 - the package has another name when injected

if TYPE_CHECKING:
    from collections.abc import Iterator


_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""Variables that keep numerical libraries from starting threads: a fork does not have its parent's threads.
"""


_CHANGED: list[bool] = []


def compare_environment(before: dict[str, str]) -> None:
    """Notes whether loading the tests changed the environment; `before`: the variables before that."""
    _CHANGED.append(dict(os.environ) != before)


def shareable() -> list[str]:
    """Modules that later runs may load in advance; none if loading the project changed the environment."""
    return [] if any(_CHANGED) or not _CHANGED else installed()


def installed() -> list[str]:
    """Names of the loaded modules that are installed, in the order in which they were loaded."""
    return [name for name, module in list(sys.modules.items()) if _is_installed(name, module)]


def _is_installed(name: str, module: Any) -> bool:
    spec, file = getattr(module, "__spec__", None), getattr(module, "__file__", None)
    return isinstance(file, str) and file.startswith(INSTALLED) and getattr(spec, "name", None) == name


def load_plugins() -> None:
    """Loads the plugins that pytest loads for every run."""
    with contextlib.suppress(Exception):  # a plugin that cannot be loaded here will say so in the run
        from _pytest.config import default_plugins

        for name in ("pdb", "_pytest._argcomplete", *(f"_pytest.{name}" for name in default_plugins)):
            __import__(name)
        shorten_lists_of_names()
        from importlib import metadata

        metadata.version("pluggy")  # each run asks for it; folders that did not change are not listed again
        resolve_module_files()


def resolve_module_files() -> None:
    """Has `inspect` resolve the file of each loaded module now, not at the first failure of each run."""
    import inspect

    inspect.getmodule(compile("", "<no module's>", "exec"))


def prepare_configuration() -> None:
    """Registers pytest's own plugins now, for the first `pytest.main` of each forked process.

    A run that disables some of them, or that has PYTEST_DEBUG set, registers them itself.
    """
    with contextlib.suppress(Exception):  # a pytest that works in another way is left as it is
        from pathlib import Path

        import pytest
        from _pytest import config as pytest_config

        make: Any = pytest_config.get_config
        before, sys.argv = sys.argv, [os.path.join(os.path.dirname(pytest.__file__), "__main__.py")]  # noqa: PTH118, PTH120 - as `-m` has it
        try:
            prepared: list[Any] = [make([])]
        finally:
            sys.argv = before

        def get_config(args: Any = None, plugins: Any = None, **options: Any) -> Any:
            words = [str(word) for word in args or ()]
            usual = not any("no:" in word for word in words) and "PYTEST_DEBUG" not in os.environ
            if not (usual and prepared and options.keys() <= {"prog"}):
                return make(args, plugins, **options)
            config = prepared.pop()
            config.invocation_params = config.InvocationParams(
                args=args or (), plugins=plugins, dir=Path.cwd()
            )
            if options.get("prog"):
                config._parser.prog = options["prog"]  # noqa: SLF001 - it is what pytest sets, too
            return config

        pytest_config.get_config = get_config


def shorten_lists_of_names() -> None:
    """Lets `dir` leave out names of pytest's own modules that are neither hooks nor fixtures.

    In each run pytest looks for both in every name of every plugin, which took a third of a short run.
    Functions of the standard library stay: a library such as freezegun looks for those.
    """
    from _pytest.config import default_plugins

    for name in default_plugins:
        module = sys.modules.get(f"_pytest.{name}")
        if module is not None and "__dir__" not in vars(module):
            names = [name for name, value in vars(module).items() if _may_be_looked_for(name, value)]
            module.__dir__ = names.copy  # type: ignore[method-assign]  # a function of the module, by PEP 562


def _may_be_looked_for(name: str, value: object) -> bool:
    if name.startswith("pytest_") or hasattr(value, "_pytestfixturefunction"):
        return True
    if name.startswith("__") or isinstance(value, ModuleType):
        return False
    return not (isinstance(value, (type, FunctionType)) and str(value.__module__).startswith("_pytest."))


def preload(names: list[str]) -> int:
    """Loads modules and returns how many; raises whatever they raise, or if one of them started a thread."""
    count = 0
    with installed_imports_only():
        for name in names:
            if name not in sys.modules:
                importlib.import_module(name)
                count += 1
    if count and _threads() > 1:
        raise RuntimeError("a module started a thread")
    if count:
        _silence_late_rewrites()
    return count


@contextlib.contextmanager
def installed_imports_only() -> Iterator[None]:
    """Inside the `with` block only installed modules can be imported, by Python's own finders."""
    path, finders, kept = list(sys.path), list(sys.meta_path), dict(os.environ)
    sys.path[:] = [entry for entry in path if f"{entry}/".startswith(INSTALLED) or entry.endswith(".zip")]
    sys.meta_path[:] = [BuiltinImporter, FrozenImporter, PathFinder]
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        sys.path[:], sys.meta_path[:] = path, finders
        os.environ.clear()
        os.environ.update(kept)


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - start-up time
    except OSError:
        import threading

        return threading.active_count()


def _silence_late_rewrites() -> None:
    """Silences pytest's warning about plugins that were imported before it could rewrite them."""
    rewrite = sys.modules.get("_pytest.assertion.rewrite")
    if rewrite is None:
        return
    hook: Any = rewrite.AssertionRewritingHook
    warn = hook._warn_already_imported  # noqa: SLF001 - no option silences it

    def warn_of_others(self: Any, name: str) -> None:
        if not _is_installed(name, sys.modules.get(name)):
            warn(self, name)

    hook._warn_already_imported = warn_of_others  # noqa: SLF001
