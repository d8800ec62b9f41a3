"""Tries one variant: its files changed, a child forked, and what that says listened to."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from .outcomes import Outcomes  # noqa: TID252 - the package has another name when injected
from .written import Unwritten, Written  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .channel import Channel  # noqa: TID252 - same

SPENT = "no time was left"


class Tries:
    def __init__(self, channel: Channel, variants: list[dict[str, Any]]) -> None:
        self.channel = channel
        self.variants = variants

    def try_one(self, index: int, deadline: float, private: Sequence[int] = ()) -> dict[str, Any] | None:
        """What was seen; None in the child, which shall make the try and call `end`.

        `private`: descriptors that the child, where the project's code will run, must not have.
        """
        variant = self.variants[index]
        outcomes = Outcomes(variant["files"])
        if time.monotonic() >= deadline:
            return {"why": SPENT, "clear": True, **outcomes.told()}
        try:
            with Written(self.channel.settings["worktree"], variant["files"], index) as files:
                ours, theirs = os.pipe()
                child = os.fork()
                if child == 0:
                    files.stay()
                    self._enter(variant, theirs, (*private, ours))
                    return None
                os.close(theirs)
                why = _watched(child, ours, outcomes, deadline)
        except Unwritten as error:
            why = str(error)
        clear = not why and outcomes.all_failed(variant["at"])
        return {"why": why, "clear": clear, **outcomes.told()}

    def end(self, code: int) -> None:
        """In the child."""
        self.channel.send("end", code=code)
        os._exit(0)

    def _enter(self, variant: dict[str, Any], fd: int, private: Sequence[int]) -> None:
        settings = {
            "worktree": self.channel.settings["worktree"],
            "fresh": self.channel.settings.get("fresh", False),
            "select": variant["select"],
            "single": True,
        }
        for other in private:
            os.close(other)
        self.channel.divert(fd, settings)
        silence()
        sys.argv[1:] = variant["argv"]


def silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)


def _watched(child: int, fd: int, outcomes: Outcomes, deadline: float) -> str:
    """Why tests are missing from the outcomes, if any are."""
    try:
        return _listen(fd, outcomes, deadline)
    finally:
        os.close(fd)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _listen(fd: int, outcomes: Outcomes, deadline: float) -> str:
    rest = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            return SPENT
        data = os.read(fd, 1 << 16)
        if not data:
            return outcomes.why or "the run ended early"
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
                message = json.loads(line)
                if message["kind"] == "end":
                    return outcomes.why
                outcomes.take(message)
