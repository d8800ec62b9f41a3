from __future__ import annotations

from pathlib import Path

import pytest

from verdigris.core.errors import ModelMisused, ModelUnavailable, StorageError, UserError
from verdigris.models.protocol import Ask, Message, ModelReply, ToolCall, Usage
from verdigris.models.providers import Scrubber
from verdigris.models.recording import Recorder, Recording, read_recording

KEY = "sk-recorded-0123456789"
SCRUB = Scrubber(["LLM_API_KEY"], {"LLM_API_KEY": KEY})
ASK = Ask((Message("user", "text of the ask"),), {"type": "object"}, "plan")


def reply(text: str) -> ModelReply:
    return ModelReply(text, (ToolCall("c", "read_file", "{}"),), Usage(9, 8, 1, estimated=True), "stop", "m")


def test_what_is_recorded_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a name.jsonl"
    recorder = Recorder(path, SCRUB)
    recorder.append("step-1-tester", 1, ASK, reply("one\nü"))
    recorder.append("step-1-tester", 2, ASK, reply("two"))
    recorder.append("step-2-implementor", 1, ASK, reply("three"))
    read = read_recording(path)
    assert [exchange.reply for exchange in read["step-1-tester"]] == [reply("one\nü"), reply("two")]
    assert read["step-2-implementor"][0].asked.wants == "plan"
    assert len(path.read_text().splitlines()) == 4
    assert "text of the ask" not in path.read_text()


def test_a_place_that_was_begun_again_counts_as_it_went_last(tmp_path: Path) -> None:
    path = tmp_path / "r"
    for texts in (["one", "two"], ["other"]):
        recorder = Recorder(path, SCRUB)
        for number, text in enumerate(texts, start=1):
            recorder.append("step-1-tester", number, ASK, reply(text))
    assert [exchange.reply.text for exchange in read_recording(path)["step-1-tester"]] == ["other"]


def test_a_line_that_was_torn_by_a_kill_is_left_out_and_written_over(tmp_path: Path) -> None:
    path = tmp_path / "r"
    Recorder(path, SCRUB).append("p", 1, ASK, reply("one"))
    with path.open("a") as file:
        file.write('{"place": "p", "num')
    assert len(read_recording(path)["p"]) == 1
    Recorder(path, SCRUB).append("p", 2, ASK, reply("two"))
    assert [exchange.reply.text for exchange in read_recording(path)["p"]] == ["one", "two"]


def test_no_key_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "r"
    Recorder(path, SCRUB).append("p", 1, ASK, reply(f'print("{KEY}")'))
    assert KEY not in path.read_text()
    assert read_recording(path)["p"][0].reply.text == 'print("[LLM_API_KEY]")'


@pytest.mark.parametrize("text", ["# A kata\n", '{"place": "p"}\n', "\x00"])
def test_a_file_that_is_no_recording_is_neither_read_nor_written(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kata.md"
    path.write_text(text)
    with pytest.raises(UserError, match="not a recording"):
        read_recording(path)
    with pytest.raises(UserError, match="not a recording"):
        Recorder(path, SCRUB)
    assert path.read_text() == text


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r"
    Recorder(path, SCRUB).append("p", 1, ASK, reply("one"))
    path.write_text(path.read_text() + "{}\n")
    with pytest.raises(UserError, match="line 3"):
        read_recording(path)


def test_a_recording_that_cannot_be_had_or_kept_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_recording(tmp_path / "none")
    with pytest.raises(StorageError, match="No such file"):
        Recorder(tmp_path / "none" / "r", SCRUB).append("p", 1, ASK, reply("one"))


# -- replays -------------------------------------------------------------------------------------


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
