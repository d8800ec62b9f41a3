"""The user's shell as it is: it runs our own hooks, and commands that are confined already.

A client runs each hook by its shell, so this module is loaded without those that confine a command.
"""

# The entry of every shell call, where every millisecond counts, and names stay `str`:
# ruff: noqa: PTH110, PTH116, PTH119, PTH120, PTH123

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs as much as all of this
import os

from verdigris.core.agents import hook_in

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

HOOKS = "hook-commands"
SHELLS = ("bash", "zsh")


def needs_no_confinement(private: str, command: str) -> bool:
    """Whether it is confined already, or one of our own."""
    control = os.path.dirname(os.path.dirname(private))
    return _is_inside(control) or _is_hook(control, command)


def _is_inside(control: str) -> bool:
    """Whether we are in a call's sandbox: something is mounted over the locks there, and nowhere else.

    That our folder cannot be written, or is gone, proves nothing: outside it is an error.
    """
    try:
        return os.stat(f"{control}/locks").st_dev != os.stat(control).st_dev
    except OSError:
        return False


def _is_hook(control: str, command: str) -> bool:
    """Whether the command is a hook that `tdd init` wrote: a client runs its hooks by its shell, too.

    The command alone proves nothing, since an agent can run it: only hooks have the client's variable.
    """
    agent = hook_in(os.environ)
    # Earlier versions wrote the second file, one for all agents.
    for name in (f"{HOOKS}.{agent}", HOOKS) if agent else ():
        try:
            with open(f"{control}/{name}", "rb") as file:
                return os.fsencode(command) in file.read().split(b"\0")
        except FileNotFoundError:
            continue
    return False


def become_shell(command: str, environment: Mapping[str, str]) -> NoReturn:
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)  # which our interpreter ignores
    shell = environment.get("SHELL", "")
    if os.path.basename(shell) not in SHELLS or not os.access(shell, os.X_OK):
        shell = next((path for path in ("/bin/bash", "/usr/bin/bash") if os.path.exists(path)), "/bin/sh")
    os.execve(shell, [shell, "-c", command], environment)  # noqa: S606 - it is the shell
