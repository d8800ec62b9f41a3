"""`tdd aside`, `restore`, `displaced`, `test-bug`: edits that wait, and files that were overwritten."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import (
    deny,
    edits_set_aside,
    here,
    json_option,
    project,
    show,
    show_json,
    tests_and_paths,
)
from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.policy.next_move import next_move
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.state import LaidAside, WorktreeState
    from verdigris.turns.aside import Kept
    from verdigris.turns.test_bug import Reported


@click.command("aside")
@json_option
def aside_command(*, as_json: bool) -> int:
    """Set aside source edits that were made before a red; the next claim brings them back."""
    from verdigris.turns.aside import lay_unclaimed_aside
    from verdigris.turns.claim_check import following

    opened = project()
    answer = lay_unclaimed_aside(opened)
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(aside_document(answer, following(opened, opened.state())))
    else:
        show(aside_lines(answer, following(opened, opened.state())))
    return 0


def aside_lines(laid: LaidAside | None, following: str) -> list[Line]:
    if laid is None:
        return [Line("nothing to set aside: no source was edited before a red"), Line(f"next: {following}")]
    return [
        Line(f"set aside as {laid.id}, comes back with the next claim: {', '.join(laid.paths)}"),
        Line(f"next: {following}"),
    ]


def aside_document(laid: LaidAside | None, following: str) -> dict[str, Any]:
    if laid is None:
        return {"aside": None, "paths": [], "next": following}
    return {"aside": laid.id, "paths": list(laid.paths), "next": following}


def restored_lines(aside: str, paths: Sequence[str]) -> list[Line]:
    return [Line(f"your edits {aside} are back: {', '.join(paths)}")]


def restored_document(aside: str, paths: Sequence[str]) -> dict[str, Any]:
    return {"restored": aside, "paths": list(paths)}


@click.command("restore")
@click.argument("aside", metavar="ID", shell_complete=edits_set_aside)
@click.option("--show", "only_show", is_flag=True, help="Only print the edits, as a diff.")
@json_option
def restore_command(aside: str, *, only_show: bool, as_json: bool) -> int:
    """Bring back the edits that were set aside as ID (`tdd status` lists them)."""
    from verdigris.turns.aside import restore
    from verdigris.turns.aside import show as diff_of

    if only_show:
        click.echo(diff_of(project(), aside), nl=False)
        return 0
    answer = restore(project(), aside)
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(restored_document(aside, answer))
    else:
        show(restored_lines(aside, answer))
    return 0


@click.command("displaced")
@click.argument("path", required=False)
@json_option
def displaced_command(path: str | None, *, as_json: bool) -> int:
    """List files that Verdigris overwrote or removed, newest first; with PATH, print its newest bytes."""
    from verdigris.storage.paths import canonical
    from verdigris.turns.aside import list_displaced_files

    opened = project()
    name = None if path is None else canonical(opened.root, path, cwd=here()).path or path
    if as_json:
        show_json(displaced_document(tuple(list_displaced_files(opened, name))))
    elif name is None:
        show(displaced_lines(tuple(list_displaced_files(opened))))
    else:
        newest = next(list_displaced_files(opened, name), None)
        data = None if newest is None else opened.workspace.blob_bytes(newest.blob)
        if data is None:
            raise UserError(f"nothing is kept of {name}.", hint="`tdd displaced` lists what is")
        click.echo(data, nl=False)
    return 0


def displaced_lines(found: Sequence[Kept]) -> list[Line]:
    if not found:
        return [Line("Verdigris has overwritten nothing")]
    return [Line(f"{_when(each)}  {each.blob[:12]}  {each.path}") for each in found]


def _when(each: Kept) -> str:
    return datetime.fromtimestamp(each.ts / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def displaced_document(found: Sequence[Kept]) -> dict[str, Any]:
    return {"displaced": [{"path": k.path, "blob": k.blob, "event": k.seq, "ts": k.ts} for k in found]}


@click.command("test-bug", options_metavar="")
@click.argument("words", nargs=-1, metavar="FILE:LINE... WHY | close ID", shell_complete=tests_and_paths)
def test_bug_command(words: tuple[str, ...]) -> int:
    """Report a wrong test instead of editing it: back to red, with the source edits set aside.

    The next claim, whose red is proven without them, brings them back. The report excuses a revision
    of the one test at that line; it closes when that test is revised and red, or by `close ID`.
    """
    from verdigris.turns.test_bug import report_bug

    if words[:1] == ("close",):
        return _close(words[1:])
    *places, why = words or ("",)
    if not places:
        raise click.UsageError('it needs a place and a reason: tdd test-bug tests/test_x.py:12 "why"')
    opened = project()
    answer = report_bug(opened, places, why, cwd=here())
    if isinstance(answer, Deny):
        return deny(answer)
    show(reported_lines(answer, opened.state()))
    return 0


def _close(bugs: tuple[str, ...]) -> int:
    from verdigris.turns.test_bug import close_bug
    from verdigris.views.lines import Line

    if len(bugs) != 1:
        raise click.UsageError("name one open test-bug: tdd test-bug close b1")
    places = close_bug(project(), bugs[0])
    show([Line(f"test-bug {bugs[0]} closed: the test at {', '.join(places)} stays as it is")])
    return 0


def reported_lines(reported: Reported, state: WorktreeState) -> list[Line]:
    found = [Line(f"test-bug {reported.bug} recorded at {', '.join(reported.places)}; phase {state.phase}")]
    if reported.aside and reported.paths:
        paths = ", ".join(reported.paths)
        found.append(Line(f"set aside as {reported.aside}, comes back with the next claim: {paths}"))
    return [*found, Line(f"next: {next_move(state)}")]
