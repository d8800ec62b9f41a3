from __future__ import annotations

from typing import Any

import pytest

from support.openai_server import Answer, Junk, Server, Stall, nobody, serving
from verdigris.core.settings import ModelSettings
from verdigris.models.providers import endpoint_of
from verdigris.models.remote import Checked, check

KEY = "sk-checked-0123456789"


def checked(server: Server, word: str = "m", *, seconds: float = 60, **given: Any) -> Checked:
    endpoint = endpoint_of(word, ModelSettings(server.url, "LLM_API_KEY", **given))
    return check(endpoint, {"LLM_API_KEY": KEY}, seconds=seconds)


@pytest.mark.parametrize("listed", ["m", "m:latest", "models/m"])
def test_a_server_that_lists_the_model_answers(listed: str) -> None:
    with serving(models=("other", listed), key=KEY) as server:
        assert checked(server).answers
    assert not server.requests  # no token was spent


def test_a_model_that_is_not_listed_is_told_with_those_that_are() -> None:
    with serving(models=tuple(f"model-{number}" for number in range(20))) as server:
        result = checked(server)
    assert not result.answers
    assert "does not list the model m at http" in result.words
    assert "model-0, model-1" in result.hint
    assert result.hint.endswith("…")


@pytest.mark.parametrize("answer", [Answer("y", finish="length"), Answer(finish="length")])
def test_a_server_that_lists_nothing_is_asked_for_one_token(answer: Answer) -> None:
    with serving([answer], without=frozenset({"models"})) as server:
        assert checked(server).answers
    assert server.requests[0].body["max_tokens"] == 1


def test_a_wrong_key_is_named_by_its_variable() -> None:
    with serving(["y"], key="another") as server:
        result = checked(server)
    assert not result.answers
    assert "LLM_API_KEY" in result.words
    assert KEY not in result.words + result.hint


def test_a_web_page_is_no_server_of_models() -> None:
    with serving([Junk("<html>", "text/html")], without=frozenset({"models"})) as server:
        assert "web page" in checked(server).words


def test_a_server_that_stalls_or_is_not_there_is_told_in_time() -> None:
    with serving([Stall()], without=frozenset({"models"})) as server:
        assert "silent for 0.5 s" in checked(server, seconds=0.5).words
    found = check(endpoint_of("m", ModelSettings(nobody())))
    assert ("refused" in found.words, "base_url" in found.hint) == (True, True)


def test_a_key_that_is_not_set_is_told_without_a_call() -> None:
    result = check(endpoint_of("openai:m"), {})
    assert not result.answers
    assert "OPENAI_API_KEY" in result.words
