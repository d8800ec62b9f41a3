"""Whether all that was confined here before can still be; and a person who accepts that it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.events import WeakerAccepted
from verdigris.gates.agent_shell.protection import find_way, protection
from verdigris.sandbox import child, strength
from verdigris.setup.doctor_checks import DoctorFinding, failure

if TYPE_CHECKING:
    from verdigris.storage.project import Project


def check_strength(project: Project) -> DoctorFinding | None:
    """None if nothing was confined here yet."""
    control = str(project.repo.control)
    known = strength.remembered(control)
    if known and (lost := strength.find_weaker(control, _ways_now(project))):
        return failure("confined", lost, strength.HINT)
    ways = ", ".join(f"{kind} `{way}`" for kind, way in known.items())
    return DoctorFinding("confined", "ok", f"as before: {ways}") if known else None


def accept_weaker(project: Project, why: str) -> None:
    """Takes what can be confined now, and how, for what has to be; a person's alone."""
    found = _ways_now(project)
    project.record(WeakerAccepted(found, why), sync=True)
    strength.accept(str(project.repo.control), found)
    child.forget(str(project.repo.private / child.NOTE))


def _ways_now(project: Project) -> dict[str, str]:
    return {
        strength.SHELL: find_way(protection(project)) or "",
        **child.ways_of_runs(child.available()),
    }
