"""The values of an audit: units, their outcomes, and the report that every format is made from.

The JSON form is a contract with tools outside: fields are added, never renamed or taken away.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from verdigris.core.errors import UserError
from verdigris.core.records import from_json, to_json
from verdigris.core.value import field, replace, value

SCHEMA = "verdigris.audit/1"
FLAKY = "flaky"
"""The reason of a red that proves nothing: the test fails and passes on one tree."""


class AuditOutcome(StrEnum):
    """The class of a unit. `unverified` and `infrastructure` blame nobody."""

    TEST_DRIVEN = "test-driven"
    """At least one valid red became green, and nothing was lost."""
    UNTESTED = "untested"
    """Source changed, and no test was red before."""
    WEAKENED = "weakened"
    """A test was removed, skipped, or asserts less than before."""
    REGRESSED = "regressed"
    """A test that passed before fails now."""
    HOLLOW = "hollow"
    """The new tests pass whatever they assert, or the code is written for their values alone."""
    CHARACTERIZATION = "characterization"
    """Tests came that pass before and after; source did not change."""
    REFACTOR = "refactor"
    """Source changed, no test did, the results are the same, and tests run what changed."""
    NO_CODE = "no-code"
    """Neither source nor tests changed."""
    UNVERIFIED = "unverified"
    """It could not be judged: no environment, a suite that is broken on both sides, or no time left."""
    INFRASTRUCTURE = "infrastructure"
    """The machine failed, not the change: it is tried again."""


BLAMELESS = frozenset({AuditOutcome.UNVERIFIED, AuditOutcome.INFRASTRUCTURE})
SOUND = frozenset(
    {AuditOutcome.TEST_DRIVEN, AuditOutcome.CHARACTERIZATION, AuditOutcome.REFACTOR, AuditOutcome.NO_CODE}
)


class Placed:
    """Something at a line of the after side; line 0 is the file as a whole."""

    __slots__ = ()
    path: str
    line: int

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


@value
class RedTest(Placed):
    """A test of the after side that was red over the source of the before side, and is green after."""

    id: str
    why: str
    """The kind of red: `assertion`, `exception`, … or `import` where the test did not load."""
    path: str = ""
    line: int = 0
    """Where it failed."""
    message: str = ""
    valid: bool = True
    """It is red for the right reason; a test that did not load needs a stub to be."""
    stub: str = ""
    """The stub that made an import red fail by behaviour, as a diff."""


@value
class FoundPlace(Placed):
    path: str
    line: int
    what: str
    kind: str = ""


@value
class LostCheck(Placed):
    """A test that asks less than before: what it was, and what it is now."""

    kind: str
    path: str
    line: int
    before: str
    after: str


@value
class Commit:
    id: str
    """The last commit, if the unit is a whole range."""
    parents: tuple[str, ...] = ()
    title: str = ""
    author: str = ""
    date: str = ""
    """When it was committed, as ISO 8601 in UTC."""


@value
class UnitReport:
    """One change, judged."""

    commit: Commit
    before: str
    """Tree without the change."""
    after: str
    outcome: AuditOutcome
    why: str
    """The outcome's reason in one sentence."""
    reds: tuple[RedTest, ...] = ()
    regressed: tuple[FoundPlace, ...] = ()
    """`what` is the test's id and how it fails."""
    weakened: tuple[LostCheck, ...] = ()
    uncovered: tuple[FoundPlace, ...] = ()
    concerns: tuple[FoundPlace, ...] = ()
    hollow: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What was not tried and why, and what else was noticed."""
    environment: str = ""
    """The key of the environment that its tests ran in."""
    seconds: float = 0.0
    paths: tuple[str, ...] = ()
    """The files of source and tests that it changes; a finding about the whole unit is shown at the first."""
    passing: tuple[str, ...] = ()
    """Native ids of tests that pass before and after; only test-driven changes have them, for a corpus."""

    @property
    def red_count(self) -> int:
        """How many tests were red for the right reason."""
        return sum(test.valid for test in self.reds)


@value
class AuditReport:
    """The answers for a range."""

    range: str
    """As the user gave it."""
    base: str
    head: str
    units: tuple[UnitReport, ...] = ()
    """The oldest first."""
    squash: bool = False
    version: str = ""
    """Of Verdigris."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Options that the answers depend on: `env`, `deep`, `shard`, filters."""

    @property
    def summary(self) -> dict[str, int]:
        """Counts units by outcome; outcomes without a unit are left out."""
        counts = Counter(unit.outcome for unit in self.units)
        return {str(outcome): counts[outcome] for outcome in AuditOutcome if counts[outcome]}


def units_with(report: AuditReport, outcomes: Iterable[str]) -> tuple[UnitReport, ...]:
    """Returns the units with one of these outcomes, as `--fail-on` names them."""
    wanted = frozenset(outcomes)
    return tuple(unit for unit in report.units if unit.outcome in wanted)


def render_report(report: AuditReport) -> dict[str, Any]:
    """Returns the JSON form, with every field of a unit, so that a reader need not know our defaults."""
    return {
        "schema": SCHEMA,
        "version": report.version,
        "range": report.range,
        "base": report.base,
        "head": report.head,
        "squash": report.squash,
        "settings": dict(report.settings),
        "summary": report.summary,
        "units": [render_unit(unit) for unit in report.units],
    }


def render_unit(unit: UnitReport) -> dict[str, Any]:
    plain = {
        "commit": unit.commit.id,
        "parents": list(unit.commit.parents),
        "title": unit.commit.title,
        "author": unit.commit.author,
        "date": unit.commit.date,
    }
    names = ("reds", "regressed", "weakened", "uncovered", "concerns", "hollow", "notes", "paths", "passing")
    found = {name: to_json(getattr(unit, name)) for name in names}
    rest = {name: to_json(getattr(unit, name)) for name in ("before", "after", "outcome", "why")}
    return {**plain, **rest, **found, "environment": unit.environment, "seconds": round(unit.seconds, 3)}


def read_report(path: Path) -> AuditReport:
    """Reads a saved report; `-` is standard input."""
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return parse_report(json.loads(data))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}", hint=_HINT) from None
    except ValueError as error:
        raise UserError(f"{path} is not JSON: {error}", hint=_HINT) from None
    except UserError as error:
        raise UserError(f"{path}: {error.message}", hint=error.hint) from None


def parse_report(data: Any) -> AuditReport:
    """Reads the JSON form; unknown keys are ignored."""
    match data:
        case {"schema": str(schema), "units": list(units), **rest} if schema == SCHEMA:
            fields = {name: one for name, one in rest.items() if name != "summary"}
            try:
                return from_json(AuditReport, {**fields, "units": [_nest_commit(unit) for unit in units]})
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise UserError(f"this is a damaged audit report: {error}", hint=_HINT) from error
        case _:
            raise UserError(f"this is not an audit report: it has no `schema: {SCHEMA}`", hint=_HINT)


def parse_unit(data: Any) -> UnitReport:
    try:
        unit = from_json(UnitReport, _nest_commit(data))
        # A suite's ids are the same in each unit of a long history: they are in memory once.
        return replace(unit, passing=tuple(map(sys.intern, unit.passing)))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"this is a damaged unit of an audit: {error}", hint=_HINT) from error


_HINT = "save one with `tdd audit RANGE --json > REPORT.json`"


def _nest_commit(unit: Mapping[str, Any]) -> dict[str, Any]:
    commit = {name: unit[name] for name in ("parents", "title", "author", "date") if name in unit}
    rest = {name: one for name, one in unit.items() if name not in commit}
    return {**rest, "commit": {"id": unit["commit"], **commit}}


def join_shards(reports: Sequence[AuditReport]) -> AuditReport:
    """Joins the parts of one audit; a part that is given twice counts once."""
    first = reports[0]
    parts: dict[int, AuditReport] = {}
    total = _shard(first)[1]
    for report in reports:
        part, parts_of_it = _shard(report)
        if (report.base, report.head, report.squash, parts_of_it) != (
            first.base,
            first.head,
            first.squash,
            total,
        ):
            raise UserError(
                f"these are parts of different audits: {first.range} ({total} parts) and {report.range}"
                f" ({parts_of_it}).",
                hint="give the reports of one range, made with one `--shard I/N`",
            )
        parts.setdefault(part, report)
    missing = [f"{part}/{total}" for part in range(1, total + 1) if part not in parts]
    if missing:
        raise UserError(
            f"the parts {', '.join(missing)} of {first.range} are missing.",
            hint=f"make them: `tdd audit {first.range} --shard {missing[0]} --json`",
        )
    longest = max(len(report.units) for report in parts.values())
    units = tuple(
        parts[part].units[at]
        for at in range(longest)
        for part in range(1, total + 1)
        if at < len(parts[part].units)
    )
    settings = {name: text for name, text in first.settings.items() if name != "shard"}
    return replace(first, units=units, settings=settings)


def _shard(report: AuditReport) -> tuple[int, int]:
    part, _, total = report.settings.get("shard", "1/1").partition("/")
    return int(part), int(total)
