"""The real Claude Code, headless on a scripted model, in a repository with the gate before it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from support.anthropic_model import Model, bash, model
from support.claude_code import ClaudeCode
from support.cli import Cli
from support.gated import SUB_ID, TEST_SUB, Place, edit, make_place, reading, red
from verdigris.gates.clients.claude.quick import LOCAL

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class GatedSessions:
    """One here and one in a linked worktree, both played to their ends; what they left is only read."""

    place: Place
    playing: Model
    other: Place
    playing_there: Model


WRONG = "\n\ndef sub(a, b):\n    return 0\n"
SNEAKY = "f=$(printf '%s' tests/test_ sub.py | tr -d ' '); printf 'assert True' > \"$f\"; echo x > notes.md"
PIPELINE = "tdd test tests/test_add.py | tail -1; tdd off --why x; echo $?; tdd status | head -1"


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory, program: Path) -> GatedSessions:
    """The source is edited before there is a red, then wrongly, twice, then rightly.

    Meanwhile the shell reaches for the frozen test, and another client, which was started in a folder of
    another worktree, edits that one.
    """
    folder = tmp_path_factory.mktemp("gated")
    place = make_place(folder / "repo", live=True)
    other = beside(place, folder)
    script = (
        *edit(place),
        *red(place),
        *edit(place, WRONG),
        "I am done.",
        place.append("calc.py", "return 0", "return 2"),
        "I am done.",
        bash(f"cp calc.py seen.md; tdd test {SUB_ID}; tdd claim {SUB_ID} calc.py && tdd restore a1"),
        bash(SNEAKY),
        bash(PIPELINE),
        reading(place, "calc.py"),
        place.append("calc.py", "return 2", "return a - b"),
    )
    # Its personal settings come with its first session, which takes the client a moment to see.
    waiting = [bash("true") for _ in range(3)]
    both = bash("cd .. && echo x > tests/test_add.py; echo x > notes.md")
    with (
        model(*script) as here,
        model(other.write("more.py", "X = 1\n"), *waiting, both) as there,
        place.claude.popen(here, "go") as first,
        other.claude.popen(there, "go") as second,
    ):
        second.communicate(timeout=200)
        first.communicate(timeout=200)
    return GatedSessions(place, here, other, there)


def beside(place: Place, folder: Path) -> Place:
    """A linked worktree of the same repository; the client in its subfolder has a home of its own."""
    root = folder / "other"
    place.cli.repo.git("worktree", "add", "-q", str(root))
    (folder / ".claude").mkdir()
    (root / "docs").mkdir()
    claude = ClaudeCode(root / "docs", folder, place.claude.environment)
    return Place(Cli(replace(place.cli.repo, root=root)), claude)


def test_a_source_edit_first_is_denied_and_after_a_red_it_is_accepted_at_the_stop(
    sessions: GatedSessions,
) -> None:
    place, playing = sessions.place, sessions.playing
    denied = playing.results()[1]
    assert "red-first" in denied
    assert "write one failing test" in denied, "the model sees the next move"
    assert "Verdigris holds this repository" in playing.told()
    assert place.read("calc.py").count("sub") == 1, playing.results()
    assert [event["test_id"] for event in place.events("accepted")] == [SUB_ID], playing.results()
    assert place.phase() == "red"


def test_shell_writes_to_a_frozen_test_have_no_effect_and_the_kernel_answers_in_pipelines(
    sessions: GatedSessions,
) -> None:
    place, playing = sessions.place, sessions.playing
    assert place.read("tests/test_sub.py") == TEST_SUB
    assert place.read("notes.md") == "x\n", playing.results()
    answered = playing.results()[-3]
    assert "3" in answered.splitlines(), "refused"
    assert "phase green" in answered, "and nothing was switched off"


def test_two_strikes_lay_aside_and_the_next_claim_brings_it_back(sessions: GatedSessions) -> None:
    place, playing = sessions.place, sessions.playing
    assert "still-red" in playing.told()
    assert "sub" not in place.read("seen.md")
    assert "return a - b" in place.read("calc.py"), playing.results()


def test_two_clients_on_two_worktrees_do_not_mix_and_one_in_a_subfolder_has_the_gate_too(
    sessions: GatedSessions,
) -> None:
    place, other, there = sessions.place, sessions.other, sessions.playing_there
    assert "red-first" in there.results()[0]
    assert not (other.root / "more.py").exists()
    assert (other.root / "notes.md").exists(), there.results()[-1][-1500:]
    assert other.read("notes.md") == other.read("tests/test_add.py") == "x\n"
    assert other.phase() == place.phase() == "red"
    assert [event["worktree"] for event in place.events("accepted")] == ["main"], sessions.playing.results()


def test_a_persons_word_comes_through_the_prompt(place: Place) -> None:
    place.plays(prompt="tdd off a spike")
    assert place.phase() == "off"
    place.plays(prompt="tdd on")
    assert place.phase() == "red"


def test_a_gate_that_gives_no_answer_blocks_the_write(place: Place) -> None:
    silent = {"killed.md": "kill -9 $$", "junk.md": "echo junk", "late.md": "exec sleep 60"}
    cases = "\n".join(f"  *{name}*) {script} ;;" for name, script in silent.items())
    hook = place.root / ".git/tdd/hook"
    answers = f'case "$(cat)" in\n{cases}\n  *) echo "{{}}" ;;\nesac\n'
    hook.write_text(f'#!/bin/sh\n[ "$2" = PreToolUse ] || {{ echo "{{}}"; exit; }}\n{answers}')
    settings = place.root / LOCAL
    settings.write_text(settings.read_text().replace('"timeout": 60', '"timeout": 3'))
    playing, _ = place.plays(*(place.write(name, "words") for name in (*silent, "notes.md")))
    assert [name for name in silent if (place.root / name).exists()] == [], playing.results()
    assert (place.root / "notes.md").exists(), "where it answers, nothing is blocked"


def test_a_refused_stop_is_told_once_and_without_our_command(sessions: GatedSessions) -> None:
    told = json.dumps(sessions.playing.requests[-1]["messages"])
    assert "git rev-parse" not in told
    assert told.count("Stop hook") == 3, (
        "two stops that were refused, and one for what the accepted code owes"
    )
    assert "no test notices `return True` or `return 1` instead of the body of `sub`" in told


def test_without_verdigris_the_client_reads_and_a_write_says_how_to_install_it(place: Place) -> None:
    (place.root / ".git/tdd/hook").unlink()
    playing, _ = place.plays(reading(place, "calc.py"), place.write("notes.md", "words"))
    read, written = playing.results()
    assert "return a + b" in read
    assert "no answer here: blocked. next, for a person: tdd doctor" in written
    assert "pip install verdigris" in written
    assert "git rev-parse" not in written, "no text of the command"
    assert not (place.root / "notes.md").exists()
