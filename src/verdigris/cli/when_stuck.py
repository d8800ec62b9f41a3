"""`tdd aside`, `restore`, `displaced`, `test-bug`; and `off`, `on`, `revise`, `holdout`, a person's alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import (
    BACK_AT_CLAIM,
    edits_set_aside,
    here,
    json_option,
    next_here,
    persons_command,
    project,
    show,
    show_result,
    tests_and_paths,
)
from verdigris.cli.context import paths as complete_paths
from verdigris.cli.group import OfferingGroup
from verdigris.cli.testing import run_after
from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.state import LaidAside, Phase, WorktreeState
from verdigris.views.lines import Line, count_of, time_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.turns.aside import Kept
    from verdigris.turns.test_bug import Reported


@click.group("aside", invoke_without_command=True)
@json_option
@click.pass_context
def aside_command(context: click.Context, *, as_json: bool) -> int:
    """Set aside source edits that were made before a red; a claim of their files brings them back.

    The reds of this change run again, so that they can be claimed.
    """
    if context.invoked_subcommand is not None:
        return 0
    from verdigris.turns.aside import lay_unclaimed_aside

    opened = project()
    answer = lay_unclaimed_aside(opened)
    state = opened.state()
    if answer is not None and not isinstance(answer, Deny) and state.brought_reds and not state.test_bugs:
        reds = [red.test_id for red in state.brought_reds]
        return run_after(
            opened, reds, aside_lines(answer), lambda ran: aside_document(answer, ran.next), as_json=as_json
        )
    following = next_here(opened)
    return show_result(
        answer,
        lambda laid: [*aside_lines(laid), Line(f"next: {following}")],
        lambda laid: aside_document(laid, following),
        as_json=as_json,
    )


def aside_lines(laid: LaidAside | None) -> list[Line]:
    if laid is None:
        return [Line("nothing to set aside: no source was edited before a red")]
    return [
        Line(f"set aside as {laid.id}, {BACK_AT_CLAIM}: {', '.join(laid.paths)}"),
        Line(f"  for a refactor: `tdd refactor begin`, then `tdd restore {laid.id}`"),
    ]


@aside_command.command("drop")
@click.argument("aside", metavar="ID", shell_complete=edits_set_aside)
@json_option
def drop_command(aside: str, *, as_json: bool) -> int:
    """Give up the edits that were set aside as ID; `tdd displaced` keeps their files."""
    from verdigris.turns.aside import drop

    opened = project()
    paths = drop(opened, aside)
    following = next_here(opened)
    kept = f"{aside} is given up; `tdd displaced` keeps {', '.join(paths)}"
    return show_result(
        paths,
        lambda _: [Line(kept), Line(f"next: {following}")],
        lambda _: {"dropped": aside, "paths": list(paths), "next": following},
        as_json=as_json,
    )


def aside_document(laid: LaidAside | None, following: str) -> dict[str, Any]:
    return {"aside": laid and laid.id, "paths": list(laid.paths) if laid else [], "next": following}


@click.command("restore")
@click.argument("names", nargs=-1, metavar="[ID|PATH...]", shell_complete=edits_set_aside)
@click.option("--show", "only_show", is_flag=True, help="Only print the edits, as a diff.")
@json_option
def restore_command(names: tuple[str, ...], *, only_show: bool, as_json: bool) -> int:
    """Bring back the edits that were set aside as ID (`tdd status` lists them); without ID, the only ones.

    PATH...: put frozen files back as they were at the claim; what had been written is kept (`tdd displaced`).
    """
    from verdigris.storage.paths import canonical
    from verdigris.turns.aside import is_path, restore, restore_frozen
    from verdigris.turns.aside import show as diff_of

    opened = project()
    aside = names[0] if names else _only_aside(opened.state())
    if only_show:
        click.echo(diff_of(opened, aside), nl=False)
        return 0
    if is_path(opened, aside):
        paths = [canonical(opened.root, name, cwd=here()).path or name for name in names]
        answer, what = restore_frozen(opened, paths), "put back as the turn froze it"
    else:
        answer, what = restore(opened, aside), f"your edits {aside} are back"
    return show_result(
        answer,
        lambda paths: [Line(f"{what}: {', '.join(paths)}"), Line(f"next: {next_here(opened)}")],
        lambda paths: restored_document(aside, paths, next_here(opened)),
        as_json=as_json,
    )


def _only_aside(state: WorktreeState) -> str:
    kept = [f"{laid.id} ({', '.join(laid.paths)})" for laid in state.aside.values()]
    if not kept:
        raise UserError("nothing is set aside.", hint="`tdd displaced` lists what Verdigris overwrote")
    if len(kept) > 1:
        hint = f"name one of them: `tdd restore {next(iter(state.aside))}`"
        raise UserError(f"several edits are set aside: {', '.join(kept)}.", hint=hint)
    return next(iter(state.aside))


def restored_document(aside: str, paths: Sequence[str], following: str) -> dict[str, Any]:
    return {"restored": aside, "paths": list(paths), "next": following}


@click.command("displaced")
@click.argument("path", required=False)
@json_option
def displaced_command(path: str | None, *, as_json: bool) -> int:
    """List files that Verdigris overwrote or removed, newest first; with PATH, print its newest bytes."""
    from verdigris.storage.paths import canonical
    from verdigris.turns.aside import list_displaced_files

    opened = project()
    name = None if path is None else canonical(opened.root, path, cwd=here()).path or path
    if as_json or name is None:
        found = tuple(list_displaced_files(opened, name))
        rows = [{"path": k.path, "blob": k.blob, "event": k.seq, "ts": k.ts} for k in found]
        return show_result(found, displaced_lines, lambda _: {"displaced": rows}, as_json=as_json)
    newest = next(list_displaced_files(opened, name), None)
    data = None if newest is None else opened.workspace.blob_bytes(newest.blob)
    if data is None:
        raise UserError(f"nothing is kept of {name}.", hint="`tdd displaced` lists what is")
    click.echo(data, nl=False)
    return 0


def displaced_lines(found: Sequence[Kept]) -> list[Line]:
    if not found:
        return [Line("Verdigris has overwritten nothing")]
    return [Line(f"{time_of(each.ts)}  {each.blob[:12]}  {each.path}") for each in found]


@click.command("test-bug", options_metavar="")
@click.argument("words", nargs=-1, metavar="FILE:LINE... WHY | close ID", shell_complete=tests_and_paths)
def test_bug_command(words: tuple[str, ...]) -> int:
    """Report a wrong test instead of editing it: back to red, with the source edits set aside.

    The next claim, whose red is proven without them, brings them back. The report excuses a revision
    of the one test at that line; it ends when a run sees that test pass, revised or gone, or by `close ID`.
    """
    from verdigris.turns.test_bug import close_bug, report_bug

    if words[:1] == ("close",):
        if len(words) != 2:  # noqa: PLR2004 - `close` and the report
            raise click.UsageError("name one open test-bug: tdd test-bug close b1")
        opened = project()
        became = close_bug(opened, words[1])
        show([Line(f"test-bug {words[1]} closed: {became}"), Line(f"next: {next_here(opened)}")])
        return 0
    *places, why = words or ("",)
    if not places:
        raise click.UsageError('it needs a place and a reason: tdd test-bug tests/test_x.py:12 "why"')
    opened = project()
    answer = report_bug(opened, places, why, cwd=here())
    return show_result(answer, lambda reported: reported_lines(reported, next_here(opened)))


def reported_lines(reported: Reported, following: str) -> list[Line]:
    where = ", ".join(reported.places)
    lines = [Line(f"test-bug {reported.bug} recorded at {where}; phase {reported.phase}")]
    if reported.aside and reported.paths:
        paths = ", ".join(reported.paths)
        lines.append(Line(f"set aside as {reported.aside}, {BACK_AT_CLAIM}: {paths}"))
    return [*lines, Line(f"next: {following}")]


@click.command("on")
@persons_command("on")
def on_command() -> int:
    """Switch the laws on again; the tree as it stands is the new baseline."""
    from verdigris.turns.person import switch_on

    opened = project()
    if opened.state().phase is not Phase.OFF:
        show([Line("the laws are on already"), *switched_lines(opened.state(), next_here(opened))])
        return 0
    return show_result(switch_on(opened), lambda _: switched_lines(opened.state(), next_here(opened)))


def switched_lines(state: WorktreeState, following: str) -> list[Line]:
    why = f": {state.off_why}" if state.off_why else ""
    return [Line(f"phase {state.phase}{why}"), Line(f"next: {following}")]


@click.command("off")
@click.option("--why", required=True, help="The reason; recorded in the log.")
@persons_command("off")
def off_command(why: str) -> int:
    """Switch the laws off in this worktree. An open turn ends without a verdict; its edits stay.

    An open cycle ends, too.
    """
    from verdigris.turns.person import switch_off

    opened = project()
    cycle = opened.state().open_cycle
    shown = show_result(switch_off(opened, why), lambda _: switched_lines(opened.state(), next_here(opened)))
    if cycle is not None and shown == 0:
        show([Line(f"the cycle {cycle.id} on {cycle.spec_id} ended, too; start it again after `tdd on`")])
    return shown


@click.command("revise")
@click.argument("names", nargs=-1, required=True, metavar="TEST_ID|PATH...", shell_complete=tests_and_paths)
@click.option("--why", required=True, metavar="WHY", help="The reason; it stays in the log.")
@persons_command("revise")
def revise_command(names: tuple[str, ...], *, why: str) -> int:
    """Let tests be deleted, skipped or weakened, with a reason (a person's command)."""
    from verdigris.turns.person import revise

    opened = project()
    return show_result(
        revise(opened, names, why),
        lambda done: [*(Line(f"revised: {name}") for name in done), Line(f"next: {next_here(opened)}")],
    )


@click.group("holdout", cls=OfferingGroup)
def holdout_command() -> None:
    """Hidden tests: only verdicts run them, and their output is not shown."""


@holdout_command.command("add")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
@persons_command("holdout")
def add(paths: tuple[str, ...]) -> int:
    """Take uncommitted test files out of the tree; settlements run them.

    A settlement that they do not pass is `overfit` and says no more than that. Exit code: 0, or 3 denied.
    """
    from verdigris.turns.person import hold_out

    return show_result(hold_out(project(), paths, cwd=here()), partial(_path_lines, "held out"))


@holdout_command.command("release")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", shell_complete=complete_paths)
@persons_command("holdout")
def release(paths: tuple[str, ...]) -> int:
    """Bring held-out tests back into the tree. Exit code: 0, or 3 denied."""
    from verdigris.turns.person import release

    return show_result(release(project(), paths, cwd=here()), partial(_path_lines, "released"))


@holdout_command.command("list")
@json_option
def list_(*, as_json: bool) -> int:
    """Name what is held out."""
    held_out = list(project().state().held_out)
    return show_result(held_out, partial(map, Line), lambda paths: {"held_out": paths}, as_json=as_json)


def _path_lines(what: str, paths: Sequence[str]) -> list[Line]:
    return [Line(f"{what}: {count_of(len(paths), 'file')}"), *(Line(f"  {path}") for path in paths)]
