"""What `tdd init` will write, and how things stand when it and `tdd uninit` are done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.views.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verdigris.core.settings import Stack
    from verdigris.setup.initialisation import Initialised, Plan, Removed


def plan_lines(plan: Plan) -> list[Line]:
    if plan.content is None:
        return [Line(f"tdd.yaml is there and stays as it is: {_stacks(plan)}")]
    active = [
        line for line in plan.content.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
    shown = [Line(f"    {line}") for line in active]
    return [
        *(Line(f"found {told_stack(stack)}") for stack in plan.settings.stacks),
        *(Line(f"note: {note}") for note in plan.notes),
        Line("will write tdd.yaml (every key stands in it as a comment):"),
        *shown,
        Line(f"will record the configuration and the tree as it stands in {plan.log}"),
    ]


def _stacks(plan: Plan) -> str:
    return ", ".join(map(told_stack, plan.settings.stacks))


def told_stack(stack: Stack) -> str:
    tool = f" ({stack.junit.preset})" if stack.junit and stack.junit.preset else ""
    return f"{stack.language} with {stack.runner}{tool} in {stack.root}"


def done_lines(done: Initialised) -> list[Line]:
    head = "already set up" if done.already else "set up"
    none = [
        Line("there are no tests yet: write the first one, or bring old code under test in a refactor"),
        Line("that may touch uncovered lines: `tdd refactor begin --uncovered`"),
    ]
    return [Line(f"{head}; phase {done.phase}"), *([] if done.tests else none), Line(f"next: {done.next}")]


def removed_lines(removed: Removed) -> list[Line]:
    match removed.file:
        case "removed":
            what = "tdd.yaml is removed"
        case "kept":
            what = (
                "tdd.yaml is not as `tdd init` wrote it, so it is kept, and the next command adopts it again"
                " (`tdd uninit --force` removes it)"
            )
        case "missing":
            what = "there was no tdd.yaml"
    head = "Verdigris is no longer set up here" if removed.was_configured else "Verdigris was not set up here"
    return [Line(f"{head}; {what}; the log stays")]


def leftover_lines(found: Iterable[tuple[str, str]]) -> list[Line]:
    """What goes, and what stays with the reason."""
    return [Line(f"kept {what}: {why}" if why else f"will remove {what}") for what, why in found]


def gate_plan_lines(agents: Sequence[str]) -> list[Line]:
    if not agents:
        return []
    return [
        Line("will add hooks to .claude/settings.json (shared: commit it), beside what is there"),
        Line(
            "will add hooks and the shell prefix to .claude/settings.local.json (yours alone, not committed)"
        ),
    ]


def gate_lines(written: Sequence[str]) -> list[Line]:
    if not written:
        return [Line("Claude Code is connected already")]
    return [Line(f"Claude Code is connected by {' and '.join(written)}; restart it")]


def gate_removed_lines(taken_out: Sequence[str]) -> list[Line]:
    return (
        [Line(f"Claude Code is disconnected: its hooks are taken out of {' and '.join(taken_out)}")]
        if taken_out
        else []
    )
