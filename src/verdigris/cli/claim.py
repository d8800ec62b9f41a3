"""`tdd claim`: cite reds, name the source that will advance them."""

from __future__ import annotations

import click

from verdigris.cli.completing import tests_and_paths
from verdigris.cli.opening import here, project
from verdigris.cli.output import deny, json_option, show, show_json
from verdigris.core.actions import Deny


@click.command("claim")
@click.argument("words", nargs=-1, metavar="[TEST...] [PATH...]", shell_complete=tests_and_paths)
@json_option
def command(words: tuple[str, ...], *, as_json: bool) -> int:
    """Claim that editing PATH... advances the red tests TEST...

    TEST is an id, a function with all its cases, a test file, or a bare test name. Without one, the claim
    takes all reds of the one file that has some. PATH is a file, a folder or a glob, and need not exist yet;
    without one, the claim is on all source. The first claim freezes the tests.
    """
    from verdigris.cli import claimed as view
    from verdigris.turns.claim import claim, split_words

    opened = project()
    tests, targets = split_words(opened, words, cwd=here())
    answer = claim(opened, tests, targets, cwd=here())
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    state = opened.state()
    if as_json:
        show_json(view.document(answer, state))
    else:
        show(view.lines(answer, state))
    return 0
