"""`tdd on`: a person switches the laws on again."""

from __future__ import annotations

import click

from verdigris.cli import switched as view
from verdigris.cli.opening import persons_only, project
from verdigris.cli.output import deny, show
from verdigris.core.state import Phase
from verdigris.views.lines import Line


@click.command("on")
def command() -> int:
    """Switch the laws on again; the tree as it stands is the new baseline."""
    from verdigris.turns.switches import switch_on

    if denial := persons_only("on"):
        return deny(denial)
    opened = project()
    if opened.state().phase is not Phase.OFF:
        show([Line("the laws are on already"), *view.lines(opened.state())])
        return 0
    if denial := switch_on(opened):
        return deny(denial)
    show(view.lines(opened.state()))
    return 0
