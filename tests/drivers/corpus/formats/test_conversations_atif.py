"""Trajectories of a real session, against what the format demands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.atif import atif_faults
from support.code_sessions import TEST_ID
from support.corpora import made_triple
from verdigris.drivers.corpus.contents import CorpusContents
from verdigris.drivers.corpus.formats import conversations
from verdigris.drivers.corpus.session_source import Spoken, Trajectory
from verdigris.models.protocol import Message, ToolCall, Usage


def documents(gathered: CorpusContents) -> list[dict[str, Any]]:
    return [json.loads(data) for _, data in conversations.render_atif(gathered).files]


def made(*spoken: Spoken, parts: int = 1) -> dict[str, Any]:
    prefix = (Message("system", "Work test-first."),)
    one = Trajectory("s1-1", "s1", 1, parts, "m", (), prefix, spoken, "done", (made_triple(),))
    return conversations.document_of(one)


def test_a_session_is_a_valid_trajectory_with_system_prompt_and_tools(talked: CorpusContents) -> None:
    [document] = documents(talked)
    assert atif_faults(document) == []
    first, second = document["steps"][:2]
    assert (first["source"], second["source"]) == ("system", "user")
    assert first["message"] == talked.trajectories[0].prefix[0].content
    assert first["message"].startswith("You are a coding agent")
    names = [tool["function"]["name"] for tool in document["agent"]["tool_definitions"]]
    assert {"run_tests", "finish"} <= set(names)
    assert document["agent"]["model_name"] == "scripted"
    [triple] = document["extra"]["triples"]
    assert triple["reds"][0]["id"] == TEST_ID
    assert triple["verdict"] == "accepted"


def test_every_call_has_its_answer_in_the_same_step(talked: CorpusContents) -> None:
    [document] = documents(talked)
    steps = [step for step in document["steps"] if "tool_calls" in step]
    assert steps
    for step in steps:
        asked = [call["tool_call_id"] for call in step["tool_calls"]]
        assert [result["source_call_id"] for result in step["observation"]["results"]] == asked


def test_what_nobody_measured_is_left_out_and_never_zero() -> None:
    estimated = Spoken(Message("assistant", "x"), usage=Usage(10, 0, 5, estimated=True))
    silent = Spoken(Message("assistant", "y"), usage=Usage(10, 0, 5, cache_known=False))
    document = made(estimated, silent)
    assert "metrics" not in document["steps"][1]
    assert document["steps"][2]["metrics"] == {"prompt_tokens": 10, "completion_tokens": 5}
    assert document["final_metrics"] == {"total_steps": 3}
    assert atif_faults(document) == []


def test_totals_are_told_where_every_reply_has_its_numbers() -> None:
    reply = Spoken(Message("assistant", "x"), usage=Usage(10, 4, 5))
    assert made(reply, reply)["final_metrics"] == {
        "total_prompt_tokens": 20,
        "total_completion_tokens": 10,
        "total_cached_tokens": 8,
        "total_steps": 3,
    }


def test_arguments_that_are_no_object_are_kept_beside_the_call() -> None:
    broken = Spoken(Message("assistant", "", (ToolCall("c1", "run_tests", "{oops"),)))
    document = made(broken)
    [call] = document["steps"][1]["tool_calls"]
    assert call["arguments"] == {}
    assert call["extra"] == {"unreadable_arguments": "{oops"}
    assert "observation" not in document["steps"][1]
    assert atif_faults(document) == []


def test_context_that_a_compaction_copied_is_marked_and_parts_name_the_next() -> None:
    document = made(Spoken(Message("user", "so far"), copied=True), parts=2)
    assert document["steps"][1]["is_copied_context"]
    assert document["continued_trajectory_ref"] == "s1-2.json"


def test_a_step_of_another_model_names_it() -> None:
    document = made(
        Spoken(Message("assistant", "x"), model="m"), Spoken(Message("assistant", "y"), model="n")
    )
    assert "model_name" not in document["steps"][1]
    assert document["steps"][2]["model_name"] == "n"


def test_a_triple_without_a_conversation_is_named() -> None:
    made_files = conversations.render_atif(CorpusContents((made_triple(),)))
    assert made_files.files == ()
    assert "no conversation" in made_files.left_out[0].why


def test_the_reference_implementation_takes_it(talked: CorpusContents) -> None:
    reference = pytest.importorskip(
        "harbor.models.trajectories.trajectory", reason="harbor is not installed; it needs Python 3.12"
    )
    [document] = documents(talked)
    assert reference.Trajectory.model_validate(document).schema_version == "ATIF-v1.7"
