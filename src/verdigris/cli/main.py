"""The entry of `tdd`: maps errors to messages and exit codes."""

from __future__ import annotations

import gc
import os
import sys

from verdigris.core.errors import VerdigrisError, storage_error

BROKER = "TDD_BROKER"
"""Where an agent's shell finds the kernel."""
FEW_CYCLES = 50_000
"""Objects after which Python looks for cycles: most commands end before that."""
OFTEN = ("test", "claim", "settle", "refactor", "status")
"""Verbs whose rooms are removed after the command has ended."""
UNREAD, NOT_SUPPORTED, OUR_FAULT, INTERRUPTED = 1, 69, 70, 130


def run() -> None:
    gc.set_threshold(FEW_CYCLES)
    try:
        code = _run_guarded(sys.argv[1:])
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = UNREAD
    except KeyboardInterrupt:
        code = INTERRUPTED
    if (removal := sys.modules.get("verdigris.sandbox.removal")) is not None:
        removal.remove_behind()
    # Nothing is left to do: taking every module apart again would cost as much as a quick command.
    os._exit(code)


def _run_guarded(argv: list[str]) -> int:
    if sys.platform == "win32":
        _say("Windows is not supported yet.", "use WSL, Linux or macOS")
        return NOT_SUPPORTED
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if broker := os.environ.get(BROKER):
        from verdigris.core.agents import is_local

        if not is_local(argv):
            return _through(broker, argv)
    if argv in (["--help"], ["-h"]):
        from verdigris.cli.commands import overview

        sys.stdout.write(overview())
        return 0
    if argv and argv[0] in OFTEN:
        from verdigris.sandbox import removal

        removal.allow()
    try:
        return _with_head_start(argv) if argv[:1] == ["test"] else _run_command(argv)
    except VerdigrisError as error:
        _tell_error(argv, error.message, error.hint)
        return error.exit_code
    except OSError as error:
        if error.filename is None:
            return _our_fault(error)
        told = storage_error(f"cannot use {os.fsdecode(error.filename)}", error, "its folder")
        _tell_error(argv, told.message, told.hint)
        return told.exit_code
    except Exception as error:  # noqa: BLE001 - the last line of defence: whatever else comes is our fault
        return _our_fault(error)


def _through(broker: str, argv: list[str]) -> int:
    """Has the command run outside: an agent's shell cannot write what the kernel keeps."""
    from verdigris.gates.broker import call_broker

    try:
        return call_broker(broker, argv)
    except VerdigrisError as error:
        _say(error.message, error.hint)
        return error.exit_code


def _with_head_start(argv: list[str]) -> int:
    """The test tool loads while we do."""
    from verdigris.execution.resident import headstart

    folder = os.environ.get("TDD_ROOT") or os.getcwd()  # noqa: PTH109 - before pathlib is loaded
    headstart.begin(folder, warm=True)
    try:
        return _run_command(argv)
    finally:
        headstart.cancel()


def _run_command(argv: list[str]) -> int:
    try:
        code = None
        if argv[:1] == ["test"]:
            from verdigris.cli.testing import run_plain

            code = run_plain(argv[1:])
        return _by_click(argv) if code is None else code
    except KeyboardInterrupt:
        _say("interrupted", "the next command finishes or undoes what was under way")
        return INTERRUPTED


def _by_click(argv: list[str]) -> int:
    import click

    from verdigris.cli.group import tdd

    try:
        return int(tdd.main(argv, prog_name="tdd", standalone_mode=False) or 0)
    except click.ClickException as error:
        if _wants_json(argv):
            _tell_error(argv, error.format_message(), None)
        else:
            error.show()
        return error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None


def _our_fault(error: Exception) -> int:
    if os.environ.get("TDD_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    _say(
        f"this is a bug in Verdigris: {type(error).__name__}: {error}",
        "run it again with TDD_DEBUG=1 and report the traceback; `tdd doctor` checks tools and log",
    )
    return OUR_FAULT


def _wants_json(argv: list[str]) -> bool:
    """Words behind `--` belong to another program."""
    return "--json" in (argv[: argv.index("--")] if "--" in argv else argv)


def _tell_error(argv: list[str], message: str, hint: str | None) -> None:
    """Prints the error, as JSON if that was requested."""
    if not _wants_json(argv):
        _say(message, hint)
        return
    from verdigris.cli.context import show_json

    show_json({"error": {"message": message, "hint": hint}})


def _say(message: str, hint: str | None) -> None:
    from verdigris.views.lines import make_visible

    sys.stderr.write(f"tdd: {make_visible(message)}\n")
    if hint:
        sys.stderr.write(f"hint: {make_visible(hint)}\n")
