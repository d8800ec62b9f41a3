"""`tdd stub`: declares what a test needs to load, with bodies that fail."""

from __future__ import annotations

import click

from verdigris.cli.context import here, project, tests_and_paths
from verdigris.cli.output import deny, json_option, show, show_json
from verdigris.core.actions import Deny


@click.command("stub")
@click.argument("test", metavar="TEST_ID|PATH", shell_complete=tests_and_paths)
@json_option
def command(test: str, *, as_json: bool) -> int:
    """Write stubs for what a test needs and source lacks.

    Names come from the imports of the test's file, signatures from its calls. New files are made where the
    import looks for them; nothing that exists is changed. The stubs are marked STUB:TDD and fail when they
    are called, so that the test is red for the right reason; an accepted turn leaves none behind.
    """
    from verdigris.cli import testing as view
    from verdigris.turns.stub import write_stubs

    answer = write_stubs(project(), test, cwd=here())
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(view.stub_document(answer))
    else:
        show(view.stub_lines(answer))
    return 0
