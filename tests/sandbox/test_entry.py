# `os` by descriptor, on names that may be any bytes or too long:
# ruff: noqa: PTH208

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Literal

import pytest

from support.cage import Cage, cage, elsewhere, obstacle, shown
from support.gitrepo import make_repo
from verdigris.sandbox.child import Confining
from verdigris.sandbox.confinement import check_confinement
from verdigris.sandbox.syscalls import mount


def test_the_tree_is_at_its_own_path_and_what_is_written_is_kept_apart(caged: Cage) -> None:
    caged.write("root/pkg/a.py", "one\n")
    done = caged.run("sh", "-c", "pwd; cat a.py; echo two > a.py; cat a.py", cwd=str(caged.root / "pkg"))
    assert done.out == f"{caged.root}/pkg\none\ntwo\n", done.err
    assert (caged.root / "pkg/a.py").read_text() == "one\n"
    assert (caged.folder / "upper/pkg/a.py").read_text() == "two\n"


def test_the_owner_can_read_the_folder_that_the_kernel_makes_for_an_overlay(caged: Cage) -> None:
    """Else nobody but root can copy a repository while a room lies in it."""
    caged.run("true")
    made = list((caged.folder / "work").rglob("*"))
    assert {path.stat().st_mode & 0o700 for path in made if path.is_dir()} == {0o700}


def test_what_is_laid_wins_and_what_is_removed_is_not_there(caged: Cage) -> None:
    for path in ("root/tests/test_a.py", "root/tests/test_extra.py", "root/data/x/y", "root/other"):
        caged.write(path, "the tree's\n")
    caged.write("first/tests/test_a.py", "first\n")
    caged.write("second/tests/test_a.py", "second\n")
    caged.write("second/tests/test_b.py", "second\n")
    done = caged.run(
        "sh",
        "-c",
        "cat tests/test_a.py tests/test_b.py other; find . -type f | sort",
        laid=(str(caged.folder / "first"), str(caged.folder / "second")),
        removed=("tests/test_extra.py", "data", "never/was"),
    )
    assert done.out == "first\nsecond\nthe tree's\n./other\n./tests/test_a.py\n./tests/test_b.py\n", done.err
    assert (caged.root / "data/x/y").exists()


def test_a_file_that_is_fixed_cannot_be_written_moved_or_deleted(caged: Cage) -> None:
    caged.write("root/bench/run.py", "the tree's\n")
    caged.write("root/bench/free.txt", "free\n")
    caged.write("first/bench/data", "laid\n")
    done = caged.run(
        "sh",
        "-c",
        "for file in run.py data; do"
        " echo x > bench/$file; rm -f bench/$file; mv bench/free.txt bench/$file; chmod 777 bench/$file;"
        " done; mv bench other; cat bench/run.py bench/data; echo y > bench/new; cat bench/new",
        laid=(str(caged.folder / "first"),),
        fixed=("bench/run.py", "bench/data", "bench/missing"),
    )
    assert done.out == "the tree's\nlaid\ny\n", done.err


def test_a_link_is_removed_and_not_what_it_leads_to(one: Cage) -> None:
    one.write("root/real/file")
    (one.root / "link").symlink_to("real")
    done = one.run("find", ".", "-mindepth", "1", removed=("link",))
    assert sorted(done.out.split()) == ["./real", "./real/file"]


def test_what_is_masked_cannot_be_read(caged: Cage) -> None:
    folder = caged.write("root/.git/tdd/held/test_a.py", "SECRET").parent
    file = caged.write("root/tests/test_b.py", "SECRET")
    done = caged.run(
        "sh",
        "-c",
        'ls -A "$0"; cat "$1"; echo x > "$1"',
        str(folder),
        str(file),
        masked=(str(folder), str(file)),
    )
    assert done.out == ""
    assert "Read-only" in done.err


def test_only_the_writable_folders_are_written_for_real(caged: Cage) -> None:
    done = caged.run(
        "sh", "-c", 'echo kept > "$0/file"; mkdir -p /tmp/x && echo gone > /tmp/x/y', str(caged.home)
    )
    assert done.code == 0, done.err
    assert (caged.home / "file").read_text() == "kept\n"
    assert not Path("/tmp/x/y").exists()


@pytest.mark.parametrize("name", ["a b", "a,b:c\\d", "quote'\"", "new\nline", os.fsdecode(b"\xff\xfe")])
def test_a_tree_of_any_name(one: Cage, name: str) -> None:
    with cage(one.way, plain_user=one.plain_user, name=name) as made:
        made.write(f"{name}/{name}.py", "x")
        done = made.run("sh", "-c", 'rm "$0"; : > left', f"{name}.py", removed=(name,))
        assert done.code == 0, done.err
        assert sorted(os.listdir(made.folder / "upper")) == sorted([f"{name}.py", "left"])
        assert os.listdir(made.root) == [f"{name}.py"]


def test_a_tree_by_a_link(caged: Cage) -> None:
    caged.write("root/file", "x")
    link = caged.folder / "link"
    link.symlink_to("root")
    done = caged.run("sh", "-c", f"pwd; : > {link}/file", root=str(link), cwd=str(link))
    assert done.out == f"{caged.root}\n"
    assert (caged.root / "file").read_text() == "x"


def test_a_linked_worktree_and_its_git_folder_elsewhere(one: Cage) -> None:
    repo = make_repo(one.folder / "outside/main")
    repo.commit(a="x")
    repo.git("worktree", "add", "--quiet", str(one.folder / "linked"))
    log = one.write("outside/main/.git/tdd/events.jsonl", "log")
    linked = str(one.folder / "linked")
    command = f"git status --short && git log --format=%s && : > {log}"
    done = one.run("sh", "-c", command, root=linked, cwd=linked)
    assert done.out == "a commit\n", done.err
    assert log.read_text() == "log"


def test_its_group_can_be_killed(one: Cage) -> None:
    confine = Confining(check_confinement(one.confinement()), one.way)
    argv = ["sh", "-c", "sleep 60 & echo started; wait"]
    with subprocess.Popen(
        argv,
        cwd=one.root,
        preexec_fn=confine,  # noqa: PLW1509 - as `start` does
        start_new_session=True,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"started\n"
        os.killpg(child.pid, 9)
        assert child.stdout.read() == b""
        assert child.wait() == -9


@pytest.mark.skipif(os.geteuid() != 0, reason="needs mounts to begin with")
def test_a_mount_below_the_tree_stays_there_read_only(one: Cage) -> None:
    one.write("root/volume/hidden")

    def work() -> str:
        volume = str(one.root / "volume")
        mount("tmpfs", volume, "tmpfs", 0)
        Path(volume, "file").write_text("in the volume")
        return shown(one.confinement(), one.way, "ls volume; : > volume/file || true; cat volume/file")

    assert elsewhere(work).startswith("file\n")
    assert elsewhere(work).endswith("Read-only file system\n")


def test_a_run_makes_nobody_write_out_a_disk(caged: Cage) -> None:
    if tuple(map(int, os.uname().release.split(".")[:2])) < (5, 10):
        pytest.skip("this Linux has no volatile overlays")
    done = caged.run("grep", f"^overlay {caged.root} ", "/proc/self/mounts")
    assert "volatile" in done.out, done.err


@pytest.mark.skipif(os.geteuid() != 0, reason="needs mounts to begin with")
def test_a_tree_on_an_overlay_already(one: Cage) -> None:
    for name in ("lower", "upper0", "work0", "merged"):
        (one.folder / name).mkdir()
    one.write("lower/file", "below")

    def work() -> str:
        merged = str(one.folder / "merged")
        layers = ",".join(
            f"{key}={one.folder}/{name}"
            for key, name in (("lowerdir", "lower"), ("upperdir", "upper0"), ("workdir", "work0"))
        )
        mount("overlay", merged, "overlay", 0, layers)
        said = shown(one.confinement(root=merged), one.way, "cat file; echo ' changed' > file; cat file")
        return said + Path(merged, "file").read_text()

    assert elsewhere(work) == "below changed\nbelow"


def test_temporary_folders_are_empty_unless_the_run_reads_there() -> None:
    """The worktree must be elsewhere; this one's own sources are, or the case does not arise."""
    way: Literal["mapped", "own"] = "mapped" if os.geteuid() == 0 else "own"
    if why := obstacle(way, plain_user=os.geteuid() != 0):
        pytest.skip(f"not possible here: {why}")
    elsewhere = str(Path(__file__).resolve().parent)
    if elsewhere.startswith(("/tmp/", "/var/tmp/")):
        pytest.skip("the project itself lies in a temporary folder")
    with cage(way, plain_user=os.geteuid() != 0) as made:
        read = str(made.write("outside/interpreter"))
        assert made.run("ls", read, root=elsewhere, cwd=elsewhere).code != 0
        assert made.run("ls", read, root=elsewhere, cwd=elsewhere, needed=(read,)).out == f"{read}\n"


def test_devices_terminals_and_shared_memory_work(caged: Cage) -> None:
    code = """
        import os, pty
        open("/dev/null", "w").write("x")
        assert len(open("/dev/urandom", "rb").read(4)) == 4 and open("/dev/zero", "rb").read(1) == b"\\0"
        ours, theirs = pty.openpty()
        os.write(theirs, b"hello"); assert os.read(ours, 5) == b"hello"
        open("/dev/shm/x", "w").write("x")
        os.mkdir("/tmp/y"); os.mkdir("/var/tmp/y")
    """
    done = caged.python(code)
    assert (done.code, done.err) == (0, "")


def test_locks_between_processes_work(one: Cage) -> None:
    done = one.run(
        "/usr/bin/env", "python3", "-c", "import multiprocessing as m; print(m.Lock())", network="none"
    )
    assert "Lock" in done.out, done.err


@pytest.mark.skipif(os.geteuid() != 0, reason="needs mounts to begin with")
@pytest.mark.parametrize("needed", [True, False])
def test_a_temporary_folder_with_mounts_that_are_not_ours_to_hide(one: Cage, needed: bool) -> None:
    """As for a plain user, whose user namespace comes before the mounts."""
    file, folder = one.write("outside/needed/file", "x"), one.write("outside/folder/file", "y").parent

    def work() -> str:
        volume = one.folder / "home"
        mount("tmpfs", str(volume), "tmpfs", 0)
        paths = (str(file), str(folder)) if needed else ()
        made = one.confinement(needed=paths, writable=())
        return shown(made, "own", f"cat {file} {folder}/file || true; : > written; ls {one.home}")

    assert elsewhere(work).startswith("xy" if needed else "cat: ")
    assert not (one.root / "written").exists()


def test_sockets_in_run_are_there_only_with_the_machines_network(one: Cage) -> None:
    if not (names := sorted(path.name for path in Path("/run").iterdir())):
        pytest.skip("nothing is in /run")
    code = "import os; print(sorted(os.listdir('/run')))"
    assert one.python(code).out == "[]\n"
    assert one.python(code, network="host").out == f"{names}\n"
