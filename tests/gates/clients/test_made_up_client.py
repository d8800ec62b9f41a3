"""One folder is enough: a made-up agent meets the law through the real hook process."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from gates.hooks import ENTRY
from support.turns import World
from verdigris.gates.agent_shell.launcher import PATHS, import_paths


def ask(world: World, scribe: tuple[str, ...], event: str = "about to", **said: str) -> str:
    environment = {
        **os.environ,
        "HOME": str(world.root.parent),
        PATHS: os.pathsep.join((*import_paths(), *scribe)),
    }
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(ENTRY), "scribe", event],
        input=json.dumps({"when": event, "who": "s1", "desk": str(world.root), **said}).encode(),
        capture_output=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def test_an_edit_without_a_red_is_denied_in_its_own_dialect(world: World, scribe: tuple[str, ...]) -> None:
    said = ask(world, scribe, deed="scribble", scroll="calc.py", ink="def add(a, b):\n    return 7\n")
    assert said.startswith("no: denied [red-first]")
    assert "next: write one failing test" in said
    *_, last = world.project.log.records()
    assert (last.type, last.actor["client"], last.actor["context"]) == ("denied", "scribe", "s1")


def test_a_test_file_is_its_to_write(world: World, scribe: tuple[str, ...]) -> None:
    said = ask(world, scribe, deed="scribble", scroll="tests/test_new.py", ink="def test_new():\n    pass\n")
    assert said == "yes\n"


def test_what_it_wrote_in_spite_of_the_law_is_put_back(world: World, scribe: tuple[str, ...]) -> None:
    ask(world, scribe, "wakes")
    before = world.read("calc.py")
    world.write("calc.py", before + "\nx = 1\n")
    said = ask(world, scribe, "did", deed="scribble", scroll="calc.py", ink="")
    assert "calc.py" in said
    assert world.read("calc.py") == before


def test_its_session_is_told_the_laws(world: World, scribe: tuple[str, ...]) -> None:
    assert "red → green" in ask(world, scribe, "wakes")
