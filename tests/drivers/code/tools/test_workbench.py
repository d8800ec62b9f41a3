from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cage import obstacle
from support.code_sessions import SESSION, Bench, make_bench
from support.turns import CALC, SUB_ID, TEST_SUB
from verdigris.drivers.code.tools.workbench import environment_of
from verdigris.storage.calls.open_calls import alive

pytestmark = pytest.mark.slow


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[Bench]:
    if why := obstacle("plain", plain_user=os.geteuid() != 0):
        pytest.skip(why)
    with make_bench(tmp_path / "repo") as bench:
        yield bench


def test_a_command_runs_in_the_root_and_its_output_and_exit_code_are_told(tool: Bench) -> None:
    answer = tool("shell", command="cat calc.py; echo oops >&2; exit 3")
    assert "def add(a, b):" in answer.text
    assert "oops" in answer.text
    assert answer.text.endswith("(exit 3)")
    assert answer.outcome == "failed"


def test_source_that_a_shell_writes_before_a_red_is_put_back(tool: Bench) -> None:
    answer = tool("shell", command="echo 'def sub(a, b): return a - b' >> calc.py")
    assert tool.world.read("calc.py") == CALC
    assert "calc.py" in answer.text


def test_a_frozen_test_is_read_only_to_the_shell(tool: Bench) -> None:
    tool("create_file", path="tests/test_sub.py", content=TEST_SUB)
    tool.world.red_by_record(SUB_ID)
    tool("edit_claim", test_ids=[SUB_ID])
    for command in ("sed -i s/2/3/ tests/test_sub.py", "rm tests/test_sub.py", "echo > tests/test_sub.py"):
        assert tool("shell", command=command).outcome == "failed"
        assert tool.world.read("tests/test_sub.py") == TEST_SUB


def test_a_session_cannot_be_written_from_its_shell(tool: Bench) -> None:
    private = tool.bench.project.repo.private
    before = sorted(path.name for path in (private / "sessions").iterdir())
    assert tool("shell", command=f"echo x >> {private}/sessions/{SESSION}.jsonl").outcome == "failed"
    assert sorted(path.name for path in (private / "sessions").iterdir()) == before


def test_a_command_that_takes_too_long_is_ended(tool: Bench) -> None:
    begun = time.monotonic()
    answer = tool("shell", command="sleep 300", seconds=1)
    assert time.monotonic() - begun < 100
    assert "ended after 1 s" in answer.text
    assert not alive(str(tool.bench.project.repo.private))


def test_a_flood_keeps_its_beginning_and_its_end(tool: Bench) -> None:
    answer = tool("shell", command="echo first; seq 1 100000; echo last")
    assert answer.text.startswith("first")
    assert "bytes left out" in answer.text
    assert answer.text.endswith("last\n(exit 0)")


def test_a_job_goes_on_is_read_and_is_stopped(tool: Bench) -> None:
    answer = tool("shell", command="echo up; exec sleep 60", background=True)
    name = re.search(r"started as (j\d+)", answer.text)
    assert name
    deadline = time.monotonic() + 30
    while "up" not in (shown := tool("shell", job=name[1]).text) and time.monotonic() < deadline:
        tool.dispatcher.forget_calls()
        time.sleep(0.05)
    assert shown == f"up\n({name[1]} runs)"
    assert "ended" in tool("shell", job=name[1], stop=True).text
    assert "there is no job" in tool("shell", job="j9").text


def test_nothing_to_run_is_told(tool: Bench) -> None:
    assert "command is missing" in tool("shell").text


def test_the_keys_of_models_are_not_in_a_commands_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_KEY", "hush-0123456789")
    made = environment_of("0123abcd", ("LLM_KEY",))
    assert "LLM_KEY" not in made
    assert (made["TDD_CLIENT"], made["TDD_SESSION"]) == ("code", "0123abcd")
