"""Starts pytest as `python -m pytest` would, once the reporter's channel is open and out of sight."""

from __future__ import annotations

import os
import runpy
import sys

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is not loaded before pytest
CHANNEL = "VERDIGRIS_CHANNEL"


def main() -> None:
    safe_path = getattr(sys.flags, "safe_path", False)
    if safe_path:
        sys.path.insert(0, HERE)
    # Here it is a top-level package, which only an injected one is.
    from verdigris_reporter import channel as channels  # type: ignore[import-not-found]
    from verdigris_reporter import tracing

    channel = channels.CHANNEL
    channel.open(os.environ.pop(CHANNEL, ""))
    if safe_path:
        del sys.path[0]
    else:
        sys.path[0] = os.getcwd()  # noqa: PTH109 - as `-m` puts it, and without pathlib
    sys.path.append(HERE)
    tracer = tracing.start(channel.settings)
    code = _pytest(channel.send)
    for path, lines in tracer.stop().items():
        channel.send("lines", path=path, lines=sorted(lines))
    channel.send("end", code=code)
    sys.exit(code)


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


if __name__ == "__main__":
    main()
