"""What `tdd test` does, and its usual words, which are read without click: to load that takes longer than to
start Python, and this command is run after every edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.cli.opening import here, project
from verdigris.cli.output import show, show_json
from verdigris.cli.progress import live
from verdigris.core.errors import TimedOut
from verdigris.core.report import Ended

if TYPE_CHECKING:
    from collections.abc import Sequence

JSON, QUIET = ("--json",), ("--quiet", "-q")


def run_plain(words: Sequence[str]) -> int | None:
    """The exit code; None where there are options that only click reads."""
    names = [word for word in words if not word.startswith("-")]
    options = {word for word in words if word.startswith("-")}
    if not options.issubset((*JSON, *QUIET)):
        return None
    return run(names, as_json=not options.isdisjoint(JSON), quiet=not options.isdisjoint(QUIET))


def run(words: Sequence[str], *, as_json: bool, quiet: bool) -> int:
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
