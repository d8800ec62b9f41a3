"""Decides what each stage of a cycle lets an actor do, and names the next step."""

from __future__ import annotations

from verdigris.core.actions import Deny
from verdigris.core.paths import PathClass
from verdigris.core.state import PASS, Cycle, Stage

SOURCE_WAITS = "cycle-red"
"""The rule that keeps source closed while the tests are written."""


_WHO = {
    Stage.PLAN: "The plan is being made: until it is complete, no test and no source is written.",
    Stage.VALIDATE: "The tests are being validated: neither they nor source change until the verdict.",
    Stage.GREEN: "The cycle's tests are frozen, and no turn is open on them.",
}


_AUTHORED = {
    Stage.RED: frozenset({PathClass.TEST, PathClass.SOURCE}),
    Stage.GREEN: frozenset({PathClass.SOURCE}),
}


def authored_classes(cycle: Cycle | None) -> frozenset[PathClass]:
    """The classes that the open stage writes; who wrote them is recorded, whichever tool was used."""
    return frozenset() if cycle is None else _AUTHORED.get(cycle.stage, frozenset())


def closes_stage(denial: Deny) -> bool:
    """Whether the stage closes this class of files, whatever the content."""
    return denial.rule in {f"cycle-{stage}" for stage in _WHO}


def describe_standing(cycle: Cycle) -> str:
    return f"the cycle {cycle.id} on {cycle.spec_id} is not finished: it is in stage {cycle.stage}"


def deny_write(cycle: Cycle, name: str) -> Deny:
    """Denies writing a test, source or spec that the stage closes."""
    why = "The cycle waits for a person." if cycle.stopped else _WHO.get(cycle.stage, "")
    return Deny(f"cycle-{cycle.stage}", f"{name}: {why}", next_step(cycle))


def deny_spec(cycle: Cycle) -> Deny:
    return Deny(
        "cycle-spec",
        f"{cycle.spec_path} is the spec of the open cycle {cycle.id}: it cannot be edited, only superseded.",
        supersede_steps(cycle),
    )


def supersede_steps(cycle: Cycle) -> str:
    return (
        f"leave it as it was; if a requirement must change, a person runs `tdd cycle abort --why WHY`, "
        f"`tdd spec supersede {cycle.spec_path}`, activates the new spec, and starts a cycle on that"
    )


def deny_source(cycle: Cycle, path: str) -> Deny:
    """Denies more than stubs while the tests are being written."""
    return Deny(
        SOURCE_WAITS,
        f"{path or 'this edit'}: source waits until the tests of {cycle.spec_id} are validated and frozen; "
        "now only stubs marked STUB:TDD are written, which return a value, so that an assertion fails.",
        next_step(cycle),
    )


def deny_claim(cycle: Cycle, test_id: str) -> Deny | None:
    """In a cycle, freezing claims. By hand only a frozen test can be claimed, if its turn ended early."""
    if cycle.stage is not Stage.GREEN or cycle.stopped:
        return Deny(
            "cycle-claim",
            f"In a cycle nobody claims by hand: `tdd cycle freeze` does (stage {cycle.stage}).",
            next_step(cycle),
        )
    if test_id not in cycle.tests:
        return Deny("cycle-claim", f"{test_id} is no test that this cycle froze.", next_step(cycle))
    return None


def next_step(cycle: Cycle, *, turn: bool = False) -> str:
    """The move that leads on; `turn`: the coder's turn is open."""
    if cycle.bug:
        return (
            f"a person or the validator rules on {cycle.bug} and says why: tdd cycle test-bug uphold opens "
            "the tests again, tdd cycle test-bug dismiss lets the coder go on"
        )
    if cycle.stopped:
        return "a person decides and says why: tdd cycle resume --why, or tdd cycle abort --why"
    match cycle.stage:
        case Stage.PLAN:
            return f"write the plan to {cycle.plan}, then `tdd cycle advance`"
        case Stage.RED:
            return (
                "write tests that carry `@scenario:` and an id in a comment and fail on an assertion, then "
                f"`tdd cycle advance`; `tdd spec show {cycle.spec_path}` lists the ids"
            )
        case Stage.VALIDATE if cycle.verdict == PASS:
            return "`tdd cycle freeze`"
        case Stage.VALIDATE:
            return "`tdd cycle validate`, by somebody who did not write the tests"
        case Stage.GREEN if cycle.proven:
            return "`tdd cycle advance` writes the evidence"
        case Stage.GREEN if turn:
            return "make the frozen tests pass, then `tdd settle`"
        case Stage.GREEN:
            return "`tdd cycle resume` opens the coder's turn again"
        case Stage.DONE:
            return f"{cycle.evidence} has the evidence; review the code"
