"""What `tdd test` does, and its usual words, which are read without click: to load that takes longer than to
start Python, and this command is run after every edit.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from verdigris.cli.opening import here, project
from verdigris.cli.output import show, show_json
from verdigris.cli.progress import live
from verdigris.core.errors import TimedOut
from verdigris.core.report import Ended, Status
from verdigris.storage.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.report import Place
    from verdigris.storage.project import Project

JSON, QUIET, VERBOSE = ("--json",), ("--quiet", "-q"), ("--verbose", "-v")


def run_plain(words: Sequence[str]) -> int | None:
    """The exit code; None where there are options that only click reads."""
    names = [word for word in words if not word.startswith("-")]
    options = {word for word in words if word.startswith("-")}
    if not options.issubset((*JSON, *QUIET, *VERBOSE)):
        return None
    as_json, quiet, verbose = (not options.isdisjoint(spellings) for spellings in (JSON, QUIET, VERBOSE))
    return run(names, as_json=as_json, quiet=quiet, verbose=verbose)


def run(words: Sequence[str], *, as_json: bool, quiet: bool, verbose: bool) -> int:
    from verdigris.cli import tested as view
    from verdigris.turns.test import run_tests

    opened = project()
    with live() as progress:
        tested = run_tests(opened, words, cwd=here(), progress=progress, again=verbose)
    failed = sum(run.status in {Status.FAIL, Status.ERROR} for run in tested.tests)
    if as_json:
        show_json(view.document(tested))
    else:
        source = partial(_source_line, opened)
        show(view.lines(tested, quiet=quiet, detailed=verbose or failed == 1, source=source))
    if tested.report is not None and tested.report.ended is Ended.TIMEOUT:
        return TimedOut.exit_code
    return 0 if tested.passed else 1


def _source_line(opened: Project, place: Place) -> str:
    text = text_of(opened, place.path) or ""
    return next(islice(text.splitlines(), place.line - 1, place.line), "")
