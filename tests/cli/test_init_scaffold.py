from __future__ import annotations

from pathlib import Path

import pytest

from verdigris.cli.init import scaffold_plan, scaffolded_lines
from verdigris.cli.uninit import undone_lines
from verdigris.core.settings import Settings
from verdigris.setup.initialisation import Initialised
from verdigris.setup.scaffold import Scaffold
from verdigris.setup.scaffold_files import RemovedScaffold, ScaffoldResult

pytestmark = pytest.mark.quick

DONE = Initialised("red", "write a test", tests=True, already=False)
ADDED = Scaffold(
    Path("/p"),
    makes_repository=False,
    settings=Settings(),
    config=None,
    files={"kata.md": ""},
    project=False,
    kept=(".gitignore",),
    notes=("something else",),
)


def test_what_stays_is_told_beside_what_is_written() -> None:
    assert list(scaffold_plan(ADDED)) == [
        "note: something else",
        "will write kata.md",
        ".gitignore is there and stays as it is",
        "tdd.yaml is there and stays as it is",
    ]


def test_what_is_not_committed_is_told_as_a_command() -> None:
    lines = scaffolded_lines(
        ScaffoldResult(DONE, uncommitted=("a b", "kata.md"), refused="a hook says no"), ADDED
    )
    assert lines[1].text == "git refused the first commit: a hook says no"
    assert lines[-2].text.endswith("`git add -- 'a b' kata.md tdd.yaml && git commit`")


def test_the_moves_come_in_their_order() -> None:
    again = Scaffold(Path("/p"), False, Settings(), "", {}, True, has_kata=False, before=("npm install",))
    texts = [line.text for line in scaffolded_lines(ScaffoldResult(DONE, commit="0123456789abcdef"), again)]
    assert texts[:4] == [
        "set up; phase red",
        "the first commit is made: 0123456789",
        "next: npm install",
        "then: describe in  what is to be built",
    ]


def test_what_uninit_did() -> None:
    assert undone_lines(RemovedScaffold()) == []
    assert (
        undone_lines(RemovedScaffold("removed", paths=("a", "b")))[0].text
        == "removed what `tdd init` wrote: a b"
    )
    assert "(src/x.py)" in undone_lines(RemovedScaffold("kept", "src/x.py"))[0].text
