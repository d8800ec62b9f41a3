"""The play in each language, with its real tool."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from support.tool_worlds import lend_go
from support.tools import why_not
from verdigris.cli.demo import LANGUAGES
from verdigris.core.errors import ToolMissing
from verdigris.drivers.demo.play import SCRIPTS, play, prepare
from verdigris.kernel.testing import run_tests

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = {"node": ("node", "--version"), "rust": ("cargo", "--version"), "go": ("go", "version")}


@dataclass
class Listening:
    """A stage that only listens."""

    acts: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)

    def act(self, text: str) -> None:
        self.acts.append(text)

    def answer(self, *lines: str) -> None:
        self.answers.extend(lines)

    def heard(self, *signs: str) -> list[str]:
        """Those of the signs that were said, in the order in which they were."""
        return [sign for line in self.answers for sign in signs if sign in line]


def test_the_command_offers_every_language() -> None:
    assert tuple(SCRIPTS) == LANGUAGES


@pytest.mark.slow
@pytest.mark.parametrize(("language", "wrong"), [("node", "import"), ("rust", "build"), ("go", "build")])
def test_each_law_is_met_and_the_turn_ends_in_an_acceptance(
    tmp_path: Path, language: str, wrong: str
) -> None:
    if why := why_not(*TOOLS[language]):
        pytest.skip(why)
    script, stage = SCRIPTS[language](), Listening()
    project = prepare(script, tmp_path / "demo")
    if language == "go":
        lend_go(project, lambda: run_tests(project, [], cwd=project.root))
    play(script, project, stage)
    rules = ("[red-first]", "[red-passing]", "[frozen-oracle]")
    reds = (f"red: {wrong}", "red: valid")
    met = stage.heard(*rules, *reds, "claimed; phase green", "[tdd] regressed", "[tdd] accepted")
    assert met == [
        *rules[:2],
        *reds,
        "claimed; phase green",
        rules[2],
        "[tdd] regressed",
        "[tdd] accepted",
    ]
    assert project.log.verify().whole
    assert (project.root / script.source).read_text() == script.good


@pytest.mark.parametrize("language", TOOLS)
def test_a_missing_tool_is_said_before_anything_is_made(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = shutil.which("git")
    assert git is not None
    (tmp_path / "git").symlink_to(git)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing) as missing:
        SCRIPTS[language]()
    assert f"`{TOOLS[language][0]}` on PATH" in (missing.value.hint or "")
