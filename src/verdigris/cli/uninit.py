"""`tdd uninit`: take back what `tdd init` did."""

from __future__ import annotations

import click

from verdigris.cli.opening import PERSON, here
from verdigris.cli.output import show


@click.command("uninit")
@click.option("--force", is_flag=True, help="Remove tdd.yaml although it is not as `tdd init` wrote it.")
def command(*, force: bool) -> int:
    """Undo `tdd init`: remove tdd.yaml if it is as init wrote it. The log stays."""
    from verdigris.kernel.setup import uninitialise
    from verdigris.views import setup as view

    show(view.removed_lines(uninitialise(here(), PERSON, force=force)))
    return 0
