"""A unit of a fleet: a line of the tasks, its `tdd` command, and the meaning of that command's end."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from verdigris.core.errors import UserError
from verdigris.core.value import value
from verdigris.drivers.answer_keys import answer_key

SCHEMA = "verdigris.fleet/1"
_FIELDS = {"audit": ("commit",), "machine": (), "replay": ("corpus", "id")}
"""The fields that each kind needs besides `repo`."""
_OPTIONAL = {"audit": {"options"}, "machine": {"steps", "options"}, "replay": {"options"}}
_VOLATILE = frozenset({"seconds", "time", "duration_ms"})
"""Keys that differ from run to run and are no part of an answer."""
_NO_ANSWER = frozenset({69, 70, 130, 137, 143})
"""Exit codes of a failing machine: a tool is missing, a disk is full, somebody stopped it."""
_VERDICTS = frozenset({0, 1})


class UnitOutcome(StrEnum):
    VERDICT = "verdict"
    UNVERIFIED = "unverified"
    """It could not be judged; that blames nobody, and is not tried again."""
    INFRASTRUCTURE = "infrastructure"
    """The machine failed: it is tried again."""


@value
class FleetUnit:
    key: str
    """The name of its result: made of what was asked and of our code."""
    kind: str
    repo: str
    """The folder in which the command runs."""
    words: tuple[str, ...]
    """The arguments of `tdd`."""
    asked: Mapping[str, Any]
    """The line as it was written."""


@value
class UnitEnd:
    outcome: UnitOutcome
    answers: tuple[str, ...] = ()
    """The words of a verdict: `test-driven`, `holds`, `kata-done` …"""
    why: str = ""
    report: Any = None
    """What the command printed as JSON."""


def read_units(text: str, folder: str) -> tuple[FleetUnit, ...]:
    """Reads one unit from each line; paths are relative to `folder`. The same line twice is one unit."""
    units: dict[str, FleetUnit] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            unit = _read_unit(number, line, folder)
            units.setdefault(unit.key, unit)
    if not units:
        raise UserError("there is no unit in the tasks.", hint=_EXAMPLE)
    return tuple(units.values())


_EXAMPLE = 'a line is such as {"kind": "audit", "repo": "PATH", "commit": "ID"}; `tdd help fleet`'


def _read_unit(number: int, line: str, folder: str) -> FleetUnit:
    try:
        task = json.loads(line)
    except ValueError as error:
        raise UserError(f"line {number} of the tasks is not JSON: {error}.", hint=_EXAMPLE) from None
    if not isinstance(task, dict) or task.get("kind") not in _FIELDS:
        kinds = ", ".join(_FIELDS)
        raise UserError(f"line {number} of the tasks has no known kind.", hint=f"kind is one of {kinds}")
    kind = task["kind"]
    needed = ("repo", *_FIELDS[kind])
    missing = [name for name in needed if not isinstance(task.get(name), str) or not task[name]]
    if missing:
        raise UserError(f"line {number} of the tasks lacks {missing[0]!r}, a text.", hint=_EXAMPLE)
    if unknown := sorted(task.keys() - {"kind", *needed} - _OPTIONAL[kind]):
        raise UserError(f"line {number} of the tasks has {unknown[0]!r}, which is not known.", hint=_EXAMPLE)
    options = task.get("options", [])
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise UserError(f"line {number} of the tasks: `options` is not a list of texts.", hint=_EXAMPLE)
    if not isinstance(task.get("steps", 1), int):
        raise UserError(f"line {number} of the tasks: `steps` is not a number.", hint=_EXAMPLE)
    repo = _absolute(folder, task["repo"])
    return FleetUnit(answer_key(task), kind, repo, _words(task, options, folder), task)


def _words(task: Mapping[str, Any], options: list[str], folder: str) -> tuple[str, ...]:
    match task:
        case {"kind": "audit", "commit": str(commit)}:
            return ("audit", "--json", *options, "--", commit)
        case {"kind": "replay", "corpus": str(corpus), "id": str(name)}:
            return ("corpus", "verify", "--json", "--id", name, *options, "--", _absolute(folder, corpus))
        case _:
            steps = ("--steps", str(task["steps"])) if "steps" in task else ()
            return ("run", "--json", *steps, *options)


def _absolute(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder, path))  # noqa: PTH118 - text; it may be another machine's


def choose_shard(units: Iterable[FleetUnit], part: int, parts: int) -> tuple[FleetUnit, ...]:
    """Chooses by key: parts are the same on every machine, and new lines move no old one."""
    return tuple(unit for unit in units if int(unit.key, 16) % parts == part - 1)


def judge_end(unit: FleetUnit, exit_code: int, output: str, error: str = "") -> UnitEnd:
    """Judges the end of a unit's command; a negative code is a signal."""
    report = _last_document(output)
    why = _complaint(report, error) or f"`tdd {' '.join(unit.words)}` ended with exit code {exit_code}"
    if exit_code < 0 or exit_code in _NO_ANSWER or (exit_code in _VERDICTS and report is None):
        return UnitEnd(UnitOutcome.INFRASTRUCTURE, why=why)
    if exit_code not in _VERDICTS:
        return UnitEnd(UnitOutcome.UNVERIFIED, why=why, report=strip_volatile(report))
    answers = tuple(_answers(unit, report))
    if "infrastructure" in answers:
        return UnitEnd(UnitOutcome.INFRASTRUCTURE, answers, "the audit says that the machine failed")
    outcome = UnitOutcome.UNVERIFIED if set(answers) <= {"unverified"} else UnitOutcome.VERDICT
    return UnitEnd(outcome, answers, report=strip_volatile(report))


def _last_document(output: str) -> Any:
    """Returns the last line that is JSON, which says how a run ended."""
    for line in reversed(output.splitlines()):
        try:
            return json.loads(line)
        except ValueError:
            continue
    return None


def _complaint(report: Any, error: str) -> str:
    match report:
        case (
            {"error": {"message": str(message)}}
            | {"denied": {"reason": str(message)}}
            | {"why": str(message)}
        ):
            return message
        case _:
            return error.strip().splitlines()[-1] if error.strip() else ""


def _answers(unit: FleetUnit, report: Any) -> list[str]:
    match unit.kind, report:
        case "audit", {"units": list(units)}:
            return [str(unit.get("outcome", "")) for unit in units if isinstance(unit, dict)] or ["no-code"]
        case "replay", {"triples": list(triples)}:
            return [str(triple.get("answer", "")) for triple in triples if isinstance(triple, dict)]
        case _, {"outcome": str(outcome)}:
            return [outcome]
        case _, {"event": str(event)}:
            return [event]
        case _:
            return []


def strip_volatile(document: Any) -> Any:
    """Drops times, so that the same unit gives the same result whenever it ran."""
    match document:
        case dict():
            return {name: strip_volatile(item) for name, item in document.items() if name not in _VOLATILE}
        case list():
            return [strip_volatile(item) for item in document]
        case _:
            return document
