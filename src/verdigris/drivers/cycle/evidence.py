"""The evidence of a cycle: a page made of the log alone, so that it can be made again and compared."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from verdigris.core.value import value
from verdigris.drivers.cycle.identity import identity_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from verdigris.core.records import Actor
    from verdigris.core.state import Cycle

FOLDER = ".tdd/evidence"
_NAME = re.compile(r"EVID-(\d+)\.md")
_FIELD = re.compile(r"^(id|cycle|spec|worktree): (.+)$", re.MULTILINE)
ACTORS = (("planner", "plan"), ("test author", "red"), ("validator", "validate"), ("coder", "green"))


@value
class EvidenceFacts:
    """All that the page says."""

    id: str
    """`EVID-001`."""
    cycle: Cycle
    validation: Mapping[str, Any]
    """The record of the validation that passed."""
    settled: int
    """The event with the kernel's verdict."""
    concerns: tuple[str, ...]
    """What that verdict noticed."""
    at: int
    """Milliseconds since the epoch."""


def next_id(names: Sequence[str]) -> str:
    numbers = [int(found[1]) for name in names if (found := _NAME.fullmatch(name))]
    return f"EVID-{max(numbers, default=0) + 1:03}"


def path_of(evidence: str) -> str:
    return f"{FOLDER}/{evidence}.md"


def read_fields(text: str) -> Mapping[str, str]:
    """The fields of the front matter that name what to look for in the log."""
    head = text.split("\n---", 1)[0]
    return {found[1]: found[2].strip().strip('"') for found in _FIELD.finditer(head)}


def render(facts: EvidenceFacts) -> str:
    """The verdict first; the same facts give the same page."""
    parts = (
        _front_matter(facts),
        _verdict(facts),
        _identities(facts),
        _scenarios(facts),
        _reds(facts),
        _checks(facts),
        _kernel(facts),
    )
    return "\n\n".join(parts) + "\n"


def _front_matter(facts: EvidenceFacts) -> str:
    cycle = facts.cycle
    day = datetime.fromtimestamp(facts.at / 1000, UTC).date().isoformat()
    return "\n".join(
        (
            "---",
            f"id: {facts.id}",
            f'title: "Evidence for {cycle.spec_id}"',
            "kind: evidence",
            "status: draft",
            f"created: {day}",
            f"cycle: {cycle.id}",
            f"spec: {cycle.spec_id}",
            "links:",
            f"  - target: {cycle.spec_id}",
            "    relation: supports",
            "---",
        )
    )


def _verdict(facts: EvidenceFacts) -> str:
    cycle = facts.cycle
    tests, scenarios = len(cycle.tests), len(facts.validation.get("scenarios", {}))
    shown = f"{tests} tests for {scenarios} scenarios failed on assertions, were frozen, and pass"
    return "\n".join(
        (
            f"# {facts.id}: {cycle.spec_id} is implemented; validator PASS, kernel accepted",
            "",
            f"{shown} on the code that is committed with this page.",
            "",
            "## Structured Fields",
            "",
            "evidence_type: test",
            "verdict: supports",
            "congruence_level: 3",
            "",
            "## Spec",
            "",
            f"- spec: {cycle.spec_id} (`{cycle.spec_path}`)",
            f"- spec_hash: {cycle.frozen_hash}",
            f"- plan: `{cycle.plan}` ({cycle.plan_hash})",
        )
    )


def _identities(facts: EvidenceFacts) -> str:
    workers = facts.cycle.workers
    lines = [f"| {name} | {_names(workers.get(stage, ()))} |" for name, stage in ACTORS]
    return "\n".join(("## Identities", "", "| role | who |", "|---|---|", *lines))


def _names(actors: Sequence[Actor]) -> str:
    return ", ".join(f"`{identity_of(actor)}`" for actor in actors) or "nobody"


def _scenarios(facts: EvidenceFacts) -> str:
    rows = [
        f"| `{name}` | {one['digest'][:12]} | {', '.join(f'`{test}`' for test in one['tests'])} |"
        for name, one in facts.validation.get("scenarios", {}).items()
    ]
    return "\n".join(("## Scenarios", "", "| scenario | hash | tests |", "|---|---|---|", *rows))


def _reds(facts: EvidenceFacts) -> str:
    rows = [
        f"| `{test}` | {_cell(red['failure'])} | `{red['place']}` |"
        for test, red in sorted(facts.validation.get("reds", {}).items())
    ]
    return "\n".join(("## Red evidence", "", "| test | failure | place |", "|---|---|---|", *rows))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")[:160]


def _checks(facts: EvidenceFacts) -> str:
    rows = list(_check_rows(facts.validation))
    judged = facts.validation.get("judgement")
    said = (
        f"A judgement was given besides: {judged['verdict']}."
        if judged
        else "Nobody judged besides the kernel's checks."
    )
    return "\n".join(("## Validation: PASS", "", "| check | result |", "|---|---|", *rows, "", said))


def _check_rows(validation: Mapping[str, Any]) -> Iterator[str]:
    for check in validation.get("checks", ()):
        notes = "; ".join(check.get("notes", ()))
        noted = f"; noted: {_cell(notes)}" if notes else ""
        yield f"| {check['name']} | no finding{noted} |"


def _kernel(facts: EvidenceFacts) -> str:
    cycle = facts.cycle
    both = [who for who in cycle.workers.get("green", ()) if who in cycle.authors]
    shared = [f"`{identity_of(who)}` wrote tests and code" for who in both]
    noticed = [f"- concern: {concern}" for concern in (*shared, *facts.concerns)]
    plan, tests = cycle.commits.get("plan", ""), cycle.commits.get("red", "")
    return "\n".join(
        (
            "## Kernel",
            "",
            f"- verdict: accepted (event {facts.settled}; cycle events {cycle.first} to {cycle.settled})",
            f"- tests frozen: tree {cycle.frozen}",
            f"- code accepted: tree {cycle.accepted}",
            f"- test bugs reported: {cycle.bugs}; rounds of validation: {cycle.rounds + 1}",
            f"- commits: plan {plan}, tests {tests}; the code is in the commit that adds this page",
            *noticed,
            "",
            f"`tdd cycle verify {facts.id}` compares this page with the log and with git.",
        )
    )
