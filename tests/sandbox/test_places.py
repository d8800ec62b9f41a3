from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from support.cage import cage, elsewhere, obstacle, shown
from verdigris.sandbox.syscalls import mount

if TYPE_CHECKING:
    from support.cage import Cage


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
