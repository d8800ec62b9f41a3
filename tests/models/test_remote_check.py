from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from support.openai_server import Answer, Junk, Server, Stall, nobody, serving
from verdigris.core.errors import VerdigrisError
from verdigris.core.settings import ModelSettings
from verdigris.models.providers import Endpoint, endpoint_of
from verdigris.models.remote import check

KEY = "sk-checked-0123456789"


ENVIRON = {"LLM_API_KEY": KEY}


def at(server: Server) -> Endpoint:
    return endpoint_of("m", ModelSettings(server.url, "LLM_API_KEY"))


def fault(endpoint: Endpoint, environ: Mapping[str, str] | None = None, **given: Any) -> str:
    with pytest.raises(VerdigrisError) as caught:
        check(endpoint, environ, **given)
    return f"{caught.value.message} ({caught.value.hint})"


@pytest.mark.parametrize("listed", ["m", "m:latest", "models/m"])
def test_a_server_that_lists_the_model_answers(listed: str) -> None:
    with serving(models=("other", listed), key=KEY) as server:
        check(at(server), ENVIRON)
    assert not server.requests  # no token was spent


def test_a_model_that_is_not_listed_is_told_with_those_that_are() -> None:
    with serving(models=tuple(f"model-{number}" for number in range(20))) as server:
        said = fault(at(server), ENVIRON)
    assert "does not list the model m at http" in said
    assert "model-0, model-1" in said
    assert said.endswith("…)")


@pytest.mark.parametrize("answer", [Answer("y", finish="length"), Answer(finish="length")])
def test_a_server_that_lists_nothing_is_asked_for_one_token(answer: Answer) -> None:
    with serving([answer], without=frozenset({"models"})) as server:
        check(at(server), ENVIRON)
    assert server.requests[0].body["max_tokens"] == 1


def test_a_wrong_key_is_named_by_its_variable() -> None:
    with serving(["y"], key="another") as server:
        said = fault(at(server), ENVIRON)
    assert "LLM_API_KEY" in said
    assert KEY not in said


@pytest.mark.parametrize(
    ("answer", "seconds", "words"),
    [(Junk("<html>", "text/html"), 60, "web page"), (Stall(), 0.5, "silent for 0.5 s")],
)
def test_a_web_page_or_a_server_that_stalls_is_no_server_of_models(
    answer: Any, seconds: float, words: str
) -> None:
    with serving([answer], without=frozenset({"models"})) as server:
        assert words in fault(at(server), ENVIRON, seconds=seconds)


def test_a_server_that_is_not_there_and_a_key_that_is_not_set_are_told() -> None:
    said = fault(endpoint_of("m", ModelSettings(nobody())))
    assert ("refused" in said, "base_url" in said) == (True, True)
    assert "OPENAI_API_KEY" in fault(endpoint_of("openai:m"), {})
