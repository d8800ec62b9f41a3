"""`tdd test`: the kernel runs the tests."""

from __future__ import annotations

import click

from verdigris.cli.opening import here, project
from verdigris.cli.output import json_option, show, show_json
from verdigris.cli.progress import live
from verdigris.core.errors import TimedOut
from verdigris.core.report import Ended


@click.command("test")
@click.argument("words", nargs=-1, metavar="[ID|PATH]...")
@json_option
@click.option("--quiet", "-q", is_flag=True, help="Only the summary.")
def command(words: tuple[str, ...], *, as_json: bool, quiet: bool) -> int:
    """Run tests by id, file or folder; all of the suite without a name.

    A failure for the right reason prepares a claim. Exit code: 0 all passed, 1 some did not, 124 out of time.
    """
    from verdigris.kernel.testing import run_tests
    from verdigris.views import tested as view

    with live() as progress:
        tested = run_tests(project(), words, cwd=here(), progress=progress)
    if as_json:
        show_json(view.document(tested))
    else:
        show(view.lines(tested, quiet=quiet))
    if tested.report is not None and tested.report.ended is Ended.TIMEOUT:
        return TimedOut.exit_code
    return 0 if tested.passed else 1
