from __future__ import annotations

from typing import Any

import pytest

from verdigris.models.client import AnswerStream
from verdigris.models.protocol import ModelReply, ToolCall, Usage


def heard(*documents: dict[str, Any]) -> AnswerStream:
    """By a module that is loaded when a test runs: it loads the library of OpenAI."""
    from verdigris.models.client import AnswerStream

    hearing = AnswerStream()
    for document in documents:
        hearing.take(document)
    return hearing


def piece(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"delta": delta, "finish_reason": finish}]}


def called(**call: Any) -> dict[str, Any]:
    return piece(tool_calls=[call])


def test_text_comes_in_pieces_and_usage_at_the_end() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}}
    hearing = heard(
        piece(role="assistant", content=""),
        piece(reasoning_content="hm"),
        piece(content="ye"),
        piece(content="s", finish="stop"),
        {"choices": [], "usage": usage},
    )
    assert hearing.reply() == ModelReply("yes", usage=Usage(9, 8, 2), finish="stop", model="m")


def test_a_whole_answer_is_heard_too() -> None:
    message = {"role": "assistant", "content": "yes", "tool_calls": None}
    hearing = heard({"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]})
    assert hearing.reply() == ModelReply(
        "yes", usage=Usage(estimated=True, cache_known=False), finish="stop", model="m"
    )


def test_calls_are_put_together_by_their_index() -> None:
    hearing = heard(
        called(index=0, id="a", function={"name": "read_file", "arguments": '{"p'}),
        called(index=1, id="b", function={"name": "search", "arguments": "{"}),
        called(index=0, function={"arguments": '": 1}'}),
        called(index=1, function={"arguments": "}"}),
    )
    assert hearing.reply().calls == (ToolCall("a", "read_file", '{"p": 1}'), ToolCall("b", "search", "{}"))


def test_a_server_that_sends_no_index_begins_a_call_with_an_id() -> None:
    hearing = heard(
        called(id="a", function={"name": "one", "arguments": "{}"}),
        called(id="b", function={"name": "two", "arguments": "{"}),
        called(id="b", function={"arguments": "}"}),
    )
    assert [call.name for call in hearing.reply().calls] == ["one", "two"]
    assert hearing.reply().calls[1].arguments == "{}"


def test_a_call_without_an_id_gets_one() -> None:
    assert heard(called(index=0, function={"name": "one"})).reply().calls == (ToolCall("call_0", "one", ""),)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>\nfirst {}\n</think>\n\n{}", "{}"),
        ("<thinking>x</thinking>ok", "ok"),
        ("an answer about <think>tags</think>", "an answer about <think>tags</think>"),
        ("<think>never ended", "<think>never ended"),
    ],
)
def test_reasoning_in_front_of_an_answer_is_no_part_of_it(text: str, answer: str) -> None:
    assert heard(piece(content=text)).reply().text == answer


def test_an_answer_of_nothing_is_empty() -> None:
    assert heard(piece(content=" \n"), piece(finish="length")).empty
    assert not heard(called(index=0, function={"name": "one"})).empty


def test_cached_tokens_are_read_in_the_words_of_other_servers() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 7}
    assert heard({"choices": [], "usage": usage}).reply().usage == Usage(9, 7, 2)


def lines_heard(*contents: str) -> list[str]:
    from verdigris.models.client import AnswerStream

    told: list[str] = []
    hearing = AnswerStream(told.append)
    for content in contents:
        hearing.take(piece(content=content))
    return told


def test_the_lines_of_a_text_are_told_when_they_are_whole() -> None:
    assert lines_heard("on", "e\ntw", "o\nthree\nf", "our") == ["one\n", "two\nthree\n"]


def test_reasoning_in_front_of_a_text_is_not_told() -> None:
    assert lines_heard("\n", "<thi", "nk>hm\nhm\n", "</think>\n", "so\n", "be") == ["so\n"]
