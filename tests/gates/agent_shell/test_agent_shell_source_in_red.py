"""Source that an agent's shell writes in red: equal trees stay, all else goes back by the call's end."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.shelled import SOURCE, Shelled, case, shelled
from verdigris.core.events import TestRun
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.storage.project import open_project
from verdigris.turns.tripwire.calls import before_call

MODULE = "src/module.py"
ID = "tests/test_module.py::test_value"
UGLY = "def f( a,b ):\n  return  (a+b)   # sum\n"
RUFF = Path(sys.executable).with_name("ruff")


@pytest.fixture
def red() -> Iterator[Shelled]:
    with shell_in_red({"src/ugly.py": UGLY}) as made:
        yield made


@contextmanager
def shell_in_red(files: Mapping[str, str]) -> Iterator[Shelled]:
    plain_user, why = case("root" if os.geteuid() == 0 else "user")
    if why:
        pytest.skip(f"not possible here: {why}")
    with shelled(plain_user=plain_user, **files) as made:
        yield made


def write_test(shell: Shelled, asserted: str, first: str = "pass") -> None:
    head = "import sys\n\nsys.path.insert(0, 'src')\nimport module\n\n\n"
    shell.world.write(
        "tests/test_module.py", f"{head}def test_value():\n    {first}\n    assert {asserted}\n"
    )
    shell.own()


def text(shell: Shelled, path: str) -> str:
    return shell.root.joinpath(path).read_text()


@pytest.mark.skipif(not RUFF.exists(), reason="no ruff in this environment")
def test_a_formatter_formats_and_is_not_mentioned(red: Shelled) -> None:
    done = red.run(f"{RUFF} format --isolated src")
    assert (done.code, done.err) == (0, "")
    assert text(red, "src/ugly.py") == "def f(a, b):\n    return a + b  # sum\n"
    assert not before_call(open_project(red.root, Actor("agent", "s", "claude")))


def test_what_has_another_tree_goes_back_alone(red: Shelled) -> None:
    done = red.run(f"sed -i '1i # why' {MODULE}; sed -i s/1/7/ {SOURCE}; exit 3")
    assert done.code == 3
    assert (text(red, MODULE), text(red, SOURCE)) == ("# why\nVALUE = 2\n", "VALUE = 1\n")
    assert f"[tdd] Put back: {SOURCE}. More changed than comments, layout and stubs." in done.err
    assert f"`tdd displaced {SOURCE}`" in done.err
    assert "`tdd refactor begin`" in done.err
    assert red.run(f"tdd displaced {SOURCE}").out == "VALUE = 7\n"


EACH = {
    "src/one.py": "rm src/one.py",
    "src/two.py": "mv src/two.py notes.py.txt",
    "src/three.py": "echo 'VALUE = 9' > n; mv n src/three.py",
    "src/four/code.py": "mv src/four aside",
    "src/five.py": "rm src/five.py; ln -s /dev/null src/five.py",
    "src/six.py": "rm src/six.py; mkdir src/six.py",
    "src/seven.py": "git rm -qf src/seven.py",
}
"""A file, and what is done to it."""


def test_however_it_is_done() -> None:
    """All in one call, and none is put back instead of another."""
    with shell_in_red(dict.fromkeys(EACH, "VALUE = 1\n")) as red:
        done = red.run("; ".join(("echo 'VALUE = 9' > src/pkg/fresh.py", *EACH.values())))
        assert "[tdd] " in done.err, done
        assert {path: text(red, path) for path in EACH} == dict.fromkeys(EACH, "VALUE = 1\n")
        assert not [path for path in EACH if red.root.joinpath(path).is_symlink()]
        assert not red.root.joinpath("src/pkg/fresh.py").exists()


@pytest.mark.parametrize(
    "command", ["rm -r src", "mv src s; ln -s s src", "git mv src other", f"rm {SOURCE}"]
)
def test_nor_all_of_it_at_once(red: Shelled, command: str) -> None:
    done = red.run(command)
    assert "[tdd] " in done.err, done
    assert text(red, SOURCE) == "VALUE = 1\n"
    assert not red.root.joinpath("src").is_symlink()


@pytest.mark.parametrize("after", ["", f"; sed -i s/7/1/ {SOURCE}", "; git reset -q --hard HEAD~1 --"])
def test_no_commit_keeps_it(red: Shelled, after: str) -> None:
    head = red.world.repo.head()
    done = red.run(f"sed -i s/1/7/ {SOURCE} && git commit -qam x{after}")
    assert (text(red, SOURCE), red.world.repo.head()) == ("VALUE = 1\n", head), done
    assert red.world.repo.git("status", "--porcelain", "src").strip() == ""


def test_a_formatted_commit_stays(red: Shelled) -> None:
    done = red.run(f"sed -i '1i # why' {MODULE} && git commit -qam comments && sed -i '1i # and' {MODULE}")
    assert (done.code, done.err) == (0, "")
    assert red.world.repo.git("show", f"HEAD:{MODULE}") == "# why\nVALUE = 2"


def test_a_switch_of_branches_moves_whole_or_not_at_all(red: Shelled) -> None:
    red.world.repo.git("branch", "other")
    red.run(f"sed -i '1i # why' {MODULE} && git commit -qam comments")
    world = red.world
    world.repo.git("checkout", "-q", "other")
    world.write(SOURCE, "VALUE = 5\n")
    world.repo.commit("other source")
    world.repo.git("checkout", "-q", "-")
    done = red.run("git switch -q other")
    assert "HEAD, index and files went back together" in done.err
    assert (text(red, SOURCE), text(red, MODULE)) == ("VALUE = 1\n", "# why\nVALUE = 2\n")
    assert world.repo.git("status", "--porcelain").strip() == ""


def test_no_run_within_the_call_sees_it(red: Shelled) -> None:
    write_test(red, "module.VALUE == 2")
    done = red.run(f"sed -i s/2/7/ {MODULE}; tdd test tests/test_module.py")
    assert "1 passed" in done.out + done.err, done
    assert f"Put back: {MODULE}" in done.err
    assert text(red, MODULE) == "VALUE = 2\n"
    assert red.world.state.valid_reds == ()


def test_nor_does_one_that_is_turned_while_it_runs(red: Shelled) -> None:
    write_test(red, "module.VALUE == 2", "import time; time.sleep(1)")
    turn = f"for i in 1 2 3 4 5 6 7 8 9; do sed -i s/2/7/ {MODULE}; sleep 0.3; done"
    red.run(f"({turn}) & tdd test tests/test_module.py; wait")
    runs = [e for e in red.world.events(TestRun) if isinstance(e, TestRun)]
    assert [run.red for run in runs if run.red == "valid"] == []
    assert text(red, MODULE) == "VALUE = 2\n"


def test_a_call_that_was_killed_is_answered_for_at_the_next_look(red: Shelled) -> None:
    agent = open_project(red.root, Actor("agent", "s", "claude"))
    before_call(agent)
    process = red.start(f"sed -i s/1/7/ {SOURCE}; touch done; sleep 60")
    while not red.root.joinpath("done").exists():
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert before_call(agent).put_back == (SOURCE,)
    red.world.write(SOURCE, "VALUE = 8\n")
    assert before_call(agent).kept == (SOURCE,), "a person's, since nothing of the call is left"


def test_what_a_process_left_behind_writes_later_goes_back(red: Shelled) -> None:
    late = f"while [ ! -e go ]; do sleep 0.05; done; sed -i s/1/7/ {SOURCE}; touch done"
    red.run(f"({late}) >/dev/null 2>&1 &")
    red.root.joinpath("go").touch()
    while not red.root.joinpath("done").exists():
        time.sleep(0.05)
    assert before_call(open_project(red.root, Actor("agent", "s", "claude"))).put_back == (SOURCE,)


def test_claim_edit_and_settle_fit_into_one_call(red: Shelled) -> None:
    write_test(red, "module.VALUE == 3")
    edit = f"sed -i s/2/3/ {MODULE}"
    done = red.run(f"tdd test tests/test_module.py; tdd claim {ID} {MODULE} && {edit} && tdd settle")
    assert "accepted" in done.out, done
    assert red.world.state.phase is Phase.RED
    assert text(red, MODULE) == "VALUE = 3\n"


def test_an_edit_claims_within_the_call_as_between_calls(red: Shelled) -> None:
    write_test(red, "module.VALUE == 3")
    done = red.run(f"tdd test tests/test_module.py; sed -i s/2/3/ {MODULE}; tdd settle")
    assert "accepted" in done.out, done
    assert "tdd settle" not in done.err, "it is settled"
    assert text(red, MODULE) == "VALUE = 3\n"


MAPPER = """
import mmap, os, time
if os.fork(): os._exit(0)
os.setsid()
for fd in range(3): os.dup2(os.open(os.devnull, os.O_RDWR), fd)
with open("src/module.py", "r+b") as file: mapped = mmap.mmap(file.fileno(), 0)
for number in (3, 4):
    while not os.path.exists(f"write{number}"): time.sleep(0.01)
    mapped[8:9] = b"%d" % number
    open(f"written{number}", "w").close()
while not os.path.exists("end"): time.sleep(0.01)
"""


def test_where_a_process_was_left_a_call_looks_again_only_if_something_changed(red: Shelled) -> None:
    """A look replaces the file with what it remembers."""
    memory = red.private / "call.json"
    red.run("echo VALUE = 3 > src/module.py; (sleep 60 >/dev/null 2>&1 &)")
    looked = memory.stat().st_ino, memory.read_bytes()
    assert b'"alive": true' in looked[1]
    assert red.run("echo quiet").out == "quiet\n"
    assert (memory.stat().st_ino, memory.read_bytes()) == looked
    assert "Put back" in red.run("echo VALUE = 3 > src/module.py").err
    red.run("pkill sleep; until ! pgrep sleep; do sleep 0.01; done")
    assert b'"alive": false' in memory.read_bytes(), "what changes now is a person's"


def test_what_a_process_writes_through_a_mapping_goes_back_at_the_next_call(red: Shelled) -> None:
    red.code(MAPPER)
    for number in (3, 4):
        red.root.joinpath(f"write{number}").touch()
        while not red.root.joinpath(f"written{number}").exists():
            time.sleep(0.01)
        assert text(red, MODULE) == f"VALUE = {number}\n"
        assert "Put back" in red.run("true").err
        assert text(red, MODULE) == "VALUE = 2\n"
    red.run("touch end")
