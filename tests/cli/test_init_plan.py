from __future__ import annotations

from pathlib import Path

import pytest

from verdigris.cli import init as view
from verdigris.cli.uninit import removed_lines
from verdigris.core.settings import JUnit, Settings, Stack
from verdigris.setup.initialisation import Initialised, InitPlan, Removed
from verdigris.storage.repository import Repository

pytestmark = pytest.mark.quick

REPO = Repository(Path("/r"), Path("/r/.git"), Path("/r/.git"), "main")


def test_a_plan_shows_the_path_and_the_lines_that_count() -> None:
    texts = [
        line.text
        for line in view.plan_lines(InitPlan(REPO, Settings(), "# comment\nstacks:\n\n  - root: .\n"))
    ]
    assert texts[0] == "found python with pytest in ."
    assert "tdd.yaml" in texts[1]
    assert texts[2:4] == ["    stacks:", "      - root: ."]
    assert ".git/tdd/events.jsonl" in texts[4]


def test_where_nothing_tells_the_language_nothing_is_said_to_be_found() -> None:
    lines = view.plan_lines(InitPlan(REPO, Settings(), "stacks: []\n", assumed=True))
    assert lines[0].text == (
        "no code found: python with pytest in . is assumed; for another language: `tdd init --lang NAME`"
    )


def test_each_stack_is_told_and_what_is_left_out() -> None:
    java = Stack(root="j", language="java", runner="junit", junit=JUnit(preset="surefire"))
    settings = Settings(stacks=(Stack(), java))
    texts = [
        line.text for line in view.plan_lines(InitPlan(REPO, settings, "x: 1\n", ("build.sbt is there",)))
    ]
    assert texts[1:3] == ["found java with junit (surefire) in j", "note: build.sbt is there"]


def test_a_tdd_yaml_that_is_there_stays() -> None:
    assert "stays as it is" in view.plan_lines(InitPlan(REPO, Settings(), None))[0].text


def test_without_tests_an_uncovered_refactor_is_offered() -> None:
    texts = [line.text for line in view.done_lines(Initialised("red", "go", tests=False, already=False))]
    assert texts[0] == "set up; phase red"
    assert any("tdd refactor begin --uncovered" in text for text in texts)
    assert len(view.done_lines(Initialised("red", "go", tests=True, already=True))) == 2


def test_what_became_of_the_file_is_said() -> None:
    assert "tdd.yaml is removed" in removed_lines(Removed("removed", was_configured=True))[0].text
    assert "--force" in removed_lines(Removed("kept", was_configured=True))[0].text
    assert "was not set up" in removed_lines(Removed("missing", was_configured=False))[0].text
