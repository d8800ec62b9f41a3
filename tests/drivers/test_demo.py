"""The play in each language, with its real tool."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.katas import shipping_unittest
from support.katas.script import read_script
from support.tool_worlds import lend_go
from support.tools import why_not
from verdigris.cli.demo import LANGUAGES
from verdigris.core.errors import ToolMissing
from verdigris.core.records import Actor
from verdigris.drivers.demo import Scene, edit
from verdigris.drivers.demo.play import (
    KATA_STEPS,
    KATA_TALK,
    SPEC_TALK,
    build_kata,
    build_spec,
    play,
    prepare,
    script_of,
)
from verdigris.drivers.happenings import Happening, Noted, Refused
from verdigris.languages.registry import readers
from verdigris.models.recording import read_recording

ANEW = "record it anew: PYTHONPATH=. python -m support.katas.record leap-year shipping, in the folder tests"
TOOLS = {"node": ("node", "--version"), "rust": ("cargo", "--version"), "go": ("go", "version")}


@dataclass
class Listening:
    """A stage that only listens."""

    scenes: list[Scene] = field(default_factory=list)

    def show(self, scene: Scene) -> None:
        self.scenes.append(scene)

    def answers(self) -> list[str]:
        """What was answered, in that order, without the details."""
        answered = (s for s in self.scenes if s.kind in ANSWERS or s.text.startswith("claimed"))
        return [scene.text.partition(":")[0] for scene in answered]


ANSWERS = {"denied", "red", "wrong-red", "rejected", "accepted", "plain"}
RED, WRONG_RED = "red for the right reason", "red, but not for the right reason"
LAW = ["denied [red-first]", "denied [red-passing]"]
TURN = ["claimed", "denied [frozen-oracle]", "regressed", "accepted"]


def test_the_command_offers_every_language() -> None:
    assert [one.name for one in readers() if one.project.starter() is not None] == [*LANGUAGES]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["node", "rust", "go"])
@pytest.mark.usefixtures("recorded_tools")
def test_each_law_is_met_and_the_turn_ends_in_an_acceptance(tmp_path: Path, language: str) -> None:
    if why := why_not(*TOOLS[language]):
        pytest.skip(why)
    script, stage = script_of(language), Listening()
    project = prepare(script, tmp_path / "demo")
    if language == "go":
        lend_go(project)
    play(script, project, stage)
    reds = [WRONG_RED, RED] if language == "rust" else [RED]  # a stub without types does not compile
    assert stage.answers() == [*LAW, *reds, *TURN]
    assert project.log.verify().whole
    assert (project.root / script.source).read_text() == script.good


@pytest.mark.slow
def test_a_cheat_is_green_for_unittest_and_hollow_for_verdigris(tmp_path: Path) -> None:
    script, stage = script_of("python"), Listening()
    project = prepare(script, tmp_path / "demo")
    play(script, project, stage)
    cheat = [RED, "claimed", "plain unittest says green", "hollow", "accepted"]
    assert stage.answers() == [*LAW, RED, *TURN, *cheat]
    [hollow] = [scene for scene in stage.scenes if scene.text == "hollow"]
    assert hollow.code == ("self.assertEqual(calc.mul(3, 4), 12)",)
    assert "test_calc.py:14" in hollow.more[0]


def test_the_python_play_asks_for_nothing_but_an_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pytest", None)
    files = script_of("python").files
    assert "runner: unittest" in files["tdd.yaml"]
    assert not any("pytest" in text for text in files.values())


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("one\n\ntwo\n", "one\n\n\nTWO\n", ("- two", "+ TWO")),
        ("a {\n}\n\nz\n", "a {\n}\n\nb {\n}\n\nz\n", ("+ b {", "+ }")),
        ("a {\n}\nz\n", "a {\n}\n\nb {\n\tc\n}\nz\n", ("+ b {", "+     c", "+ }")),
        ("a\nb\nc\n", "a\nc\n", ("- b",)),
    ],
    ids=["no blank lines", "a block", "a block that ends like the one before it", "a line that goes"],
)
def test_an_edit_shows_the_lines_that_differ(before: str, after: str, lines: tuple[str, ...]) -> None:
    assert edit(before, after) == Scene("edit", code=lines)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_agent_writes_is_small(language: str) -> None:
    if language in TOOLS and (why := why_not(*TOOLS[language])):
        pytest.skip(why)
    script = script_of(language)
    before = script.files[script.source]
    assert 2 <= len(edit(before, script.eager).code) <= 6


@pytest.mark.parametrize("language", TOOLS)
def test_a_missing_tool_is_said_before_anything_is_made(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = shutil.which("git")
    assert git is not None
    (tmp_path / "git").symlink_to(git)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing) as missing:
        script_of(language)
    assert f"`{TOOLS[language][0]}` on PATH" in (missing.value.hint or "")


def test_a_program_that_rustup_left_without_a_toolchain_is_told_from_a_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = tmp_path / "cargo"
    shim.write_text(
        "#!/bin/sh\necho 'error: rustup could not choose a version of cargo to run' >&2\nexit 1\n"
    )
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing) as broken:
        script_of("rust")
    assert "`cargo` is on PATH, but `cargo --version` fails: error: rustup could not choose" in str(
        broken.value
    )
    assert "rustup default stable" in (broken.value.hint or "")


def test_the_recording_of_the_kata_is_of_the_whole_script() -> None:
    turns = read_script("leap_year_unittest").turns
    answers = [exchange.reply.text for place in read_recording(KATA_TALK).values() for exchange in place]
    assert answers == [turn.answer for turn in turns], ANEW
    assert len(turns) == KATA_STEPS


@pytest.mark.slow
def test_the_machine_builds_the_kata_with_nothing_but_unittest(tmp_path: Path) -> None:
    happenings: list[Happening] = []
    ended = build_kata(tmp_path / "kata", Actor(client="demo"), happenings.append)
    assert (ended.outcome, len(ended.commits), ended.points) == ("steps-made", 4, ())
    notes = [happening.text for happening in happenings if isinstance(happening, Noted)]
    assert len(notes) == 1, (notes, ANEW)
    assert "this is a replay" in notes[0]


def test_the_recording_of_the_spec_is_of_all_its_answers() -> None:
    answers = [exchange.reply.text for place in read_recording(SPEC_TALK).values() for exchange in place]
    assert answers == [text for texts in shipping_unittest.ANSWERS.values() for text in texts], ANEW


@pytest.mark.slow
def test_a_spec_becomes_evidence_with_nothing_but_unittest(tmp_path: Path) -> None:
    happenings: list[Happening] = []
    ended = build_spec(tmp_path / "spec", Actor(client="demo"), happenings.append)
    assert (ended.outcome, len(ended.commits)) == ("cycle-done", 3)
    assert [one.role for one in happenings if isinstance(one, Refused)] == ["coder"]
    notes = [happening.text for happening in happenings if isinstance(happening, Noted)]
    assert len(notes) == 1, (notes, ANEW)
    assert "this is a replay" in notes[0]
