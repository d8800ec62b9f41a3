"""`tdd test`: runs tests and says what each red is worth."""

from __future__ import annotations

import click

from verdigris.cli.context import tests_and_paths
from verdigris.cli.output import json_option
from verdigris.cli.testing import run


@click.command("test")
@click.argument("words", nargs=-1, metavar="[ID|PATH]...", shell_complete=tests_and_paths)
@json_option
@click.option("--quiet", "-q", is_flag=True, help="Only the summary.")
@click.option("--verbose", "-v", is_flag=True, help="Tracebacks, whole messages and output of every failure.")
def command(words: tuple[str, ...], *, as_json: bool, quiet: bool, verbose: bool) -> int:
    """Run tests by id, file or folder; all of the suite without a name.

    One failure is shown with its traceback, several with -v. A bare test name will do where only one test
    has it. A failure for the right reason prepares a claim.

    Exit code: 0 all passed, 1 some did not, 124 out of time.
    """
    return run(words, as_json=as_json, quiet=quiet, verbose=verbose)
