"""`tdd revise`: records the reason why a test or an assertion is given up."""

from __future__ import annotations

import click

from verdigris.cli.context import persons_only, project, tests_and_paths
from verdigris.cli.output import deny, show
from verdigris.views.lines import Line, visible


@click.command("revise")
@click.argument("names", nargs=-1, required=True, metavar="TEST_ID|PATH...", shell_complete=tests_and_paths)
@click.option("--why", required=True, metavar="WHY", help="The reason; it stays in the log.")
def command(names: tuple[str, ...], *, why: str) -> int:
    """Let tests be deleted, skipped or weakened, with a reason (a person's command)."""
    from verdigris.turns.person import revise

    if denial := persons_only("revise"):
        return deny(denial)
    show([Line(f"revised: {visible(name)}") for name in revise(project(), names, why)])
    return 0
