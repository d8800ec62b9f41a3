"""What a child does between fork and exec to be confined; it never executes unconfined."""

from __future__ import annotations

import os

from verdigris.core.errors import ToolMissing
from verdigris.sandbox.confinement import Confinement, checked
from verdigris.sandbox.entry import enter
from verdigris.sandbox.mounts import points_below
from verdigris.sandbox.namespaces import IDS, same

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from collections.abc import Callable

    from verdigris.sandbox.namespaces import Way

REFUSED = 126
"""The exit code of a child that could not be confined."""
REFUSAL = b"verdigris: not confined, so not run: "
"""How the line begins that it leaves on standard error."""


def preexec(confinement: Confinement, way: Way | None = None) -> Confining:
    """For `Popen(preexec_fn=…)`, which also closes every descriptor that the child is not given.

    `way` is one that was found to work earlier, and saves finding out; a child whose way fails does not run.
    """
    made = checked(confinement)
    way = way or _way(made)
    if way == "own" and (points := points_below(made.root)):
        raise ToolMissing(
            f"only root can confine a run where something is mounted below the worktree: {points[0]}",
            hint="unmount it, or keep it outside the worktree",
        )
    return Confining(made, way)


def refusal(exit_code: int | None, output: bytes) -> str | None:
    """Why a child did not run, where it was refused."""
    if exit_code != REFUSED or not output.startswith(REFUSAL):
        return None
    return output.removeprefix(REFUSAL).decode("utf-8", "replace").strip()


def _way(confinement: Confinement) -> Way:
    from verdigris.sandbox.probe import available

    possible = available()
    if possible.way is None:
        raise ToolMissing(f"no sandbox can be made here: {possible.why}", hint="run `tdd doctor`")
    if confinement.network != "host" and not possible.network:
        raise ToolMissing(
            f"no network of its own can be made here: {possible.why}",
            hint="set `room: {network: host}` in tdd.yaml",
        )
    return possible.way


class Confining:
    """Of a checked confinement, by a way that is known to work; called in the child."""

    def __init__(self, confinement: Confinement, way: Way) -> None:
        self.confinement = confinement
        self.way = way
        self.ids = {name: same(name) for name in IDS} if way == "mapped" else {}
        """What one outside may write into which map; see `enter`."""

    def __call__(self, mapped: Callable[[], None] | None = None) -> None:
        step = ["start"]
        try:
            enter(self.confinement, self.way, step.append, mapped)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the program must not run
            os.write(2, REFUSAL + f"{step[-1]}: {error}\n".encode(errors="surrogateescape"))
            os._exit(REFUSED)
