from __future__ import annotations

from pathlib import Path

import pytest

from verdigris.core.errors import ModelMisused, ModelUnavailable
from verdigris.models.protocol import Ask, Message, ModelReply
from verdigris.models.providers import Scrubber
from verdigris.models.recording import Recorder, Recording


def ask(*texts: str, wants: str = "plan") -> Ask:
    return Ask(tuple(Message("user", text) for text in texts), {"type": "object"}, wants)


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    recorder = Recorder(tmp_path / "r.jsonl", Scrubber(()))
    recorder.append("step-1-tester", 1, ask("stable", "first"), ModelReply("a plan"))
    recorder.append("step-1-tester", 2, ask("stable", "second", wants="edit"), ModelReply("an edit"))
    recorder.append("step-2-implementor", 1, ask("stable"), ModelReply("other"))
    return Recording(tmp_path / "r.jsonl")


def test_answers_come_by_place_and_order(recording: Recording) -> None:
    implementor, tester = recording.at("step-2-implementor"), recording.at("step-1-tester")
    assert implementor.ask(ask("stable")).text == "other"
    assert tester.ask(ask("stable", "first")).text == "a plan"
    assert tester.ask(ask("stable", "second", wants="edit")).text == "an edit"
    assert tester.name == "replay:r.jsonl"
    assert not recording.drift


def test_a_step_that_is_begun_again_is_replayed_from_its_start(recording: Recording) -> None:
    for _ in range(2):
        assert recording.at("step-1-tester").ask(ask("stable", "first")).text == "a plan"


def test_a_recording_outlives_an_edit_of_the_prompt_and_says_so(recording: Recording) -> None:
    model = recording.at("step-1-tester")
    assert model.ask(ask("stable", "first, but better worded")).text == "a plan"
    assert "message 2 (user) differs" in recording.drift
    model.ask(ask("unlike", wants="edit"))
    assert "message 2" in recording.drift  # the first difference is the one that tells


def test_another_number_of_messages_is_a_difference(recording: Recording) -> None:
    recording.at("step-1-tester").ask(ask("stable"))
    assert "it had 2 messages, now 1" in recording.drift


def test_a_recording_that_is_out_of_step_does_not_answer(recording: Recording) -> None:
    with pytest.raises(ModelMisused) as caught:
        recording.at("step-1-tester").ask(ask("stable", "first", wants="edit"))
    assert "answer 1 of step-1-tester" in caught.value.message
    assert "has the form plan, and edit is requested" in caught.value.message


def test_a_recording_ends(recording: Recording) -> None:
    with pytest.raises(ModelUnavailable, match="0 answers for step-3-refactorer"):
        recording.at("step-3-refactorer").ask(ask("stable"))
