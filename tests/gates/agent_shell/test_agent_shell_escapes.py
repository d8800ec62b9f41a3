"""What an agent's command may try against what the phase protects; none of it has an effect."""

from __future__ import annotations

import errno
import os
import pty
from contextlib import suppress

import pytest

from support.shelled import SOURCE, TEST, Shelled
from verdigris.storage.calls import open_calls

WRITES = {
    "redirect": "echo 1 >> {path}",
    "quoted": "e''val \"$(printf 'echo 1 > \\x74ests/test_add.py')\"",
    "base64": "echo ZWNobyAxID4gdGVzdHMvdGVzdF9hZGQucHk= | base64 -d | sh",
    "python": 'python3 -c \'import glob; [open(p, "w") for p in glob.glob("t*/test_a*")]\'',
    "by another name": "cd tests; cat > ../tests/./test_add.py < /dev/null",
    "by /proc": "echo 1 > /proc/self/cwd/{path}",
    "by the root link": "echo 1 > /proc/self/root$PWD/{path}",
    "removed": "rm -f {path}",
    "replaced": "echo 1 > n; mv n {path}; rm -f n",
    "linked": "ln {path} hard && echo 1 > hard",
    "folder moved": "mv tests t2",
    "folder replaced": "mkdir -p o && mv -T o tests; rm -rf o",
    "mode": "chmod 777 {path}",
    "time": "touch {path}",
    "truncated": "truncate -s0 {path}",
    "git": "git rm -qf {path}; git checkout -q HEAD~0 -- {path}; git reset -q",
    "in the background": "(sleep 0.1; echo 1 > {path}) & wait",
}


def kept(shell: Shelled) -> tuple[object, ...]:
    """All that nothing inside may change."""
    files = sorted(path for path in shell.root.rglob("tests/*") if path.is_file())
    log = shell.world.project.repo.control / "events.jsonl"
    stats = [(path.name, path.stat().st_mode, path.stat().st_mtime_ns, path.read_bytes()) for path in files]
    return (*stats, log.read_bytes(), shell.root.joinpath("tdd.yaml").read_bytes())


def test_a_frozen_test_cannot_be_written(green: Shelled) -> None:
    before = kept(green)
    done = green.run_each({how: command.format(path=TEST) for how, command in WRITES.items()})
    assert kept(green) == before, done


def test_what_is_not_protected_is_written(green: Shelled) -> None:
    done = green.run(
        f"echo '# a' >> {SOURCE} && echo b >> notes.txt && touch src/pkg/new.py /tmp/$$ && rm /tmp/$$"
    )
    assert (done.code, done.err) == (0, "")
    assert green.root.joinpath(SOURCE).read_text().endswith("# a\n")
    assert green.root.joinpath("src/pkg/new.py").exists()


def test_source_goes_back_in_red_and_tests_stay(red: Shelled) -> None:
    done = red.run(f"echo X = 1 >> {SOURCE}; echo X = 1 >> src/module.py; echo '# a' >> {TEST}")
    assert "Put back: src/module.py, src/pkg/code.py" in done.err
    assert red.root.joinpath(SOURCE).read_text() == "VALUE = 1\n"
    assert red.root.joinpath("src/module.py").read_text() == "VALUE = 2\n"
    assert red.root.joinpath(TEST).read_text().endswith("# a\n")


def test_an_editable_install_finds_room_in_red(red: Shelled) -> None:
    done = red.run(
        "mkdir -p src/x.egg-info build && echo a > src/x.egg-info/PKG-INFO && rm -r src/x.egg-info build"
    )
    assert (done.code, done.err) == (0, "")


SWITCHES = (
    "echo '{}' > .claude/settings.json",
    "mv .claude c",
    "mv .git g",
    "rm -rf .git/tdd",
    "mv .git/tdd t",
    "echo >> .git/tdd/events.jsonl",
    "echo a: 1 >> tdd.yaml",
    "mv ../repo ../other",
    "mv ../../a ../../b",
)


def test_switches_and_what_they_lie_in_stay(green: Shelled) -> None:
    before = kept(green), green.root.joinpath(".claude/settings.json").read_bytes()
    done = green.run_each({command: command for command in SWITCHES})
    assert [command for command, ended in done.items() if ended.code == 0] == []
    assert (kept(green), green.root.joinpath(".claude/settings.json").read_bytes()) == before


def test_even_all_of_git_cannot_be_removed(green: Shelled) -> None:
    before = kept(green)
    green.run("cp -r .git ../kept; rm -rf .git; cp -rn ../kept/. .git; rm -rf ../kept")
    assert kept(green) == before
    assert green.world.state.phase == "green"


def test_the_store_is_not_seen(green: Shelled) -> None:
    assert green.run("ls -A .git/tdd/store").out == ""
    assert any(green.world.project.repo.control.joinpath("store").iterdir())


def test_our_own_files_cannot_be_written(green: Shelled) -> None:
    code = """
import sys
for path in sys.argv[1:]:
    try:
        open(path, "ab").close()
        print("went through")
    except OSError as error:
        print(error.errno)
"""
    import verdigris

    done = green.code(code, verdigris.__file__, green.python)
    assert set(map(int, done.out.split())) <= {errno.EROFS, errno.EACCES, errno.ETXTBSY}


def test_no_mount_is_undone(green: Shelled) -> None:
    code = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(result): print("went through" if result == 0 else ctypes.get_errno())
tests = os.fsencode(os.getcwd() + "/tests/test_add.py")
call(libc.umount2(tests, 2))
call(libc.mount(None, tests, None, 32 | 4096, None))
call(libc.mount(b"tmpfs", tests, b"tmpfs", 0, None))
call(libc.unshare(0x20000))
assert libc.unshare(0x10020000) == 0
call(libc.umount2(tests, 2))
call(libc.mount(None, tests, None, 32 | 4096, None))
call(libc.umount2(os.fsencode(os.getcwd() + "/.git/tdd/store"), 2))
"""
    before = kept(green)
    done = green.code(code)
    assert done.err == ""
    assert set(map(int, done.out.split())) <= {errno.EPERM, errno.EINVAL}
    assert kept(green) == before


def test_no_process_outside_is_seen_and_the_keeper_is_out_of_reach(green: Shelled) -> None:
    code = """
import ctypes, os, resource, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
pids = [name for name in os.listdir("/proc") if name.isdigit()]
seen = {pid: open(f"/proc/{pid}/cmdline", "rb").read().strip(bytes(1)) for pid in pids}
assert seen.pop("1") == b"verdigris-keeper"
assert not any(b"shell.py" in words for words in seen.values()), seen
for link in ("root/", "cwd/", "fd/0", "environ", "mem", "ns/mnt"):
    try:
        print(os.open(f"/proc/1/{link}", os.O_RDONLY), "went through")
    except OSError as error:
        print(error.errno)
print("went through" if libc.ptrace(16, 1, 0, 0) == 0 else ctypes.get_errno())
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGCHLD):
    os.kill(1, number)
try:
    print(resource.prlimit(int(sys.argv[1]), resource.RLIMIT_FSIZE, (0, 0)), "went through")
except OSError as error:
    print(error.errno)
"""
    done = green.code(code, os.getpid())
    assert done.err == ""
    assert set(map(int, done.out.split())) <= {errno.EPERM, errno.EACCES, errno.ESRCH}


def test_a_terminal_outside_is_not_to_be_written_and_own_ones_are_made(green: Shelled) -> None:
    ours, theirs = os.openpty()
    os.fchmod(theirs, 0o666)
    own = "python3 -c 'import pty; pty.spawn([\"tty\"])' | grep -c /dev/pts/"
    done = green.run(f"echo forged > {os.ttyname(theirs)}; {own}")
    os.set_blocking(ours, False)
    with pytest.raises(BlockingIOError):
        os.read(ours, 100)
    assert done.out == "1\n"
    for descriptor in (ours, theirs):
        os.close(descriptor)


@pytest.mark.parametrize("asked", ["0x5412", "0x541C"], ids=["TIOCSTI", "TIOCLINUX"])
def test_nothing_is_typed_into_the_terminal_that_a_call_writes_to(green: Shelled, asked: str) -> None:
    """The terminal is that of another session: a person's, or the client's."""
    code = f"""
import fcntl, os, termios
try: fcntl.ioctl(0, termios.TIOCSCTTY, 1)
except OSError: pass
try: print(fcntl.ioctl(0, {asked}, b"x"), "went through")
except OSError as error: print("refused", error.errno)
"""
    file = green.folder / "attack.py"
    file.write_text(code)
    pid, ours = pty.fork()
    if pid == 0:
        try:
            os.chdir(green.root)
            argv = green.argv(f"{green.python} -I -S {file}")
            os.execvpe(argv[0], argv, green.environment)
        finally:
            os._exit(1)
    shown = b""
    with suppress(OSError):
        while data := os.read(ours, 1000):
            shown += data
    os.waitpid(pid, 0)
    os.close(ours)
    assert b"refused" in shown, shown


def test_disks_cannot_be_written_below_the_mounts(green: Shelled) -> None:
    code = """
import os, stat
for entry in os.scandir("/dev"):
    if stat.S_ISBLK(entry.stat(follow_symlinks=False).st_mode):
        try:
            os.open(entry.path, os.O_RDWR)
            print(entry.path)
        except OSError:
            pass
"""
    assert green.code(code).out == ""


def test_no_program_gains_rights(green: Shelled) -> None:
    assert "NoNewPrivs:\t1" in green.run("cat /proc/self/status").out


def test_elsewhere_than_in_the_repository_it_protects_as_well(green: Shelled) -> None:
    before = kept(green)
    done = green.run(f"pwd; echo 1 > {green.root / TEST}", cwd=green.folder)
    assert done.out == f"{green.folder}\n"
    assert kept(green) == before


def test_a_hard_link_that_was_there_before_is_as_protected(red: Shelled) -> None:
    red.root.joinpath("hard.txt").hardlink_to(red.root / SOURCE)
    red.world.project.record(*red.world.events()[:1])  # whatever makes a new card
    red.run("echo X = 1 >> hard.txt")
    assert red.root.joinpath(SOURCE).read_text() == "VALUE = 1\n"
    red.root.joinpath("hard.txt").unlink()


def test_no_lock_of_the_kernels_can_be_held(red: Shelled) -> None:
    code = """
import fcntl, os, sys, time
held = []
for folder, _, names in os.walk(".git/tdd"):
    for name in names:
        try:
            held.append(open(os.path.join(folder, name), "rb"))
            fcntl.flock(held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass
child = os.fork()
if child == 0:
    os.setsid()
    os.close(1), os.close(2)
    time.sleep(60)
print(len(held), child)
"""
    done = red.code(code)
    tried, left = map(int, done.out.split())
    assert tried > 1
    try:
        with red.world.project.exclusive():
            red.world.project.record(*red.world.events()[:1])
        assert open_calls.open_call(str(red.private)) is None
        assert open_calls.alive(str(red.private))
    finally:
        red.run(f"kill -9 {left}")
