"""Which files are opened in a room, as the kernel tells it to one outside."""

from __future__ import annotations

import os
import subprocess
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from verdigris.core.paths import PathClass
from verdigris.execution.room import Room
from verdigris.execution.rooms import terms_of
from verdigris.sandbox import child, file_access
from verdigris.sandbox.file_access import LOST, report

if TYPE_CHECKING:
    from support.cage import Cage
    from support.turns import World


pytestmark = pytest.mark.skipif(not child.available().ok, reason="no sandbox can be made here")


def heard(world: World, command: str) -> tuple[set[str], tuple[str, ...]]:
    with closing(Room(terms_of(world.project), ())) as room:
        subprocess.run(
            ["/bin/sh", "-c", command], cwd=world.root, env=room.env, preexec_fn=room.confine, check=False
        )
        return set(room.opened_files()), room.notes()


def test_whoever_opens_a_file_is_heard_and_who_only_looks_is_not(world: World) -> None:
    world.write("deep/er/data.json", "{}")
    world.write("unread.json", "{}")
    command = "cat calc.py; (cd deep; exec cat er/data.json); ls -l unread.json; ls"
    assert heard(world, command) == ({"calc.py", "deep/er/data.json"}, ())


def test_environments_are_passed_over(world: World) -> None:
    world.write(".venv/pyvenv.cfg", "")
    world.write(".venv/lib/a.py", "")
    world.write("node_modules/a/index.js", "")
    world.write("env/notes.txt", "")
    found, notes = heard(world, "cat .venv/lib/a.py node_modules/a/index.js env/notes.txt")
    assert (found, notes) == ({"env/notes.txt"}, ())


def test_more_folders_than_can_be_heard_are_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_access, "MOST_FOLDERS", 1)
    found, notes = heard(world, "cat calc.py tests/test_add.py")
    assert (found, notes) == ({"calc.py"}, (LOST,))


def test_a_run_that_opens_too_much_is_told_so(world: World) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text(encoding="ascii"))
    loop = f"for n in range({limit} + 9): open(('calc.py', 'conftest.py')[n % 2]).close()"
    _, notes = heard(world, f'python3 -c "{loop}"')
    assert notes == (LOST,)


def test_what_heard_one_run_hears_the_next_and_nothing_of_the_first(world: World) -> None:
    """To close it would wait for Linux to forget its folders."""
    assert heard(world, "cat calc.py") == ({"calc.py"}, ())
    *_, spare = file_access._spare
    with closing(Room(terms_of(world.project), ())) as room:
        assert room.opens is not None
        assert room.opens.events == spare
        assert spare not in file_access._spare
        assert room.opened_files() == ()
    assert heard(world, "cat conftest.py") == ({"conftest.py"}, ())


def test_two_rooms_at_once_are_heard_apart(world: World) -> None:
    with closing(Room(terms_of(world.project), ())) as outer:
        assert heard(world, "cat calc.py")[0] == {"calc.py"}
        assert outer.opened_files() == ()


def test_a_forked_process_hears_by_one_of_its_own(world: World) -> None:
    heard(world, "cat calc.py")
    kept = list(file_access._spare)
    assert kept
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, bytes([len(file_access._spare)]))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 1) == bytes([0])
    os.close(read)
    os.close(write)
    assert file_access._spare == kept


FILES = ("src/a.py", "src/b.py", "src/sub/c.py", "tests/test_a.py", "docs/x.md", "tdd.yaml")


def classify(path: str) -> PathClass:
    if path == "tdd.yaml":
        return PathClass.SWITCH
    return {"src": PathClass.SOURCE, "tests": PathClass.TEST}.get(path.partition("/")[0], PathClass.OTHER)


def after(caged: Cage, command: str, **fields: Any) -> tuple[str, ...]:
    for path in FILES:
        if not (caged.root / path).exists():
            caged.write(f"root/{path}", f"{path}\n")
    done = caged.run("sh", "-ec", command, **fields)
    assert done.code == 0, done.err
    return report(caged.confinement(**fields), classify)


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("true", ()),
        ("echo x > src/a.py", ("src/a.py",)),
        ("echo x > src/new.py; echo x > docs/x.md; echo x > notes", ("src/new.py",)),
        ("rm tests/test_a.py docs/x.md", ("tests/test_a.py",)),
        ("rm -r src/sub", ("src/sub/c.py",)),
        ("rm -r src; mkdir src; echo x > src/a.py", ("src/a.py", "src/b.py", "src/sub/c.py")),
        ("rm -r src; echo x > src", ("src", "src/a.py", "src/b.py", "src/sub/c.py")),
        ("rm src/a.py; mkdir src/a.py", ("src/a.py",)),
        ("rm src/a.py; ln -s b.py src/a.py", ("src/a.py",)),
        ("mv src/a.py src/z.py", ("src/a.py", "src/z.py")),
        ("chmod +x src/a.py", ("src/a.py",)),
        ("touch src/a.py; : >> src/b.py", ()),
        ("mkdir src/empty", ()),
        ("mkdir src/__pycache__; : > src/__pycache__/a.pyc; : > src/old.pyc", ()),
        ("mkdir -p .git/tdd; : > .git/tdd/events.jsonl; : > .git/index", (".git/tdd/events.jsonl",)),
        ("mkdir -p .git/hooks; : > .git/hooks/pre-commit", (".git/hooks/pre-commit",)),
        (
            "mkdir tests/.hypothesis; : > tests/.hypothesis/x; : > tests/.coverage; : > tests/.coverage.a.1",
            (),
        ),
        ("rm tdd.yaml", ("tdd.yaml",)),
        ("echo x > src/sub/c.py; chmod 000 src/sub src", ("src/sub/c.py",)),
    ],
)
def test_what_the_run_wrote(one: Cage, command: str, paths: tuple[str, ...]) -> None:
    assert after(one, command) == paths


def test_what_it_put_in_the_place_of_a_folder(caged: Cage) -> None:
    """Written down differently as root and as a plain user."""
    command = "rm -r src; mkdir src; echo x > src/a.py; rm tests/test_a.py"
    assert after(caged, command) == ("src/a.py", "src/b.py", "src/sub/c.py", "tests/test_a.py")


def test_what_we_removed_is_not_the_runs(caged: Cage) -> None:
    removed = ("tests", "src/sub/c.py", "src/never.py")
    assert after(caged, "true", removed=removed) == ()


def test_what_it_puts_where_we_removed_is(caged: Cage) -> None:
    caged.write("root/tests/test_b.py")
    done = after(
        caged, "mkdir tests; echo x > tests/test_a.py; echo x > src/a.py", removed=("tests", "src/a.py")
    )
    assert done == ("src/a.py", "tests/test_a.py")


def test_what_was_laid_is_not_the_runs_until_it_changes_it(caged: Cage) -> None:
    caged.write("laid/tests/test_a.py", "laid\n")
    caged.write("laid/tests/test_new.py", "laid\n")
    laid = (str(caged.folder / "laid"),)
    assert after(caged, "touch tests/test_a.py", laid=laid) == ()
    assert after(caged, "echo x > tests/test_a.py; rm tests/test_new.py", laid=laid) == (
        "tests/test_a.py",
        "tests/test_new.py",
    )


def test_a_plain_user_reads_what_a_run_has_closed(caged: Cage) -> None:
    if not caged.plain_user:
        return
    after(caged, "echo x > src/sub/c.py; chmod 000 src/sub/c.py src/sub src")
    code = """
import sys
from verdigris.core.paths import PathClass
from verdigris.sandbox.confinement import Confinement
from verdigris.sandbox.file_access import report
folder = sys.argv[1]
print(report(Confinement(f"{folder}/root", f"{folder}/upper", f"{folder}/work"), lambda _: PathClass.SOURCE))
"""
    assert caged.unconfined(code, str(caged.folder)).stdout == "('src/sub/c.py',)\n"


@pytest.mark.parametrize("control", ["root/.git/tdd", "outside/main/.git/tdd"])
def test_what_it_wrote_into_a_decoy(caged: Cage, control: str) -> None:
    """The real folder is neither read nor written, wherever it lies."""
    log = caged.write(f"{control}/log/events", "secret\n")
    decoy = caged.write("decoy/.keep", "").parent
    (decoy / ".keep").unlink()
    decoys = ((str(decoy), str(caged.folder / control)),)
    command = f"ls {caged.folder / control}; mkdir {log.parent}; echo forged > {log}"
    done = caged.run("sh", "-ec", command, decoys=decoys)
    assert (done.code, done.out) == (0, ""), done.err
    assert log.read_text() == "secret\n"
    assert report(caged.confinement(decoys=decoys), classify) == (".git/tdd/log/events",)
