"""Refusals as servers really word them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from verdigris.models.failure import (
    LONGEST,
    Meaning,
    ModelFailure,
    Patience,
    Refusal,
    meaning_of,
    message_of,
    retry_after,
)
from verdigris.models.providers import Endpoint
from verdigris.models.request import Feature

ENDPOINT = Endpoint("openai:gpt-x", "gpt-x", "https://host/v1", "LLM_API_KEY")
ALL: tuple[Feature, ...] = ("format", "stream_options", "temperature", "max_tokens", "tools", "stream")


def meant(status: int, message: str, code: str = "", after: float | None = None) -> ModelFailure:
    return meaning_of(Refusal(status, message, code, after), ENDPOINT, ALL)


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (400, "This model's maximum context length is 8192 tokens. However, …", "context_length_exceeded"),
        (
            400,
            "the request exceeds the available context size, try increasing it",
            "exceed_context_size_error",
        ),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", ""),
        (
            400,
            "'max_tokens' is too large: 4096. This model's maximum context length is 4096 tokens",
            "BadRequestError",
        ),
        (400, "Please reduce the length of the messages or completion.", ""),
        (413, "Request too large for model on tokens per minute (TPM): Limit 6000, Requested 7500", "tokens"),
        (413, "", ""),
        (429, "Request too large for gpt-x. The input or output tokens must be reduced", "tokens"),
        (500, "context size exceeded: the prompt does not fit the context window", ""),
    ],
)
def test_an_overflow_is_known_by_its_words(status: int, message: str, code: str) -> None:
    assert meant(status, message, code).meaning is Meaning.OVERFLOW


@pytest.mark.parametrize(
    ("status", "message", "feature"),
    [
        (400, "This response_format type is unavailable now", "format"),
        (400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported", "format"),
        (400, "json mode cannot be combined with tool/function calling", "format"),
        (400, "Cannot use custom grammar constraints with tools.", "format"),
        (
            422,
            "[{'loc': ['body', 'stream_options'], 'msg': 'Extra inputs are not permitted'}]",
            "stream_options",
        ),
        (400, "Unsupported value: 'temperature' does not support 0.4 with this model.", "temperature"),
        (400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens"),
        (
            400,
            "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
            "max_tokens",
        ),
        (400, "registry.ollama.ai/library/gemma:2b does not support tools", "tools"),
        (404, "No endpoints found that support tool use.", "tools"),
        (500, "tools param requires --jinja flag", "tools"),
        (400, "streaming is not supported for this model", "stream"),
    ],
)
def test_a_parameter_that_a_server_does_not_take_is_known(status: int, message: str, feature: str) -> None:
    failure = meant(status, message)
    assert (failure.meaning, failure.feature) == (Meaning.LESS, feature)


def test_only_what_was_sent_can_be_left_out() -> None:
    refusal = Refusal(400, "'temperature' does not support 0.4")
    assert meaning_of(refusal, ENDPOINT, ("tools",)).meaning is Meaning.MISUSED


@pytest.mark.parametrize(
    ("status", "message", "code", "after"),
    [
        (429, "Rate limit reached for requests: Limit 3, Used 3 tokens per min", "rate_limit_exceeded", 20.0),
        (429, "You exceeded your current quota, please check your plan and billing details.", "", 34.0),
        (500, "The server had an error while processing your request", "", None),
        (502, "Bad gateway: cannot stream", "", None),
        (503, "model is loading", "", None),
        (529, "Overloaded", "overloaded_error", None),
        (408, "", "", None),
        (400, "Failed to generate JSON. Please adjust your prompt.", "json_validate_failed", None),
    ],
)
def test_what_passes_is_tried_again(status: int, message: str, code: str, after: float | None) -> None:
    failure = meant(status, message, code, after)
    assert (failure.meaning, failure.after) == (Meaning.AGAIN, after)


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (402, "Insufficient Balance", "invalid_request_error"),
        (429, "You exceeded your current quota, please check your plan", "insufficient_quota"),
    ],
)
def test_an_empty_account_is_not_tried_again(status: int, message: str, code: str) -> None:
    assert meant(status, message, code).meaning is Meaning.UNAVAILABLE


@pytest.mark.parametrize(
    ("status", "message", "said", "hint"),
    [
        (401, "Incorrect API key provided: sk-12***89", "the key in the variable LLM_API_KEY", "LLM_API_KEY"),
        (403, "Country not supported", "refuses access: Country", "LLM_API_KEY"),
        (
            404,
            "The model `gpt-x` does not exist",
            "does not know the model gpt-x at https://host/v1",
            "doctor",
        ),
        (404, "Not Found", "no chat API for gpt-x at https://host/v1", "/v1"),
        (400, "messages: at least one is needed", "with 400: messages", "tdd.yaml"),
    ],
)
def test_what_a_person_must_mend_is_said(status: int, message: str, said: str, hint: str) -> None:
    failure = meant(status, message)
    assert failure.meaning is Meaning.MISUSED
    assert said in failure.words
    assert hint in failure.hint
    assert "sk-12" not in failure.words


def test_a_server_that_wants_a_key_when_none_is_configured_gets_the_key_of_the_setting_named() -> None:
    failure = meaning_of(Refusal(401, "no key"), Endpoint("m", "m", "http://h/v1"), ())
    assert "no variable" in failure.words
    assert "api_key_env" in failure.hint


@pytest.mark.parametrize(
    ("body", "text", "expected"),
    [
        ({"message": "no", "code": "c", "type": "t"}, "", ("no", "c")),
        ({"error": {"message": "no", "type": "t"}}, "", ("no", "t")),
        ({"detail": [{"msg": "x"}]}, "", ("[{'msg': 'x'}]", "")),
        ({"error": "plainly no"}, "", ("plainly no", "")),
        (None, " two\n  lines ", ("two lines", "")),
        (None, "<html><body>nginx</body></html>", ("(a web page)", "")),
        ({"error": {"code": 502}}, "", ("", "502")),
    ],
)
def test_what_a_server_says_is_found_in_its_many_shapes(
    body: Any, text: str, expected: tuple[str, str]
) -> None:
    assert message_of(body, text) == expected


def test_a_long_message_is_cut() -> None:
    said, _ = message_of(None, "x" * 10_000)
    assert len(said) == LONGEST + 2


# -- patience ------------------------------------------------------------------------------------


NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)


def test_waits_double_up_to_the_longest_and_then_end() -> None:
    patience = Patience(tries=5, first=1, longest=3, jitter=lambda: 1.0)
    assert [patience.delay(tried, None) for tried in range(1, 6)] == [1, 2, 3, 3, None]


def test_jitter_takes_up_to_a_half() -> None:
    assert Patience(first=4, jitter=lambda: 0.0).delay(1, None) == 2


def test_a_server_is_left_alone_for_as_long_as_it_asks_within_reason() -> None:
    patience = Patience(obeyed=60, jitter=lambda: 1.0)
    assert patience.delay(1, 42) == 42
    assert patience.delay(1, 61) is None
    assert patience.delay(1, 0) == 1


@pytest.mark.parametrize(
    ("headers", "said", "seconds"),
    [
        ({"retry-after": "7"}, "", 7),
        ({"retry-after": "0.5"}, "", 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, "", 0.25),
        ({"retry-after": "Sun, 15 Nov 2026 12:00:30 GMT"}, "", 30),
        ({"retry-after": "Sun, 15 Nov 2026 11:00:00 GMT"}, "", 0),
        ({"retry-after": "-4"}, "", 0),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "inf"}, "", None),
        ({}, "Please try again in 6.25s.", 6.25),
        ({}, "please retry in 120ms", 0.12),
        ({}, "Rate limit reached", None),
    ],
)
def test_how_long_a_server_asks_for(headers: dict[str, str], said: str, seconds: float | None) -> None:
    assert retry_after(headers, said, NOW) == seconds
