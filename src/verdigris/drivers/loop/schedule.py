"""Decides which program is due: one a run, the one that waited longest; and says why the others are not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from verdigris.core.value import value
from verdigris.drivers.loop.state_file.text import MOST_BYTES, is_yes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.drivers.loop.programs.discovery import FoundProgram

PLATEAU = 5
"""Rejections in a row after which a program is not chosen by itself any more."""
_NEVER = datetime.min.replace(tzinfo=UTC)


@value
class WaitingProgram:
    found: FoundProgram
    state: Mapping[str, str]
    """The rows of its state file."""
    size: int = 0
    """Of that file, in bytes."""
    faults: int = 0
    """What `tdd loop lint` says against it."""


@value
class SkippedProgram:
    name: str
    reason: str
    next_due: str = ""


@value
class Due:
    selected: WaitingProgram | None
    skipped: tuple[SkippedProgram, ...] = ()
    deferred: tuple[str, ...] = ()
    """Due as well, and younger."""


def choose_due(candidates: Sequence[WaitingProgram], now: datetime, *, forced: str = "") -> Due:
    """A name that is asked for goes before every other rule but the lint."""
    skipped: list[SkippedProgram] = []
    due: list[WaitingProgram] = []
    for one in candidates:
        reason = _why_not(one, now) if one.found.name != forced else _why_unfit(one)
        if forced and one.found.name != forced:
            continue
        if reason is None:
            due.append(one)
        else:
            skipped.append(reason)
    due.sort(key=lambda one: (_last_run(one) or _NEVER, one.found.name))
    first, others = (due[0], due[1:]) if due else (None, [])
    return Due(first, tuple(skipped), tuple(one.found.name for one in others))


def _why_unfit(one: WaitingProgram) -> SkippedProgram | None:
    if not one.faults:
        return None
    return SkippedProgram(
        one.found.name, f"unconfigured: {one.faults} findings (`tdd loop lint {one.found.name}`)"
    )


def _why_not(one: WaitingProgram, now: datetime) -> SkippedProgram | None:
    name, state = one.found.name, one.state
    if unfit := _why_unfit(one):
        return unfit
    if is_yes(state.get("Completed", "")):
        return SkippedProgram(name, f"completed: {state.get('Completed Reason') or 'its target is met'}")
    if is_yes(state.get("Paused", "")):
        reason = state.get("Pause Reason") or "manual"
        return SkippedProgram(name, f"paused: {reason} (`tdd loop resume {name}`)")
    recent = [word.strip() for word in state.get("Recent Statuses", "").split(",") if word.strip()]
    if len(recent) >= PLATEAU and set(recent[-PLATEAU:]) == {"rejected"}:
        return SkippedProgram(name, f"plateau: the last {PLATEAU} were rejected (`tdd loop resume {name}`)")
    last, hours = _last_run(one), one.found.program.schedule.hours
    if last is not None and hours and (now - last).total_seconds() < hours * 3600:
        following = datetime.fromtimestamp(last.timestamp() + hours * 3600, UTC)
        return SkippedProgram(name, "not due", following.isoformat(timespec="seconds"))
    return None


def _last_run(one: WaitingProgram) -> datetime | None:
    said = one.state.get("Last Run", "").strip()
    try:
        found = datetime.fromisoformat(said)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def due_document(due: Due) -> dict[str, Any]:
    """The fields that the scheduler of `.autoloop` prints."""
    one = due.selected
    program = one.found.program if one else None
    return {
        "selected": program.name if program else None,
        "selected_file": one.found.path if one else None,
        "selected_issue": None,
        "selected_target_metric": program.target_metric if program else None,
        "selected_metric_direction": program.direction if program else None,
        "state_file_size_bytes": one.size if one else None,
        "state_file_max_bytes": MOST_BYTES,
        "issue_programs": {},
        "deferred": list(due.deferred),
        "skipped": [_skip_document(skip) for skip in due.skipped],
        "unconfigured": [skip.name for skip in due.skipped if skip.reason.startswith("unconfigured")],
        "no_programs": one is None and not due.skipped,
        "head_branch": f"autoloop/{program.name}" if program else None,
        "existing_pr": None,
    }


def _skip_document(skip: SkippedProgram) -> dict[str, str]:
    found = {"name": skip.name, "reason": skip.reason}
    return {**found, "next_due": skip.next_due} if skip.next_due else found
