"""`judge_refactor`: has the same suite, with every assertion kept, run every new line?"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from verdigris.core.report import Status, TestReport
from verdigris.core.value import value
from verdigris.core.verdict import Before, Kind, Tool, Verdict, reason_for, regressions, rewriting, untrusted

if TYPE_CHECKING:
    from collections.abc import Mapping


@value
class Finding:
    path: str
    line: int
    what: str


@value
class Restructured:
    """What a refactor did, as observed at its end."""

    before: Mapping[str, Status]
    """Native ids at its beginning."""
    after: TestReport
    frozen: tuple[str, ...] = ()
    """Specification, switches and runner keys that changed."""
    findings: tuple[Finding, ...] = ()
    """Assertions that were not kept."""
    added: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """New executable lines that tests must run."""
    tools: tuple[Tool, ...] = ()
    moved: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    """Test data and specs that the run itself wrote to, without effect outside."""
    undermined: tuple[str, ...] = ()
    """What runs below the tests and is not as it was at the beginning."""
    noted: tuple[str, ...] = ()
    """What else was found out about the run."""


def judge_refactor(seen: Restructured) -> Verdict:
    changed = (*seen.frozen, *seen.undermined)
    if changed:
        return Verdict(Kind.TAMPERED, tuple(f"{path} changed in a refactor" for path in changed), seen.noted)
    broken = (
        *untrusted(seen.after),
        *(f"{path} changed while the tests ran: end again" for path in seen.moved),
        *map(rewriting, seen.rewritten),
    )
    if broken and (seen.before or seen.after.results):
        return Verdict(Kind.BROKEN, broken, seen.noted)
    if seen.findings:
        weaker = tuple(f"{f.path}:{f.line}: {f.what}" for f in seen.findings)
        return Verdict(Kind.WEAKENED, weaker, seen.noted)
    lost = _lost(seen)
    tools = tuple(f"{t.name} failed: {t.command}" for t in seen.tools if not t.ok)
    unrun = _unrun(seen)
    if lost or tools or unrun:
        return Verdict(Kind.REGRESSED, (*lost, *tools, *unrun), seen.noted)
    return Verdict(Kind.ACCEPTED, (), seen.noted)


def _lost(seen: Restructured) -> tuple[str, ...]:
    """Each test that passed still does, under its own name or, one to one, under a new one."""
    not_passing = regressions(Before(seen.before), seen.after, ())
    reported = {r.native_id for r in seen.after.results}
    gone = [i for i in not_passing if i not in reported]
    renamed_to = [r for r in seen.after.results if r.status is Status.PASS and r.native_id not in seen.before]
    failing = [i for i in not_passing if i in reported]
    unmatched = gone[len(renamed_to) :]
    return (
        *(reason_for(seen.after, i, i) for i in failing),
        *(f"{i}: passed before, and no renamed test stands in for it" for i in unmatched),
    )


def _unrun(seen: Restructured) -> tuple[str, ...]:
    reasons = []
    for path, lines in seen.added.items():
        idle = sorted(lines - seen.after.lines.get(path, frozenset()))
        if idle:
            reasons.append(f"{path}:{idle[0]} is new and no test runs it ({len(idle)} such lines)")
    return tuple(reasons)
