"""`tdd` inside an agent's shell: hands the call to the broker, and ends as the call ended outside."""

# Before pathlib is loaded:
# ruff: noqa: PTH109

from __future__ import annotations

import os

from verdigris.core.errors import ToolMissing
from verdigris.gates.broker.wire import Call, connected, send

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from collections.abc import Sequence


def served(path: str, argv: Sequence[str]) -> int:
    """The exit code of the call; an interrupt ends the connection, which interrupts the call."""
    try:
        connection = connected(path)
    except OSError as error:
        raise ToolMissing(
            f"the broker of this shell call does not answer: {error.strerror}",
            hint="the call that started this process has ended: run `tdd` in a call of its own",
        ) from error
    with connection:
        try:
            send(connection, Call(argv, os.getcwd(), os.environ))
            answer = connection.recv(1)
        except OSError as error:
            raise ToolMissing(
                f"the broker of this shell call went away: {error.strerror}", hint="run the command again"
            ) from error
    if not answer:
        raise ToolMissing("the broker of this shell call went away.", hint="run the command again")
    return answer[0]
