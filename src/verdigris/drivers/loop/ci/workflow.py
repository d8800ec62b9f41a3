"""Renders the workflow that runs a program on GitHub Actions."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

from verdigris.core.errors import UserError, VerdigrisError
from verdigris.core.settings import HUMAN, REPLAY
from verdigris.core.value import value
from verdigris.drivers.loop.branches.memory import BRANCH
from verdigris.drivers.loop.program import Schedule
from verdigris.drivers.loop.settings import load_loop
from verdigris.models.providers import endpoint_of

FOLDER = ".github/workflows"
_TEMPLATE = Path(__file__).with_name("github.yml")
TOKEN = "AUTOLOOP_TOKEN"  # noqa: S105 - the name of a secret
_DAY, _HOUR = 24, 60
_LEAST = 5
"""The shortest schedule of the service, in minutes."""
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MINUTES = 350
"""The service kills a job after 360 minutes."""


@value
class Cron:
    line: str
    note: str = ""
    """How it differs from the program's schedule, if it does."""


def cron_of(schedule: Schedule, name: str) -> Cron:
    """Avoids full hours, at which most jobs begin: the name decides the minute."""
    spread = zlib.crc32(name.encode())
    minute, hour = 5 + spread % 50, spread // 50 % _DAY
    minutes = round(schedule.hours * _HOUR)
    if not minutes:
        return Cron(f"{minute} * * * *", "the program is always due: it runs once an hour")
    if minutes < _HOUR:
        kept = max(minutes, _LEAST)
        whole = next(n for n in range(kept, _HOUR + 1) if _HOUR % n == 0)
        note = "" if whole == minutes else f"the service cannot run it every {minutes} minutes: every {whole}"
        return Cron(f"*/{whole} * * * *" if whole < _HOUR else f"{minute} * * * *", note)
    hours = minutes // _HOUR
    if hours < _DAY:
        whole = next(n for n in range(hours, _DAY + 1) if _DAY % n == 0)
        note = (
            "" if whole * _HOUR == minutes else f"{schedule.written} does not divide a day: every {whole} h"
        )
        if whole == _DAY:
            return Cron(f"{minute} {hour} * * *", note)
        return Cron(f"{minute} {'*' if whole == 1 else f'*/{whole}'} * * *", note)
    days = hours // _DAY
    if days == 7:  # noqa: PLR2004 - a week
        return Cron(f"{minute} {hour} * * {spread % 7}")
    exact = days * _DAY * _HOUR == minutes
    note = (
        "" if exact and days == 1 else f"{schedule.written}: approximately, counted from the first of a month"
    )
    return Cron(f"{minute} {hour} {'*' if days == 1 else f'*/{days}'} * *", note)


@value
class WorkflowNeeds:
    keys: tuple[str, ...] = ()
    """The variables of the models' keys; each has to be a secret of the repository."""
    memory: str = BRANCH
    """The branch of the state files."""


def render_workflow(name: str, schedule: Schedule, needs: WorkflowNeeds) -> str:
    cron = cron_of(schedule, name)
    note = f"  # {cron.note}" if cron.note else ""
    secrets = "".join(f"          {key}: ${{{{ secrets.{key} }}}}\n" for key in needs.keys)
    return _TEMPLATE.read_text("utf-8").format(
        name=name,
        cron=cron.line,
        note=note,
        secrets=secrets,
        memory=needs.memory,
        token=TOKEN,
        minutes=_MINUTES,
    )


def find_needs(root: Path) -> WorkflowNeeds:
    """The keys that the loop's models need; none if no model is configured."""
    try:
        settings = load_loop(root)
    except VerdigrisError:
        return WorkflowNeeds()
    found = set()
    for player in settings.roles.values():
        if player.model and player.model != HUMAN and not player.model.startswith(REPLAY):
            try:
                found.add(endpoint_of(player.model, player.served, settings.llm).api_key_env)
            except VerdigrisError:
                continue
    return WorkflowNeeds(tuple(sorted(found - {""})), settings.memory)


def write_workflow(root: Path, name: str, text: str, *, force: bool) -> str:
    """Writes the file and returns its path; `force`: also if a person changed it."""
    if not _SAFE.fullmatch(name):
        raise UserError(f"{name!r} is no name for a workflow.", hint="letters, digits, `.`, `-` and `_`")
    path = f"{FOLDER}/autoloop-{name}.yml"
    there = root / path
    if there.exists() and there.read_text("utf-8") != text and not force:
        raise UserError(f"{path} is there already and says something else.", hint="`--force` writes it anew")
    there.parent.mkdir(parents=True, exist_ok=True)
    there.write_text(text, "utf-8")
    return path
