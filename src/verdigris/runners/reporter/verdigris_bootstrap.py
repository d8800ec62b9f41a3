"""Starts pytest or unittest as `python -m` would, once the reporter's channel is open and out of sight."""

from __future__ import annotations

import os
import runpy
import sys

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is not loaded before pytest
CHANNEL = "VERDIGRIS_CHANNEL"
EAGER = "VERDIGRIS_EAGER"
RESIDENT = "VERDIGRIS_RESIDENT"


def main() -> None:
    safe_path = getattr(sys.flags, "safe_path", False)
    if safe_path:
        sys.path.insert(0, HERE)
    # Here it is a top-level package, which only an injected one is.
    from verdigris_reporter import channel as channels  # type: ignore[import-not-found]
    from verdigris_reporter import code_loading, files, tracing

    del sys.path[0]
    tool = "".join(sys.argv[1:]) or "pytest"
    load, start = (_load_pytest, _pytest) if tool == "pytest" else (_load_unittest, _unittest)
    channel = channels.CHANNEL
    eager = bool(os.environ.pop(EAGER, ""))
    resident = os.environ.pop(RESIDENT, "")
    known: frozenset[str] = frozenset()
    if resident:
        from verdigris_reporter.resident import server  # type: ignore[import-not-found]

        eager = True
        os.environ[CHANNEL], known = server.serve(resident, channel, tool, load)
    elif eager:
        load()
    channel.open(os.environ.pop(CHANNEL, ""))
    if not safe_path:
        sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as `-m` puts it, and without pathlib
    sys.path.append(HERE)
    if eager and _is_shadowed():
        channel.send("declined")
        sys.exit(1)
    sys.argv[1:] = channel.settings.pop("argv", [])
    opened = files.Files(channel.settings.get("worktree", ""), channel.send)
    if channel.is_open and "runs" not in channel.settings:
        opened.start()
    fresh = channel.settings.get("fresh", False) or "runs" in channel.settings
    code_loading.distrust(channel.settings.get("worktree", ""), fresh=fresh)
    if "runs" in channel.settings:
        from verdigris_reporter.variants import lead  # type: ignore[import-not-found]

        os._exit(lead.Lead(channel, tool, load=load, start=start).lead())
    code_loading.take(channel.settings)
    tracer = tracing.start(channel.settings)
    code = start(channel.send)
    for path, lines in tracer.stop().items():
        channel.send("lines", path=path, lines=sorted(lines))
    if "sources" in channel.settings:
        channel.send("loaded", **files.module_files(channel.settings))
    opened.tell_loaded()
    if channel.settings.get("learn"):
        from verdigris_reporter import preload

        warm = not channel.settings.get("fresh")
        channel.send("installed", names=preload.installed(known) if warm else preload.shareable())
    channel.send("end", code=code)
    _end(code)


def _load_pytest() -> None:
    """In a head start: pytest from the environment alone, since nothing of the project may run yet."""
    try:
        import pytest  # noqa: F401 - for its loading
    except Exception:  # noqa: BLE001 - the run itself will say what is wrong
        return


def _load_unittest() -> None:
    """With the reporter, which loads it; both are not the project's."""
    from verdigris_reporter.cases import run  # type: ignore[import-not-found]  # noqa: F401 - for its loading


def _is_shadowed() -> bool:
    """Whether the project has a module of a name that was loaded before the project was on the path."""
    names = {name.split(".")[0] for name in os.listdir(sys.path[0] or ".")}  # noqa: PTH208
    mine = {"verdigris_bootstrap", "verdigris_reporter", "__main__", "__pycache__"}
    return any(_importable(name) for name in names.intersection(sys.modules) - mine)


def _importable(name: str) -> bool:
    """A file or package here that would have won over the module that is loaded."""
    path = os.path.join(sys.path[0] or ".", name)  # noqa: PTH118
    if not os.path.isfile(path + ".py") and not os.path.isfile(os.path.join(path, "__init__.py")):  # noqa: PTH113, PTH118
        return False
    origin = getattr(sys.modules[name], "__file__", None)
    return origin is not None and os.path.dirname(os.path.abspath(origin)) not in {  # noqa: PTH100, PTH120
        os.path.abspath(sys.path[0] or "."),  # noqa: PTH100
        os.path.abspath(path),  # noqa: PTH100
    }


def _pytest(send: object) -> int:
    try:
        import pytest  # noqa: F401 - `-m` imports it here too
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


def _unittest(_send: object) -> int:
    """The main module and the command's name are as `-m` has them: a test's child processes ask for it."""
    from importlib.util import find_spec
    from types import ModuleType

    from verdigris_reporter.cases import run

    main = ModuleType("__main__")
    main.__spec__ = find_spec("unittest.__main__")
    main.__file__ = main.__spec__.origin if main.__spec__ else None
    sys.modules["__main__"], sys.argv[0] = main, "python -m unittest"
    return run.run(sys.argv[1:])  # type: ignore[no-any-return] # it is not found where this is checked


def _end(code: int) -> None:
    """As the interpreter ends, but for taking every module apart: a tenth of a short run."""
    import atexit
    import threading

    try:
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - waits for threads, as at every end
        atexit._run_exitfuncs()  # noqa: SLF001 - same
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
