"""A program in an agent's shell cannot speak as the person: to the client, or by their terminal's server."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.cage import NOBODY
from support.shelled import Shelled

SPEAK = """
import socket, sys
for path in sys.argv[1:]:
    with socket.socket(socket.AF_UNIX) as voice:
        try:
            voice.connect(path)
            print("heard", flush=True)
        except OSError as error:
            print("mute", flush=True)
"""


@contextmanager
def listener(red: Shelled, path: Path) -> Iterator[str]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as ear:
        ear.bind(str(path))
        if red.plain_user and os.geteuid() == 0:
            for owned in (path, path.parent):
                os.chown(owned, NOBODY, NOBODY)
        ear.listen()
        threading.Thread(target=_hear, args=(ear,), daemon=True).start()
        yield str(path)
        ear.shutdown(socket.SHUT_RDWR)
    path.unlink()


def _hear(ear: socket.socket) -> None:
    try:
        while True:
            ear.accept()[0].close()
    except OSError:
        return


def uid(red: Shelled) -> int:
    return NOBODY if red.plain_user and os.geteuid() == 0 else os.geteuid()


@pytest.mark.parametrize(
    ("variable", "folder"),
    [("XDG_RUNTIME_DIR", "cc-socks"), ("CLAUDE_CODE_TMPDIR", "cc-daemon-{}"), ("TMUX_TMPDIR", "tmux-{}")],
)
def test_folders_of_sockets_are_apart(red: Shelled, variable: str, folder: str) -> None:
    place = red.folder / "home" / folder.format(uid(red))
    with listener(red, place / "1.sock") as path, listener(red, red.folder / "home/other/s") as other:
        (red.folder / "attack.py").write_text(SPEAK)
        own = f"touch {place}/own && echo written"
        env = {variable: str(red.folder / "home")}
        done = red.run(f"{red.python} -I {red.folder}/attack.py {path} {other}; {own}", env=env)
    assert done.out.split() == ["mute", "heard", "written"], done
    assert not (place / "own").exists()


def test_a_socket_that_the_environment_names_is_mute_and_its_neighbour_is_not(red: Shelled) -> None:
    home = red.folder / "home"
    with (
        listener(red, home / "client") as client,
        listener(red, home / "mux") as mux,
        listener(red, home / "third") as other,
    ):
        (red.folder / "attack.py").write_text(SPEAK)
        done = red.run(
            f"{red.python} -I {red.folder}/attack.py {client} {mux} {other}; "
            "echo $CLAUDE_CODE_MESSAGING_SOCKET$CLAUDE_CODE_MESSAGING_TOKEN$TMUX$CLAUDE_PID",
            env={
                "CLAUDE_CODE_MESSAGING_SOCKET": client,
                "CLAUDE_CODE_MESSAGING_TOKEN": "t",
                "TMUX": f"{mux},12,0",
                "CLAUDE_PID": "7",
            },
        )
    assert done.out.split() == ["mute", "mute", "heard", "7"], done
