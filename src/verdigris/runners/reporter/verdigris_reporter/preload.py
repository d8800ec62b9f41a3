"""Loads what an earlier run had loaded from the environment, so that later ones need not load it again."""

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
    from collections.abc import Callable, Iterator


_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""Libraries that would start threads, which no fork takes along, do without them when they are told so."""


_CHANGED: list[bool] = []


def compare_environment(before: dict[str, str]) -> None:
    """Once the tests are loaded; `before`: the variables when nothing of the project was."""
    _CHANGED.append(dict(os.environ) != before)


def shareable() -> list[str]:
    """Which modules later runs may share: none where the project set variables before it imported them."""
    return [] if any(_CHANGED) or not _CHANGED else installed()


def installed(known: frozenset[str] = frozenset()) -> list[str]:
    """Names of loaded modules that are the environment's, in the order they were loaded."""
    loaded = list(sys.modules.items())
    return [name for name, module in loaded if name not in known and _is_installed(name, module)]


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

        metadata.version("pluggy")  # each run asks, and folders that did not change are not listed again
        know_files_of_modules()


def know_files_of_modules() -> None:
    """Has `inspect` resolve the file of each loaded module now: it does so for the first failure of a run."""
    import inspect

    inspect.getmodule(compile("", "<no module's>", "exec"))


def prepare_configuration() -> None:
    """Registers pytest's own plugins now, for the first `pytest.main` of each process that branches off.

    A run that leaves some of them out, or asks for pytest's own trace, registers them itself.
    """
    with contextlib.suppress(Exception):  # a pytest that makes it in another way goes on to do so
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

    In each run pytest looks at every name of every plugin for both, which was a third of a short run. What a
    library like freezegun looks for, the functions of the standard library, is still there.
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
    """How many were loaded; whatever goes otherwise than in the earlier run is raised."""
    count = 0
    with from_the_environment():
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
def from_the_environment() -> Iterator[None]:
    """Imports from the environment alone: no project path, and no finder that an installation left."""
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
    warn = hook._warn_already_imported  # noqa: SLF001 - the only place where it is said

    def about_others(self: Any, name: str) -> None:
        if not _is_installed(name, sys.modules.get(name)):
            warn(self, name)

    hook._warn_already_imported = about_others  # noqa: SLF001


def plugin_names() -> frozenset[str]:
    """They are rewritten as pytest loads them."""
    return _names_of(lambda found: any(point.group == "pytest11" for point in found.entry_points))


def local_names() -> frozenset[str]:
    """What was installed out of a folder may be the project."""
    import json

    return _names_of(lambda found: "dir_info" in json.loads(found.read_text("direct_url.json") or "{}"))


def _names_of(wanted: Callable[[Any], bool]) -> frozenset[str]:
    from importlib import metadata  # here: it loads half of the standard library

    names: set[str] = set()
    with from_the_environment():
        for found in metadata.distributions():
            with contextlib.suppress(Exception):  # a broken one is nobody's to load
                if wanted(found):
                    names.update(str(file).split("/")[0].split(".")[0] for file in found.files or ())
    return frozenset(names)
