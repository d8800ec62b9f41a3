"""Starts pytest, unittest or Django's tests, after it has opened the reporter's channel and hidden it."""

from __future__ import annotations

import gc
import os
import runpy
import sys

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is not loaded before pytest
CHANNEL = "VERDIGRIS_CHANNEL"
EAGER = "VERDIGRIS_EAGER"
RESIDENT = "VERDIGRIS_RESIDENT"
_NO_DOCSTRINGS = 2
"""The level of `-O` that drops docstrings, and so the PYTEST_DONT_REWRITE of our plugin."""


def main() -> None:
    safe_path = getattr(sys.flags, "safe_path", False)
    if safe_path:
        sys.path.insert(0, HERE)
    # A top-level package here, and only here: elsewhere it lies in `verdigris.runners.reporter`.
    from verdigris_reporter import channel as channels  # type: ignore[import-not-found]
    from verdigris_reporter import code_loading, files, tracing, uses

    del sys.path[0]
    tool = "".join(sys.argv[1:]) or "pytest"
    load, start = _TOOLS[tool]
    channel = channels.CHANNEL
    eager = bool(os.environ.pop(EAGER, ""))
    resident = os.environ.pop(RESIDENT, "")
    new_folders: list[str] = []
    if resident:
        from verdigris_reporter.resident import server  # type: ignore[import-not-found]

        eager = True
        os.environ[CHANNEL], new_folders = server.serve(resident, tool, load)
    elif eager:
        load()
    channel.open(os.environ.pop(CHANNEL, ""))
    if not safe_path:
        sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as `-m` puts it, and without pathlib
    sys.path.append(HERE)
    if eager and any(map(_hides_loaded_module, [sys.path[0] or ".", *new_folders])):
        channel.send("declined")
        sys.exit(1)
    sys.argv[1:] = channel.settings.pop("argv", [])
    opened = files.OpenedFiles(channel.settings.get("worktree", ""), channel.send)
    if channel.is_open and "runs" not in channel.settings:
        opened.start()
    fresh = channel.settings.get("fresh", False) or "runs" in channel.settings
    code_loading.distrust(channel.settings.get("worktree", ""), fresh=fresh)
    if "runs" in channel.settings:
        from verdigris_reporter.variants import run_set  # type: ignore[import-not-found]

        os._exit(run_set.RunSet(channel, tool, load=load, start=start).run())
    code_loading.withhold_texts(channel.settings)
    tracer = tracing.start(channel.settings, windows=tool == "pytest")
    uses.begin(channel.settings)  # after our own tracer: it takes every later one for the project's
    code = start(channel.send)
    uses.report(channel.send)
    tracing.report(tracer, channel.send)
    if "sources" in channel.settings:
        channel.send("loaded", **files.module_files(channel.settings))
    opened.report_loaded()
    if channel.settings.get("learn"):
        from verdigris_reporter import preload

        channel.send("installed", names=preload.shareable())
    channel.send("end", code=code)
    _end(code)


def _load_pytest() -> None:
    """Loads pytest early. The project is not on the path yet, because none of its code may run now."""
    try:
        _without_collector(_import_pytest)
    except Exception:  # noqa: BLE001 - the run itself will say what is wrong
        return


def _import_pytest() -> None:
    import pytest  # noqa: F401 - for its loading


def _import_for_run() -> None:
    _import_pytest()  # as `-m` does at this point
    if sys.flags.optimize < _NO_DOCSTRINGS:
        # Else pytest reads and compiles our plugin in each run, before it sees that it must not rewrite it.
        __import__("verdigris_reporter.plugin")


def _without_collector(load: Callable[[], None]) -> None:
    """Calls `load` without garbage collection: searching what a tool loads took a seventh of a short run."""
    collects = gc.isenabled()
    gc.disable()
    try:
        load()
    finally:
        if hasattr(gc, "freeze"):
            gc.freeze()
        if collects:
            gc.enable()


def _load_unittest() -> None:
    """Loads unittest, together with our part that needs it; neither is code of the project."""
    from verdigris_reporter.cases import run  # type: ignore[import-not-found]  # noqa: F401 - for its loading


def _hides_loaded_module(folder: str) -> bool:
    """Whether a folder that is new on the path has a module that is loaded from elsewhere."""
    try:
        names = {name.split(".")[0] for name in os.listdir(folder)}  # noqa: PTH208
    except OSError:
        return False
    mine = {"verdigris_bootstrap", "verdigris_reporter", "__main__", "__pycache__"}
    return any(_would_hide(name, folder) for name in names.intersection(sys.modules) - mine)


def _would_hide(name: str, folder: str) -> bool:
    """Whether the folder has this module or package, and it is not the one that is loaded."""
    from importlib.machinery import all_suffixes

    path = os.path.join(folder, name)  # noqa: PTH118
    files = [path + end for end in all_suffixes()] + [os.path.join(path, "__init__.py")]  # noqa: PTH118
    if not any(map(os.path.isfile, files)):
        return False
    origin = getattr(sys.modules[name], "__file__", None)
    return origin is not None and os.path.dirname(os.path.abspath(origin)) not in {  # noqa: PTH100, PTH120
        os.path.abspath(folder),  # noqa: PTH100
        os.path.abspath(path),  # noqa: PTH100
    }


def _run_pytest(send: object) -> int:
    try:
        _without_collector(_import_for_run)
    except ModuleNotFoundError as error:
        if error.name != "pytest" or not callable(send):
            raise
        send("no-pytest", message=f"{sys.executable}: {error}")
        sys.exit(f"{sys.executable}: No module named pytest")
    try:
        runpy.run_module("pytest", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def _run_unittest(_send: object) -> int:
    """Sets `__main__` and `sys.argv[0]` as `-m` does: child processes of a test use them."""
    from importlib.util import find_spec
    from types import ModuleType

    from verdigris_reporter.cases import run

    main = ModuleType("__main__")
    main.__spec__ = find_spec("unittest.__main__")
    main.__file__ = main.__spec__.origin if main.__spec__ else None
    sys.modules["__main__"], sys.argv[0] = main, "python -m unittest"
    return run.run(sys.argv[1:])  # type: ignore[no-any-return] # mypy does not find the module


def _run_django(_send: object) -> int:
    from verdigris_reporter.cases import django_tests

    return django_tests.run(sys.argv[1:])  # type: ignore[no-any-return] # mypy does not find the module


_TOOLS = {
    "pytest": (_load_pytest, _run_pytest),
    "unittest": (_load_unittest, _run_unittest),
    "django": (_load_unittest, _run_django),
}


def _end(code: int) -> None:
    """Ends as the interpreter does, but does not destroy modules: that takes a tenth of a short run."""
    import atexit
    import threading

    try:
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - waits for threads, as the interpreter does
        atexit._run_exitfuncs()  # noqa: SLF001 - same
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
