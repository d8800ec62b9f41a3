"""What `tdd init` will scaffold, what came of it, and what `tdd uninit` took away again."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from verdigris.cli.setup import told_stack
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.setup.making import Made
    from verdigris.setup.plan import Scaffold
    from verdigris.setup.undoing import Undone


def plan_lines(scaffold: Scaffold) -> list[Line]:
    return [Line(text) for text in _planned(scaffold)]


def _planned(scaffold: Scaffold) -> Iterator[str]:
    if scaffold.makes_repository:
        yield f"will make a git repository in {scaffold.root}"
    yield from (f"note: {note}" for note in scaffold.notes)
    yield from (f"will write {path}" for path in scaffold.files)
    yield from (f"{path} is there and stays as it is" for path in scaffold.kept)
    if scaffold.config is None:
        yield "tdd.yaml is there and stays as it is"
    else:
        stacks = ", ".join(map(told_stack, scaffold.settings.stacks))
        yield f"will write tdd.yaml: {stacks}; every key stands in it as a comment"


def done_lines(made: Made, scaffold: Scaffold) -> list[Line]:
    head = "already set up" if made.done.already and not scaffold.files else "set up"
    return [Line(f"{head}; phase {made.done.phase}"), *map(Line, _following(made, scaffold))]


def _following(made: Made, scaffold: Scaffold) -> Iterator[str]:
    if made.commit:
        yield f"the first commit is made: {made.commit[:10]}"
    if made.refused:
        yield f"git refused the first commit: {made.refused}"
    yield from (f"{'then' if index else 'next'}: {move}" for index, move in enumerate(_moves(made, scaffold)))


def _moves(made: Made, scaffold: Scaffold) -> Iterator[str]:
    yield from scaffold.before
    if not scaffold.has_kata:
        yield f"describe in {scaffold.kata} what is to be built"
    yield "`tdd test` shows that the tools work"
    yield "for the machine: name a model for each role in tdd.yaml (`roles:`)"
    files = shlex.join(dict.fromkeys((*made.uncommitted, "tdd.yaml")))
    yield f"commit that, since it works on what is committed: `git add -- {files} && git commit`"
    yield "`tdd run`"


def undone_lines(undone: Undone) -> list[Line]:
    match undone.scaffold:
        case "removed":
            return [Line(f"removed what `tdd init` wrote: {' '.join(undone.paths)}")]
        case "kept":
            return [Line(f"the scaffold stays, for there is work in it ({undone.worked})")]
        case "none":
            return []
