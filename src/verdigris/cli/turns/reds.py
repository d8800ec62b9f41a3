"""`tdd test`, `tdd stub`, `tdd claim`: run tests, write stubs, and cite the reds that an edit advances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import deny, here, json_option, project, show, show_json, tests_and_paths
from verdigris.cli.testing import run
from verdigris.core.actions import Deny
from verdigris.core.policy.next_move import next_move
from verdigris.views.lines import Line

if TYPE_CHECKING:
    from verdigris.core.state import WorktreeState
    from verdigris.turns.claim_check import Claimed


@click.command("test")
@click.argument("words", nargs=-1, metavar="[ID|PATH]...", shell_complete=tests_and_paths)
@json_option
@click.option("--quiet", "-q", is_flag=True, help="Only the summary.")
@click.option("--verbose", "-v", is_flag=True, help="Tracebacks, whole messages and output of every failure.")
def test_command(words: tuple[str, ...], *, as_json: bool, quiet: bool, verbose: bool) -> int:
    """Run tests by id, file or folder; all of the suite without a name.

    One failure is shown with its traceback, several with -v. A bare test name will do where only one test
    has it. A failure for the right reason prepares a claim.

    Exit code: 0 all passed, 1 some did not, 124 out of time.
    """
    return run(words, as_json=as_json, quiet=quiet, verbose=verbose)


@click.command("stub")
@click.argument("test", metavar="TEST_ID|PATH", shell_complete=tests_and_paths)
@json_option
def stub_command(test: str, *, as_json: bool) -> int:
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


@click.command("claim")
@click.argument("words", nargs=-1, metavar="[TEST...] [PATH...]", shell_complete=tests_and_paths)
@json_option
def claim_command(words: tuple[str, ...], *, as_json: bool) -> int:
    """Claim that editing PATH... advances the red tests TEST...

    TEST is an id, a function with all its cases, a test file, or a bare test name. Without one, the claim
    takes all reds of the one file that has some. PATH is a file, a folder or a glob, and need not exist yet;
    without one, the claim is on all source. The first claim freezes the tests.
    """
    from verdigris.turns.claim import claim, split_words

    opened = project()
    tests, targets = split_words(opened, words, cwd=here())
    answer = claim(opened, tests, targets, cwd=here())
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    state = opened.state()
    if as_json:
        show_json(claim_document(answer, state))
    else:
        show(claim_lines(answer, state))
    return 0


_LISTED = 5


def claim_lines(claimed: Claimed, state: WorktreeState) -> list[Line]:
    targets = ", ".join(_target(claimed, path) for path in claimed.targets)
    first, *others = claimed.test_ids
    if others:
        found = [Line(f"claimed {len(claimed.test_ids)} tests → {targets}; phase {state.phase}", "red")]
        found += [Line(f"  {test_id}") for test_id in claimed.test_ids[:_LISTED]]
        rest = len(claimed.test_ids) - _LISTED
        found += [Line(f"  and {rest} more")] if rest > 0 else []
    else:
        found = [Line(f"claimed {first} → {targets}; phase {state.phase}", "red")]
    if claimed.restored:
        found.append(Line(f"your edits are back: {', '.join(claimed.restored)}"))
    found += [
        Line(f"still set aside: {i} conflicts with the tree; merge it by hand (`tdd restore {i} --show`)")
        for i in claimed.held_back
    ]
    found += [Line(f"  concern: {concern}") for concern in claimed.concerns]
    return [*found, Line(f"next: {next_move(state)}")]


def _target(claimed: Claimed, path: str) -> str:
    if path == ".":
        return "all source"
    if path not in claimed.new:
        return path
    alike = claimed.alike.get(path)
    return f"{path} (new; did you mean {alike}?)" if alike else f"{path} (new)"


def claim_document(claimed: Claimed, state: WorktreeState) -> dict[str, Any]:
    return {
        "claimed": claimed.test_ids[0],
        "tests": list(claimed.test_ids),
        "targets": list(claimed.targets),
        "new": list(claimed.new),
        "restored": list(claimed.restored),
        "held_back": list(claimed.held_back),
        "concerns": list(claimed.concerns),
        "phase": state.phase.value,
        "next": next_move(state),
    }
