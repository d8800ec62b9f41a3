"""Which subagent a shell call is of: its client tells the gate, and the gate tells the broker.

The command itself is the link: a client hands the shell prefix the very words that it showed the gate, within
a line of its own. Of two who begin the same words, the later one is meant.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

FOLDER = "callers"


def begun(private: str, session: str, command: str, agent: str) -> None:
    """`agent` is empty for the session itself."""
    record = _record(private, session, command)
    if agent:
        record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        record.write_bytes(os.fsencode(agent))
    else:
        record.unlink(missing_ok=True)


def ended(private: str, agent: str) -> None:
    """All of a subagent's are over."""
    with suppress(FileNotFoundError):
        for record in Path(private, FOLDER).iterdir():
            if record.read_bytes() == os.fsencode(agent):
                record.unlink(missing_ok=True)


def at_work(private: str, session: str) -> frozenset[str]:
    """The contexts of a session that may still go on: its own, and of subagents that have not ended."""
    subagents: set[str] = set()
    with suppress(FileNotFoundError):
        subagents |= {os.fsdecode(record.read_bytes()) for record in Path(private, FOLDER).iterdir()}
    return frozenset({session, *subagents} - {""})


def caller(private: str, session: str, line: str) -> str:
    """The subagent whose command stands in the line; empty where it is the session's own."""
    with suppress(OSError):
        if not os.listdir(f"{private}/{FOLDER}"):  # noqa: PTH208 - before anything is parsed
            return ""
        for word in _words(line):
            with suppress(FileNotFoundError):
                return os.fsdecode(_record(private, session, word).read_bytes())
    return ""


def _words(line: str) -> list[str]:
    """The line as it is, for clients that add nothing, and what it evaluates, for those that wrap it."""
    try:
        words = shlex.split(line)
    except ValueError:
        return [line]
    return [line, *(word for before, word in pairwise(words) if before == "eval")]


def _record(private: str, session: str, command: str) -> Path:
    name = hashlib.sha256(f"{session}\0{command}".encode(errors="surrogatepass")).hexdigest()
    return Path(private, FOLDER, name)
