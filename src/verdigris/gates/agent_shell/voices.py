"""Sockets by which a program could speak as the person: to a client, or to the server of their terminal.

A line that comes to a client's own socket is a prompt to it; a terminal's server types and runs what it is
told, outside. No shell call of an agent sees them; what it starts there itself is its own.
"""

# Part of every shell call, where every millisecond counts, and names stay `str`:
# ruff: noqa: PTH112, PTH120

from __future__ import annotations

import os
import stat

from verdigris.gates.agent_shell.card import APART, DISK

TYPE_CHECKING = False  # see card.py
if TYPE_CHECKING:
    from collections.abc import Mapping

DROPPED = frozenset(
    {"CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "TMUX", "TMUX_PANE", "STY", "ZELLIJ"}
)
"""What names them, or lets one in."""
_NAMED = ("CLAUDE_CODE_MESSAGING_SOCKET", "TMUX")
_PARENTS = ("XDG_RUNTIME_DIR", "CLAUDE_CODE_TMPDIR", "TMPDIR", "TMUX_TMPDIR")
_FOLDERS = ("cc-socks", "cc-socks-{}", "cc-daemon-{}", "tmux-{}", "zellij-{}")
_SCREENS = ("/run/screen", "/var/run/screen", "/tmp/screens")  # noqa: S108 - where others put it


def silenced(environment: Mapping[str, str]) -> list[tuple[str, int]]:
    """Mounts, beside those of the card: it is made before the client is, and for more than one."""
    user = os.getuid()
    parents = {"/tmp", *(environment.get(name, "") for name in _PARENTS)} - {""}  # noqa: S108 - same
    folders = [f"{parent}/{name.format(user)}" for parent in parents for name in _FOLDERS]
    found = [(folder, APART) for folder in (*folders, *_SCREENS) if os.path.isdir(folder)]
    apart = {os.path.realpath(folder) for folder, _ in found}
    for name in _NAMED:
        path = environment.get(name, "").split(",")[0]
        if path and os.path.realpath(os.path.dirname(path)) not in apart and _is_socket(path):
            found.append((path, DISK))
    return found


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)  # noqa: PTH116 - see above
    except OSError:
        return False
