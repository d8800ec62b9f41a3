"""A confined command is as it would be without us: its exit code, streams, signals, working directory."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from support.shelled import Shelled
from verdigris.gates.agent_shell import confinement
from verdigris.gates.agent_shell.launcher import write_launcher
from verdigris.storage.calls import call_records, open_calls
from verdigris.storage.repository import find_repository


def until(happened: object) -> None:
    deadline = time.monotonic() + 60
    while not happened():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_exit_code_and_streams(one: Shelled) -> None:
    done = one.run("cat; echo out; echo err >&2; exit 7", stdin=b"in\n")
    assert (done.code, done.out, done.err) == (7, "in\nout\n", "err\n")


def test_a_signal_is_128_and_its_number(one: Shelled) -> None:
    assert one.run("kill -SEGV $$").code == 128 + signal.SIGSEGV


@pytest.mark.parametrize(
    ("command", "out"),
    [
        ("cat <<'END'\na $b \"c\" 'd'\nEND", "a $b \"c\" 'd'\n"),
        ('f() { printf \'%s\' "$@"; }; f \'a b\' "$(echo "it\'s")"', "a bit's"),
        ("[[ a == a ]] && echo <(true) | grep -c /dev/fd", "1\n"),
        ("yes | head -1", "y\n"),
        ("true | false; echo ${PIPESTATUS[@]}", "0 1\n"),
        ("cd tests && pwd -P | grep -o 'repo.*'", "repo/tests\n"),
        ("sleep 0 & wait $!; jobs; echo done", "done\n"),
    ],
)
def test_what_a_shell_can_say(one: Shelled, command: str, out: str) -> None:
    done = one.run(command)
    assert (done.code, done.out, done.err) == (0, out, "")


def test_a_hundred_kilobytes(one: Shelled) -> None:
    text = "x" * 100_000
    assert one.run(f"printf %s '{text}' | wc -c").out.strip() == "100000"


def test_a_pipe_that_nobody_reads_ends_it_quietly(one: Shelled) -> None:
    assert one.run("trap '' INT; (yes; echo $? >&2) | head -1").err == "141\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_passed_on(one: Shelled, number: int) -> None:
    ready = one.root / "ready"
    with one.start(
        f"trap 'echo caught; exit 3' {number}; touch ready; while :; do sleep 0.05; done"
    ) as process:
        until(ready.exists)
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
    ready.unlink()
    assert (process.returncode, out) == (3, b"caught\n")


def test_what_kills_the_process_outside_kills_all_that_the_call_runs(one: Shelled) -> None:
    ready = one.root / "ready"
    name = f"ends-with-its-call-{os.getpid()}"
    command = f"(setsid bash -c 'exec -a {name} sleep 60' &) >/dev/null; touch ready; exec -a {name} sleep 60"
    with one.start(command) as process:
        until(ready.exists)
        until(lambda: len(_named(name)) == 2)
        process.kill()
        process.wait()
    until(lambda: not _named(name))
    ready.unlink()
    until(lambda: open_calls.open_call(str(one.private)) is None)


def _named(name: str) -> list[str]:
    """The processes that were started with this name."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        with suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(name.encode()):
                found.append(pid)
    return found


def test_a_background_process_outlives_the_call_and_is_known(one: Shelled) -> None:
    until(lambda: not open_calls.alive(str(one.private)))
    done = one.run("sleep 60 >/dev/null 2>&1 & echo $!")
    pid = int(done.out)
    assert open_calls.alive(str(one.private))
    assert open_calls.open_call(str(one.private)) is None
    assert one.run(f"ps -p {pid} -o comm= && kill -9 {pid}").out == "sleep\n", "a later call sees it"
    until(lambda: not open_calls.alive(str(one.private)))
    assert open_calls.forget_ended(str(one.private))
    assert not open_calls.forget_ended(str(one.private))
    assert list(Path(call_records.folder_of(str(one.private))).iterdir()) == []


def test_a_daemon_outlives_the_call_and_is_known(one: Shelled) -> None:
    done = one.run("setsid bash -c 'sleep 60 <&- >&- 2>&- & echo $!' | cat")
    assert open_calls.alive(str(one.private))
    one.run(f"kill -9 {int(done.out)}")
    until(lambda: not open_calls.alive(str(one.private)))


def test_of_a_call_that_left_nothing_behind_there_is_no_record(one: Shelled) -> None:
    until(lambda: not open_calls.alive(str(one.private)))
    open_calls.forget_ended(str(one.private))
    one.run("(true &); (exec sleep 0.05) & wait")
    assert list(Path(call_records.folder_of(str(one.private))).iterdir()) == []


def test_an_orphan_that_ended_during_the_call_is_no_zombie(one: Shelled) -> None:
    orphan = "pid=$( (exec sleep 0.01) >/dev/null & echo $! )"
    assert (
        one.run(f"{orphan}; for i in {{1..500}}; do [ -e /proc/$pid ] || exit 5; sleep 0.01; done").code == 5
    )


def test_a_background_process_in_namespaces_of_its_own_is_known(one: Shelled) -> None:
    done = one.run("unshare -Ur sleep 60 >/dev/null 2>&1 & echo $!; sleep 0.3")
    assert open_calls.alive(str(one.private))
    one.run(f"kill -9 {int(done.out)}")
    until(lambda: not open_calls.alive(str(one.private)))


@pytest.mark.parametrize("written", ["hook-commands.claude", "hook-commands"])
def test_our_own_hook_runs_outside(one: Shelled, written: str) -> None:
    """The second name is that of earlier versions."""
    hooks = one.world.project.repo.control / written
    outside = os.stat("/proc/self/ns/mnt").st_ino  # noqa: PTH116 - a link that leads nowhere
    command = "stat -Lc %i /proc/self/ns/mnt"
    hooks.write_bytes(b"another\0" + command.encode())
    by_client = {"CLAUDE_PROJECT_DIR": str(one.root)}
    assert one.run(command, env=by_client).out == f"{outside}\n"
    assert one.run(command + " ", env=by_client).out != f"{outside}\n"
    assert one.run(command).out != f"{outside}\n", "said by an agent"
    hooks.unlink()


def test_a_hook_of_another_agent_does_not_run_outside(one: Shelled) -> None:
    hooks = one.world.project.repo.control / "hook-commands.scribe"
    outside = os.stat("/proc/self/ns/mnt").st_ino  # noqa: PTH116 - a link that leads nowhere
    command = "stat -Lc %i /proc/self/ns/mnt"
    hooks.write_bytes(command.encode())
    assert one.run(command, env={"CLAUDE_PROJECT_DIR": str(one.root)}).out != f"{outside}\n"
    hooks.unlink()


def test_a_call_inside_a_call_runs_as_it_is(one: Shelled) -> None:
    inner = " ".join(f"'{word}'" for word in one.argv("echo inside; exit 5"))
    done = one.run(inner)
    assert (done.code, done.out, done.err) == (5, "inside\n", "")


def test_a_terminal_is_still_one(one: Shelled) -> None:
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        one.argv("tty -s && [ -t 1 ] && echo terminal"),
        cwd=one.root,
        env=one.environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = os.read(ours, 100)
    os.close(ours)
    assert process.wait(timeout=60) == 0
    assert shown == b"terminal\r\n"


def test_a_state_that_cannot_be_read_runs_nothing(one: Shelled) -> None:
    log = one.world.project.repo.control / "events.jsonl"
    argv, kept = one.argv("echo ran"), log.read_bytes()
    log.write_bytes(kept[:-20] + b"\n")
    done = subprocess.run(argv, env=one.environment, capture_output=True, text=True, check=False)
    log.write_bytes(kept)
    assert (done.returncode, done.stdout) == (126, "")
    assert "tdd doctor" in done.stderr


def test_without_namespaces_the_command_runs_and_is_still_an_agents(one: Shelled) -> None:
    control = str(one.world.project.repo.control)
    one.run("true")
    around = confinement.surroundings(control, one.environment)
    known = confinement.read_card(str(one.private), control, around)
    assert known is not None
    confinement.write(str(one.private), confinement.ShellCard(known.root, "", (), known.log, around=around))
    done = one.run("echo ran; tdd off --why x; echo $?; tdd status --json | wc -l")
    assert done.out == "ran\n3\n1\n"
    (one.private / confinement.NAME).unlink()


def test_a_linked_worktree_has_calls_of_its_own(one: Shelled) -> None:
    linked = one.folder / "linked wt"
    one.world.repo.git("worktree", "add", "-q", str(linked), "-b", "two")
    one.own()
    prefix = write_launcher(find_repository(linked))
    command = (
        "echo X = 1 >> src/module.py; rm -f .git; mv ../a ../b; git commit -q --allow-empty -m a; tdd status"
    )
    done = subprocess.run(
        [prefix, command], cwd=linked, env=one.environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "worktree linked-wt" in done.stdout) == (0, True)
    assert done.stderr.count("Put back: src/module.py") == 1
    assert done.stderr.count("busy") == 2
    assert (linked / "src/module.py").read_text() == "VALUE = 2\n"
