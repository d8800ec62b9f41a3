from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support.cli import Cli
from support.forked import ForkedProcess, start_forked


def test_a_program_is_made_checked_and_chosen(bare_cli: Cli) -> None:
    assert bare_cli.tdd("loop", "due").code == 1
    made = bare_cli.ok("loop", "new", "port", "--strategy", "ratchet")
    assert "next: fill in each <CUSTOMIZE: …>, then `tdd loop lint port`" in made.out
    unfinished = bare_cli.tdd("loop", "lint", "port")
    assert unfinished.code == 1
    assert "port (ratchet) does not run: " in unfinished.out
    assert "unconfigured" in bare_cli.tdd("loop", "due").out
    program = bare_cli.root / ".autoloop/programs/port/program.md"
    text = "## Goal\nx\n## Target\n- `calc.py`\n## Evaluation\n```sh\ntrue\n```\n"
    program.write_text(text)
    assert bare_cli.ok("loop", "lint").out == "● port (ratchet) is ready\n"
    assert bare_cli.ok("loop", "due", "--json").json["selected"] == "port"


def test_an_agent_makes_no_program(bare_cli: Cli) -> None:
    agent = {"TDD_ACTOR": "agent", "TDD_ROOT": str(bare_cli.root)}
    assert bare_cli.tdd("loop", "new", "port", env=agent).code == 3


def test_a_workflow_is_written_for_a_program(bare_cli: Cli) -> None:
    bare_cli.ok("loop", "new", "port", "--strategy", "ratchet")
    made = bare_cli.ok("loop", "workflow", "github", "port")
    assert "wrote .github/workflows/autoloop-port.yml" in made.out
    assert "AUTOLOOP_TOKEN" in made.out
    there = bare_cli.root / ".github/workflows/autoloop-port.yml"
    assert "tdd loop run port" in there.read_text()
    there.write_text("mine\n")
    assert "`--force` writes it anew" in bare_cli.tdd("loop", "workflow", "github").err
    bare_cli.ok("loop", "workflow", "github", "--force")
    agent = {"TDD_ACTOR": "agent", "TDD_ROOT": str(bare_cli.root)}
    assert bare_cli.tdd("loop", "workflow", "github", env=agent).code == 3


def with_program(cli: Cli) -> None:
    text = "## Goal\nx\n## Target\n- `calc.py`\n## Evaluation\n```sh\ntrue\n```\n"
    program = cli.root / ".autoloop/programs/port/program.md"
    program.parent.mkdir(parents=True)
    program.write_text(text)


def test_a_program_is_paused_told_and_resumed(cli: Cli) -> None:
    assert "there is no program" in cli.ok("loop", "status").out
    with_program(cli)
    assert cli.ok("loop", "status").out.splitlines() == [
        "● port (ratchet) due",
        "  never run",
        "  branch autoloop/port",
    ]
    paused = cli.ok("loop", "pause", "port", "--why", "the reference changes")
    assert paused.out.splitlines()[0] == "port is paused: the reference changes"
    assert cli.tdd("loop", "pause", "port").code == 1
    assert "paused: the reference changes (`tdd loop resume port`)" in cli.tdd("loop", "due").out
    told = cli.ok("loop", "status", "port", "--json").json["programs"][0]
    assert (told["condition"], told["why"]) == ("paused", "the reference changes")
    assert cli.ok("loop", "resume", "port").out.startswith("port is resumed; it was paused: ")
    assert cli.tdd("loop", "resume", "port").code == 1
    assert cli.ok("loop", "due").out.startswith("● due: port ")


def test_nothing_at_work_cannot_be_stopped(cli: Cli) -> None:
    with_program(cli)
    stopped = cli.tdd("loop", "stop")
    assert (stopped.code, stopped.out.partition(";")[0]) == (1, "nothing is running")
    named = cli.tdd("loop", "stop", "port")
    assert (named.code, "port is not running" in named.err) == (2, True)


@pytest.mark.parametrize(
    "words", [("run", "port"), ("daemon",), ("pause", "port"), ("resume", "port"), ("stop",)]
)
def test_an_agent_neither_runs_nor_pauses_nor_stops_programs(cli: Cli, words: tuple[str, ...]) -> None:
    agent = {"TDD_ACTOR": "agent", "TDD_ROOT": str(cli.root)}
    assert cli.tdd("loop", *words, env=agent).code == 3


def test_nothing_due_is_an_end_of_its_own(cli: Cli) -> None:
    ended = cli.tdd("loop", "run", "--json")
    assert (ended.code, ended.json["event"], ended.json["outcome"]) == (1, "run_ended", "nothing-due")
    assert "next: `tdd loop due` says why" in cli.tdd("loop", "run").out


@contextmanager
def started(cli: Cli, *words: str) -> Iterator[ForkedProcess]:
    process = start_forked(["loop", *words], cli.root, cli.environment())
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


def first_line(process: ForkedProcess) -> str:
    return process.stdout.readline().decode()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 130), (signal.SIGINT, 130), (None, 0)])
def test_a_daemon_ends_by_a_signal_or_by_stop_and_is_alone_until_then(
    cli: Cli, number: signal.Signals | None, code: int
) -> None:
    with started(cli, "daemon", "--json") as daemon:
        assert '"event": "daemon_rests"' in first_line(daemon)
        assert cli.ok("loop", "status", "--json").json["daemon"] == daemon.pid
        assert f"a daemon is running (process {daemon.pid})" in cli.ok("loop", "status").out
        second = cli.tdd("loop", "daemon")
        assert second.code == 2
        assert f"a daemon is at work in this repository already: process {daemon.pid}" in second.err
        if number is None:
            assert f"asked the daemon to stop after its current step (process {daemon.pid}" in (
                cli.ok("loop", "stop").out
            )
        else:
            daemon.send_signal(number)
        rest, err = daemon.communicate(timeout=60)
    assert daemon.returncode == code, err
    assert rest.splitlines()[-1].startswith('{"schema": 1, "event": "')


def test_a_daemon_may_wait_for_another_to_end(cli: Cli) -> None:
    with started(cli, "daemon") as first:
        assert first_line(first).startswith("rests until ")
        with started(cli, "daemon", "--wait") as second:
            assert b"waiting for process" in second.stderr.readline()
            cli.ok("loop", "stop")
            assert first.wait(60) == 0
            assert first_line(second).startswith("rests until ")
            second.send_signal(signal.SIGTERM)
            second.communicate(timeout=60)
