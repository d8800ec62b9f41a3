from __future__ import annotations

from pathlib import Path

import pytest

from support.katas import recorded_run
from support.katas.script import read_script
from verdigris.core.records import Actor
from verdigris.drivers.happenings import Happening, Noted
from verdigris.models.recording import read_recording
from verdigris.storage.git import ask_users_git

SCRIPT = read_script("string_calculator_python")
ANEW = "record it anew: PYTHONPATH=. python -m support.katas.record, in the folder tests"


def test_the_recording_is_of_the_whole_script() -> None:
    places = read_recording(recorded_run.TALK)
    expected = [(f"step-{n}-{turn.role}", turn) for n, turn in enumerate(SCRIPT.turns, 1)]
    assert list(places) == [place for place, _ in expected]
    assert len(expected) == recorded_run.STEPS + 1
    for place, turn in expected:
        assert [exchange.reply.text for exchange in places[place]] == [turn.answer], ANEW
    assert recorded_run.TALK.stat().st_size < 200_000


def test_one_call_a_step_and_none_that_is_much_longer_than_the_fifth() -> None:
    """Of a run with a scripted server that counts: 31 steps from nothing to the last rule."""
    calls = [exchange for place in read_recording(recorded_run.TALK).values() for exchange in place]
    assert len(calls) == recorded_run.STEPS + 1
    prompts = [exchange.reply.usage.prompt for exchange in calls]
    assert max(prompts[26], prompts[-1]) <= 2 * prompts[4], prompts
    uncached = [call.reply.usage.prompt - call.reply.usage.cached for call in calls]
    assert sum(uncached) < sum(prompts) / 2, "more than half of it was in the cache"


@pytest.mark.slow
def test_a_replay_makes_proven_commits_and_says_what_it_is(tmp_path: Path) -> None:
    happenings: list[Happening] = []
    ended = recorded_run.replay(tmp_path / "show", Actor(client="demo"), happenings.append, 3)
    assert (ended.outcome, len(ended.commits)) == ("steps-made", 2)
    subjects = ask_users_git(tmp_path / "show", "log", "--reverse", "--format=%s").splitlines()
    assert subjects == ["chore: scaffold the kata", *SCRIPT.commits[:2]]
    notes = [happening.text for happening in happenings if isinstance(happening, Noted)]
    assert "this is a replay" in notes[0]
    # What later prompts say of failures depends on the version of pytest.
    assert not any("step-1-tester" in note for note in notes), ANEW
