"""What a command or a hook costs besides its work: modules loaded, projects opened, folds of the log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from support.turns import World

COUNTED = """
import atexit, json, os, sys
from verdigris.storage.log import reader as reading
from verdigris.storage import project

counts = {"folds": 0, "opened": 0}

def counting(module, name, kind):
    wrapped = getattr(module, name)
    def count(*given, **named):
        counts[kind] += 1
        return wrapped(*given, **named)
    setattr(module, name, count)

counting(reading, "_since_checkpoint", "folds")
counting(project, "open_log", "opened")

def tell():
    counts["modules"] = sum(name.split(".")[0] == "verdigris" for name in sys.modules)
    slow = {"dataclasses", "inspect", "ast", "click", "_ctypes", "subprocess", "tokenize", "difflib"}
    counts["slow"] = sorted(slow & sys.modules.keys())
    with open(os.environ["COUNTS"], "w") as file:
        json.dump(counts, file)

def leave(code, leaving=os._exit):
    tell()
    leaving(code)

os._exit = leave
atexit.register(tell)
"""
TDD = "from verdigris.cli.main import run; run()"
HOOK = "from verdigris.gates.quick import main; main(['claude', 'PreToolUse'])"
TEST = "tests/test_add.py::test_add"


def counts(world: World, code: str, *arguments: str, given: str = "") -> dict[str, Any]:
    told = world.root.parent / "counts.json"
    env = {
        "CLAUDE_CODE_SHELL_PREFIX": str(world.project.repo.control / "shell"),
        **os.environ,
        "COUNTS": str(told),
        "HOME": str(world.repo.home),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    argv = [sys.executable, "-c", COUNTED + code, *arguments]
    done = subprocess.run(
        argv, cwd=world.root, env=env, input=given.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(told.read_text())
    return found


def test_a_run_of_one_test_folds_the_log_once_and_loads_few_modules(world: World) -> None:
    counts(world, TDD, "test", TEST)  # the interpreter is asked where its packages lie, once
    world.write("notes.md", "so that no answer comes from the log\n")
    found = counts(world, TDD, "test", TEST)
    assert (found["opened"], found["folds"]) == (1, 1)
    assert found["modules"] <= 114
    assert found["slow"] == ["_ctypes"]  # the sandbox's system calls


def test_a_run_beside_edited_source_parses_it_and_loads_no_other_tool_for_texts(world: World) -> None:
    counts(world, TDD, "test", TEST)
    world.write("calc.py", f"{world.read('calc.py')}\n\nV = 1  # for the next move\n")
    found = counts(world, TDD, "test", TEST)
    assert found["modules"] <= 130
    assert found["slow"] == ["_ctypes", "ast"]


def test_a_denied_hook_opens_the_project_once_folds_the_log_once_and_loads_few_modules(world: World) -> None:
    call = {"tool_name": "Write", "tool_input": {"file_path": "tdd.yaml", "content": ""}, "session_id": "s"}
    payload = {"hook_event_name": "PreToolUse", "cwd": str(world.root), **call}
    found = counts(world, HOOK, given=json.dumps(payload))
    assert (found["opened"], found["folds"]) == (1, 1)
    assert found["modules"] <= 103
    assert found["slow"] == []
    *_, last = world.project.log.records()
    assert last.type == "denied"


def test_help_loads_next_to_nothing(world: World) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", TDD, "--help"], capture_output=True, check=True, text=True
    )
    assert sum("verdigris" in line for line in done.stderr.splitlines()) <= 10
