"""The real Claude Code, headless on a scripted model, in a repository with the gate before it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.anthropic_model import Step, bash, model, use
from support.claude_code import ClaudeCode, Ran, installed
from support.cli import Cli, make_cli
from verdigris.gates.claude.settings import LOCAL, SHARED

if TYPE_CHECKING:
    from support.anthropic_model import Model

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TEST_SUB = "import calc\n\n\ndef test_sub():\n    assert calc.sub(3, 2) == 1\n"
SUB_ID = "tests/test_sub.py::test_sub"
SUB = "\n\ndef sub(a, b):\n    return a - b\n"


@dataclass(frozen=True, slots=True)
class Place:
    cli: Cli
    claude: ClaudeCode

    @property
    def root(self) -> Path:
        return self.cli.root

    def path(self, name: str) -> str:
        return str(self.root / name)

    def read(self, name: str) -> str:
        return (self.root / name).read_text()

    def events(self, kind: str) -> list[Any]:
        return [event for event in self.cli.ok("log", "--json").json["events"] if event["type"] == kind]

    def phase(self) -> str:
        return str(self.cli.ok("status", "--json").json["phase"])

    def write(self, name: str, content: str) -> Step:
        return use("Write", file_path=self.path(name), content=content)

    def append(self, name: str, old: str, new: str) -> Step:
        return use("Edit", file_path=self.path(name), old_string=old, new_string=new)

    def plays(self, *script: Step, prompt: str = "go", flags: tuple[str, ...] = ()) -> tuple[Model, Ran]:
        with model(*script) as playing:
            ran = self.claude.run(playing, prompt, *flags)
        assert ran.code == 0, ran
        return playing, ran


@pytest.fixture(scope="session")
def program() -> Path:
    return installed()


@pytest.fixture
def place(tmp_path: Path, program: Path) -> Place:
    return make_place(tmp_path / "repo")


def make_place(root: Path) -> Place:
    cli = make_cli(root)
    cli.ok("init", "--yes", "--agent", "claude")
    cli.repo.commit("with the gate")
    environment = cli.environment()
    commands = str(Path(sys.executable).parent)
    environment["PATH"] = f"{commands}{os.pathsep}{environment['PATH']}"
    return Place(cli, ClaudeCode(root, cli.repo.home, environment))


def reading(place: Place, name: str) -> Step:
    """The client wants a file read before it is edited."""
    return use("Read", file_path=place.path(name))


def red(place: Place) -> tuple[Step, ...]:
    return (place.write("tests/test_sub.py", TEST_SUB), bash(f"tdd test {SUB_ID}"))


def edit(place: Place, new: str = SUB) -> tuple[Step, ...]:
    old = "    return a + b\n"
    return (reading(place, "calc.py"), place.append("calc.py", old, old + new))


def test_a_source_edit_first_is_denied_and_the_model_sees_the_next_move(place: Place) -> None:
    before = place.read("calc.py")
    playing, _ = place.plays(*edit(place))
    assert "red-first" in playing.results()[-1]
    assert "tdd test ID" in playing.results()[-1]
    assert place.read("calc.py") == before
    assert "Verdigris holds this repository" in playing.told()


def test_test_red_edit_stop_is_accepted(place: Place) -> None:
    playing, _ = place.plays(*red(place), *edit(place))
    assert "sub" in place.read("calc.py"), playing.results()
    assert [event["test_id"] for event in place.events("accepted")] == [SUB_ID], playing.results()
    assert place.phase() == "red"


def test_an_obfuscated_shell_write_to_a_frozen_test_has_no_effect_beside_one_that_has(place: Place) -> None:
    sneaky = (
        "f=$(printf '%s' tests/test_ sub.py | tr -d ' '); printf 'assert True' > \"$f\"; echo x > notes.md"
    )
    playing, _ = place.plays(*red(place), *edit(place, "\n\ndef sub(a, b):\n    return 0\n"), bash(sneaky))
    assert place.read("tests/test_sub.py") == TEST_SUB
    assert place.read("notes.md") == "x\n", playing.results()


def test_the_agent_cannot_switch_the_hooks_off_through_its_shell(place: Place) -> None:
    before = place.read(".claude/settings.local.json")
    off = """echo '{"disableAllHooks": true}' > .claude/settings.local.json; sleep 1"""
    playing, _ = place.plays(bash(off), *edit(place), flags=("--dangerously-skip-permissions",))
    assert place.read(".claude/settings.local.json") == before
    assert "red-first" in playing.results()[-1]


def test_the_kernel_answers_in_a_pipeline_and_refuses_a_persons_verb(place: Place) -> None:
    playing, _ = place.plays(
        *red(place), bash("tdd test tests/test_add.py | tail -1; tdd off --why x; echo $?")
    )
    last = playing.results()[-1]
    assert place.phase() == "red"
    assert "3" in last.splitlines(), last


def test_a_persons_word_comes_through_the_prompt(place: Place) -> None:
    place.plays(prompt="tdd off a spike")
    assert place.phase() == "off"
    place.plays(prompt="tdd on")
    assert place.phase() == "red"


@pytest.mark.parametrize("script", ["kill -9 $$", "echo junk", "exec sleep 60"])
def test_a_gate_that_gives_no_answer_blocks_the_write(place: Place, script: str) -> None:
    hook = place.root / ".git/tdd/hook"
    hook.write_text(f'#!/bin/sh\n[ "$2" = PreToolUse ] || {{ echo "{{}}"; exit; }}\n{script}\n')
    for name in (SHARED, LOCAL):
        settings = place.root / name
        settings.write_text(settings.read_text().replace('"timeout": 60', '"timeout": 3'))
    playing, _ = place.plays(place.write("notes.md", "words"))
    assert not (place.root / "notes.md").exists(), playing.results()


def test_two_strikes_lay_aside_and_the_next_claim_brings_it_back(place: Place) -> None:
    wrong = "\n\ndef sub(a, b):\n    return 0\n"
    playing, _ = place.plays(
        *red(place),
        *edit(place, wrong),
        "I am done.",
        place.append("calc.py", "return 0", "return 2"),
        "I am done.",
        bash(f"cp calc.py seen.md; tdd test {SUB_ID}; tdd claim {SUB_ID} calc.py && tdd restore a1"),
        reading(place, "calc.py"),
        place.append("calc.py", "return 2", "return a - b"),
    )
    told = playing.told()
    assert "still-red" in told
    assert "sub" not in place.read("seen.md")
    assert "return a - b" in place.read("calc.py"), playing.results()
    assert [event["test_id"] for event in place.events("accepted")] == [SUB_ID]


def test_two_clients_on_two_worktrees_do_not_mix(place: Place, tmp_path: Path) -> None:
    other_root = tmp_path / "other"
    place.cli.repo.git("worktree", "add", "-q", str(other_root))
    other = Place(
        Cli(replace(place.cli.repo, root=other_root)),
        ClaudeCode(other_root, tmp_path, place.claude.environment),
    )
    (tmp_path / ".claude").mkdir()
    # Its personal settings come with its first session, which takes the client a moment to see.
    waiting = [bash("true") for _ in range(3)]
    both = bash("echo x > tests/test_add.py; echo x > notes.md")
    with (
        model(*red(place), *edit(place)) as here,
        model(*edit(other), *waiting, both) as there,
        place.claude.popen(here, "go") as first,
        other.claude.popen(there, "go") as second,
    ):
        second.communicate(timeout=200)
        first.communicate(timeout=200)
    assert "red-first" in there.results()[1]
    assert other.read("calc.py").count("def") == 1
    assert (other.root / "notes.md").exists(), there.results()
    assert other.read("notes.md") == other.read("tests/test_add.py") == "x\n"
    assert other.phase() == place.phase() == "red"
    assert [event["worktree"] for event in place.events("accepted")] == ["main"], here.results()


def test_a_client_started_in_a_subfolder_has_the_gate_too(place: Place) -> None:
    (place.root / "docs").mkdir()
    below = ClaudeCode(place.root / "docs", place.claude.home, place.claude.environment)
    with model(place.write("more.py", "X = 1\n")) as playing:
        assert below.run(playing).code == 0
    assert "red-first" in playing.results()[-1]
