"""What a test may try to reach the worktree, the log or the kernel outside; none of it has an effect."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from support.cage import Cage
from verdigris.sandbox.child import Confining
from verdigris.sandbox.confinement import check_confinement

WAS = "as it was\n"
TRIED = """
    def tried(what):
        try:
            print(what() or "went through")
        except OSError as error:
            print(error.errno)
"""


def attempt(caged: Cage, code: str, *arguments: object, **fields: Any) -> list[str]:
    done = caged.python(textwrap.dedent(TRIED) + textwrap.dedent(code), *map(str, arguments), **fields)
    assert done.code == 0, done.err
    return done.out.split("\n")[:-1]


def test_what_it_writes_in_the_tree_has_no_effect(caged: Cage) -> None:
    names = ("src/a.py", "tests/test_a.py", "tdd.yaml", ".git/tdd/events.jsonl", ".claude/settings.json")
    files = [caged.write(f"root/{name}") for name in names]
    code = """
        import os, sys
        for path in sys.argv[1:]:
            with open(path, "a") as file: file.write("forged")
            assert "forged" in open(path).read()
            os.unlink(path)
            assert not os.path.exists(path)
    """
    assert attempt(caged, code, *files) == []
    assert [file.read_text() for file in files] == [WAS] * len(files)


def test_what_it_writes_elsewhere_has_no_effect(caged: Cage) -> None:
    file = caged.write("outside/file")
    code = """
        import sys
        for prefix in ("", "/proc/self/root", "/proc/thread-self/root"):
            tried(lambda: print(open(prefix + sys.argv[1], "w").write("forged")))
    """
    attempt(caged, code, file)
    assert file.read_text() == WAS


def test_the_rest_of_the_system_is_read_only(caged: Cage) -> None:
    target = Path("/usr/written-by-a-confined-run")
    code = """
        import os, sys
        tried(lambda: os.mkdir(sys.argv[1]))
        tried(lambda: open("/proc/sys/kernel/core_pattern", "w"))
        tried(lambda: open("/proc/self/mem", "wb") and "own memory")
    """
    made, pattern, _ = attempt(caged, code, target)
    assert int(made) == errno.EROFS
    assert int(pattern) in {errno.EROFS, errno.EACCES}
    assert not target.exists()


def test_the_parents_files_are_not_reached_by_its_proc(caged: Cage) -> None:
    file = caged.write("outside/file")
    code = """
        import os, sys
        for link in ("root", "cwd", "fd/1", "mem", "environ"):
            name = f"/proc/{os.getppid()}/{link}"
            tried(lambda: os.listdir(name) if link in ("root", "cwd") else open(name, "rb").read(1))
    """
    answers = attempt(caged, code, file)
    assert set(map(int, answers)) <= {errno.EACCES, errno.EPERM}


def test_the_parent_cannot_be_traced(caged: Cage) -> None:
    code = """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        parent = os.getppid()
        buffer = ctypes.create_string_buffer(8)
        vector = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
        def call(number, *args):
            ctypes.set_errno(0)
            result = libc.syscall(number, *args)
            print("went through" if result >= 0 else ctypes.get_errno())
        print(libc.ptrace(16, parent, 0, 0) and ctypes.get_errno())  # attach
        print(libc.ptrace(0x4206, parent, 0, 0) and ctypes.get_errno())  # seize
        print(libc.process_vm_writev(parent, vector, 1, vector, 1, 0) and ctypes.get_errno())
        pidfd = os.pidfd_open(parent)
        call(438, pidfd, 1, 0)  # pidfd_getfd
    """
    assert set(map(int, attempt(caged, code, apart=True))) <= {errno.EPERM, errno.ESRCH}


def test_no_mount_is_undone(caged: Cage) -> None:
    file = caged.write("root/file")
    code = """
        import ctypes, os, sys
        libc = ctypes.CDLL(None, use_errno=True)
        root = os.fsencode(os.getcwd())
        def call(result): print("went through" if result == 0 else ctypes.get_errno())
        call(libc.umount2(root, 2))
        call(libc.umount2(b"/tmp", 2))
        call(libc.mount(None, b"/", None, 32 | 4096, None))
        call(libc.mount(b"tmpfs", root, b"tmpfs", 0, None))
        call(libc.unshare(0x20000))
        for name in ("mnt", "user"):
            tried(lambda: os.open(f"/proc/{os.getppid()}/ns/{name}", os.O_RDONLY))
        tried(lambda: open("file", "w").close())
    """
    *refused, last = attempt(caged, code)
    assert set(map(int, refused)) <= {errno.EPERM, errno.EACCES, errno.EINVAL}
    assert last == "went through"
    assert file.read_text() == WAS


def test_a_nested_namespace_gains_nothing(caged: Cage) -> None:
    file = caged.write("root/file")
    secret = caged.write("home/held-out/test_secret.py", "SECRET")
    outside = Path("/usr/written-by-a-nested-run")
    code = """
        import ctypes, os, sys
        libc = ctypes.CDLL(None, use_errno=True)
        root, secret, outside = map(os.fsencode, sys.argv[1:])
        def call(result): print("went through" if result == 0 else ctypes.get_errno())
        uid = os.getuid()
        assert libc.unshare(0x10020000) == 0
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1")):
            try:
                open(f"/proc/self/{name}", "w").write(text)
            except OSError as error:  # root's /proc cannot be written; it has the capabilities still
                assert error.errno == 30 and uid == 0
        held = os.path.dirname(secret)
        call(libc.umount2(root, 2))
        call(libc.umount2(held, 2))
        call(libc.mount(None, b"/", None, 32 | 4096, None))
        call(libc.mount(os.path.dirname(held), b"/tmp", None, 4096, None))  # past the mask
        call(libc.mount(None, b"/proc", None, 32 | 4096, None))
        tried(lambda: open(outside, "w"))
        tried(lambda: open(secret).read())
    """
    answers = attempt(caged, code, caged.root, secret, outside, masked=(str(secret.parent),))
    assert set(map(int, answers)) <= {errno.EPERM, errno.EINVAL, errno.EROFS, errno.ENOENT, errno.EACCES}
    assert file.read_text() == WAS
    assert not outside.exists()


def test_the_tree_and_its_ancestors_cannot_be_moved_aside(caged: Cage) -> None:
    file = caged.write("root/file")
    code = """
        import os
        root = os.getcwd()
        tried(lambda: os.rename(root, root + ".aside"))
        folder = os.path.dirname(root)
        try:
            os.rename(folder, folder + ".aside")
            os.makedirs(root)
            open(root + "/file", "w").write("forged")
        except OSError:
            pass
    """
    assert attempt(caged, code) == [str(errno.EBUSY)]
    assert file.read_text() == WAS
    assert not caged.folder.with_name(f"{caged.folder.name}.aside").exists()


def test_no_hard_link_leads_out(caged: Cage) -> None:
    inside, outside = caged.write("root/file"), caged.write("outside/file")
    code = """
        import os, sys
        home, outside = sys.argv[1:]
        tried(lambda: os.link("file", home + "/file"))
        tried(lambda: os.link(outside, "linked"))
        tried(lambda: os.link(outside, home + "/linked"))
    """
    assert set(attempt(caged, code, caged.home, outside)) == {str(errno.EXDEV)}
    assert (inside.stat().st_nlink, outside.stat().st_nlink) == (1, 1)


def test_no_descriptor_is_left_open(one: Cage) -> None:
    """Not the parent's, even an inheritable one, and none of those the confining itself needed."""
    fd = os.open(one.folder, os.O_RDONLY)
    os.set_inheritable(fd, True)
    code = "import os; print(sorted(os.listdir('/proc/self/fd')))"
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code],
            cwd=one.root,
            preexec_fn=Confining(check_confinement(one.confinement()), one.way),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
    finally:
        os.close(fd)
    assert done.stdout == b"['0', '1', '2', '3']\n"


def test_no_capability_of_mounts_and_none_to_gain(caged: Cage) -> None:
    status = caged.run("cat", "/proc/self/status").out
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    allowed = 0 if caged.plain_user else 0b100_1111_1011
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(fields[name], 16) & ~allowed == 0, name
    assert fields["NoNewPrivs"] == "1"


def test_no_disk_is_reached_by_its_device(caged: Cage) -> None:
    code = """
        import os, stat
        print([name for name in os.listdir("/dev") if stat.S_ISBLK(os.stat("/dev/" + name).st_mode)])
        tried(lambda: os.mknod("disk", stat.S_IFBLK | 0o666, os.makedev(254, 0)))
    """
    disks, made = attempt(caged, code)
    assert disks == "[]"
    assert int(made) == errno.EPERM


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
def test_a_device_that_lies_about_is_dead(caged: Cage) -> None:
    for folder in ("root", "home"):
        os.mknod(caged.folder / folder / "device", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        (caged.folder / folder / "device").chmod(0o666)
    code = """
        import sys
        for folder in sys.argv[1:]:
            tried(lambda: open(folder + "/device", "w"))
    """
    assert attempt(caged, code, caged.root, caged.home) == [str(errno.EACCES)] * 2


def test_what_outlives_a_run_cannot_look_into_the_next(caged: Cage) -> None:
    """A user namespace for each; without one, root's processes are alike to the system."""
    if caged.way == "plain":
        return
    code = """
        import os, subprocess, sys
        from verdigris.sandbox.child import Confining
        from verdigris.sandbox.confinement import Confinement, check_confinement
        folder, way = sys.argv[1:]
        def cage(name):
            for inner in ("upper", "work"): os.mkdir(f"{folder}/{inner}{name}")
            made = Confinement(f"{folder}/root", f"{folder}/upper{name}", f"{folder}/work{name}")
            return Confining(check_confinement(made), way)
        one = subprocess.Popen(["sleep", "60"], preexec_fn=cage(1), cwd=folder)
        argv = ["ls", f"/proc/{one.pid}/root/"]
        two = subprocess.run(argv, preexec_fn=cage(2), cwd=folder, capture_output=True)
        one.kill(); one.wait()
        print(two.returncode != 0 and b"ermission denied" in two.stderr)
    """
    done = caged.unconfined(textwrap.dedent(code), str(caged.folder), caged.way)
    assert done.stdout == "True\n", done.stderr
