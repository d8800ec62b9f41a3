"""Two sessions in one worktree, each with real shell calls: neither loses its edit unsaid to the other."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support.cage import Done
from support.shelled import SOURCE, Shelled, case, shelled
from verdigris.core.events import EditClaim, Violation
from verdigris.storage.calls.callers import note_session

MODULE = "src/module.py"
ID = "tests/test_module.py::test_value"
HEAD = "import sys\n\nsys.path.insert(0, 'src')\nimport module\n\n\n"
TEST = f"{HEAD}def test_value():\n    assert module.VALUE == 3\n"


class Session:
    def __init__(self, shell: Shelled, name: str) -> None:
        self.shell = shell
        self.name = name
        note_session(str(shell.private), name, "")
        shell.own()

    def run(self, command: str) -> Done:
        return self.shell.run(command, env={"CLAUDE_CODE_SESSION_ID": self.name})

    @contextmanager
    def meanwhile(self, command: str) -> Iterator[list[str]]:
        """The command runs on while something else happens; afterwards what it printed."""
        held = f"{command}; touch done; until [ -e go ]; do sleep 0.01; done; rm go done"
        said: list[str] = []
        with self.shell.start(held, CLAUDE_CODE_SESSION_ID=self.name) as process:
            until(self.shell.root / "done")
            try:
                yield said
            finally:
                (self.shell.root / "go").touch()
                out, err = process.communicate(timeout=60)
            said += [os.fsdecode(out), os.fsdecode(err)]


def until(path: os.PathLike[str]) -> None:
    deadline = time.monotonic() + 60
    while not os.path.lexists(path):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def sessions() -> Iterator[tuple[Session, Session]]:
    plain_user, why = case("root" if os.geteuid() == 0 else "user")
    if why:
        pytest.skip(f"not possible here: {why}")
    with shelled(plain_user=plain_user) as made:
        yield Session(made, "a"), Session(made, "b")


def text(session: Session, path: str) -> str:
    return session.shell.root.joinpath(path).read_text()


def test_the_end_of_a_call_leaves_what_another_sessions_open_call_wrote(
    sessions: tuple[Session, Session],
) -> None:
    a, b = sessions
    with a.meanwhile(f"sed -i s/1/7/ {SOURCE}") as said:
        done = b.run("true")
        assert (done.code, done.err) == (0, "")
        waits = b.run("tdd test")
        assert waits.code == 3
        assert "Another agent's call is open" in waits.err
        assert "wait for the end of another agent's call" in waits.err
        assert text(a, SOURCE) == "VALUE = 7\n"
    assert f"Put back: {SOURCE}" in said[1]
    assert text(a, SOURCE) == "VALUE = 1\n"
    (violation,) = a.shell.world.events(Violation)
    assert isinstance(violation, Violation)
    assert violation.by == ("a",)


def test_both_are_told_where_nobody_knows_whose_it_was(sessions: tuple[Session, Session]) -> None:
    a, b = sessions
    with a.meanwhile("true") as said:
        done = b.run(f"sed -i s/1/7/ {SOURCE}")
        assert f"{SOURCE} changed while another agent's call was open too" in done.err
        assert text(a, SOURCE) == "VALUE = 7\n"
    assert f"Put back: {SOURCE}" in said[1]
    assert f"Put back: {SOURCE}" in b.run("true").err
    assert f"`tdd displaced {SOURCE}`" in said[1]
    assert b.run(f"tdd displaced {SOURCE}").out == "VALUE = 7\n"
    assert b.run("true").err == ""


def test_an_edit_in_a_long_call_claims_and_settles_beside_the_calls_of_others(
    sessions: tuple[Session, Session],
) -> None:
    a, b = sessions
    a.shell.world.write("tests/test_module.py", TEST)
    a.shell.own()
    assert a.run(f"tdd test {ID}").code == 1
    with a.meanwhile(f"sed -i s/2/3/ {MODULE}") as said:
        assert b.run("true").err == ""
    assert f"claims {ID}" in said[1]
    (claim,) = a.shell.world.events(EditClaim)
    assert isinstance(claim, EditClaim)
    assert claim.by == "a"
    other = b.run(f"echo 'X = 1' >> {MODULE}")
    assert f"Put back: {MODULE}" in other.err
    assert text(a, MODULE) == "VALUE = 3\n"
    assert b.run("tdd settle").code == 3
    assert "accepted" in a.run("tdd settle").out
