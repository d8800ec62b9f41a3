"""After a tool call: puts back what is protected and changed, and tells the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.cycle import next_step
from verdigris.core.events import ToolAllowed
from verdigris.core.state import Phase
from verdigris.gates.calls import NO_PRIVILEGES, SIGNS, Manner, Moment, Reply, readings
from verdigris.storage.open_calls import alive
from verdigris.storage.paths import canonical
from verdigris.turns.tripwire.calls import after_call

if TYPE_CHECKING:
    from verdigris.gates.calls import Call
    from verdigris.storage.project import Project


def after(project: Project, call: Call) -> Reply:
    living = alive(str(project.repo.private))
    tripped = after_call(project, agent_alive=living, wrote=_could_write(project, call))
    if call.moment is Moment.AFTER and call.manner is Manner.FOREIGN:
        _remember(project, call)
    if tripped.text:
        return Reply(text=tripped.text)
    return Reply(text="\n".join(f"[tdd] {_explain(project, sign)}" for sign in call.stopped))


def _explain(project: Project, sign: str) -> str:
    """What stopped a command, by what is closed now."""
    state = project.state()
    if state.open_cycle is None or state.phase not in {Phase.PLAN, Phase.HELD} or sign == NO_PRIVILEGES:
        return SIGNS[sign]
    return f"stage {state.open_cycle.stage} keeps that path as it is. next: {next_step(state.open_cycle)}"


def _could_write(project: Project, call: Call) -> tuple[str, ...] | None:
    """What the tool could write; other changes are a person's. None where nobody knows what it writes."""
    match call.manner:
        case Manner.READS | Manner.OWN:
            return ()
        case Manner.WRITES if call.writes is not None:
            names = [name for spelling in call.writes for name in readings(spelling)]
            found = (canonical(project.root, name, cwd=Path(call.cwd or project.root)) for name in names)
            return tuple(place.path for place in found if place.path is not None)
        case _:
            return None


def _remember(project: Project, call: Call) -> None:
    """It came this far, so a person was asked and said yes."""
    state = project.state()
    if call.source not in state.tools and state.phase is not Phase.OFF:
        project.record(ToolAllowed(source=call.source))
