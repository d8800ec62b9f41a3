"""A model's name leads to a server and a key, and no key is written anywhere."""

from __future__ import annotations

import json

import pytest

from verdigris.core.errors import ConfigError, ModelMisused
from verdigris.core.settings import ModelSettings
from verdigris.models.providers import (
    Endpoint,
    Scrubber,
    endpoint_of,
    key_of,
    key_variables,
    shown_url,
    split_model,
)

LOCAL = ModelSettings("http://localhost:11434/v1", "LLM_API_KEY")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("openai:gpt-4.1-mini", ("openai", "gpt-4.1-mini")),
        ("ollama:qwen2.5-coder:7b", ("ollama", "qwen2.5-coder:7b")),
        ("qwen2.5-coder:7b", ("", "qwen2.5-coder:7b")),
        ("mistral:7b", ("", "mistral:7b")),
        ("openai:", ("", "openai:")),
        ("plain", ("", "plain")),
    ],
)
def test_a_word_is_split_at_a_known_provider_only(word: str, meant: tuple[str, str]) -> None:
    assert split_model(word) == meant


def test_a_provider_brings_its_address_and_its_key_variable() -> None:
    assert endpoint_of("deepseek:deepseek-chat") == Endpoint(
        "deepseek:deepseek-chat", "deepseek-chat", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"
    )
    assert not endpoint_of("ollama:llama3").api_key_env


def test_the_configuration_goes_before_what_is_usual() -> None:
    made = endpoint_of("openai:gpt-4.1-mini", ModelSettings(temperature=0.0, timeout=5), LOCAL)
    assert (made.model, made.base_url, made.api_key_env) == ("gpt-4.1-mini", LOCAL.base_url, "LLM_API_KEY")
    assert (made.temperature, made.timeout) == (0.0, 5)


def test_a_role_goes_before_llm() -> None:
    role = ModelSettings("http://other:1/v1/", "MINE", 0.4, 7, 100)
    made = endpoint_of("plain", role, ModelSettings("http://llm/v1", "ALL", 0.9, 60, 9))
    assert made == Endpoint("plain", "plain", "http://other:1/v1", "MINE", 0.4, 7, 100)


@pytest.mark.parametrize(
    ("role", "llm", "variable"),
    [
        (ModelSettings("http://elsewhere/v1"), LOCAL, ""),
        (ModelSettings("http://elsewhere/v1"), ModelSettings(), ""),
        (ModelSettings(), ModelSettings("http://elsewhere/v1"), ""),
        (ModelSettings(), ModelSettings(api_key_env="ALL"), "ALL"),
        (ModelSettings(), ModelSettings(), "OPENAI_API_KEY"),
    ],
)
def test_no_key_goes_to_a_server_that_it_is_not_for(
    role: ModelSettings, llm: ModelSettings, variable: str
) -> None:
    assert endpoint_of("openai:gpt", role, llm).api_key_env == variable


@pytest.mark.parametrize(
    ("word", "given", "said"),
    [
        ("plain", ModelSettings(), "no server is configured for the model plain"),
        ("  ", LOCAL, "name is empty"),
        ("plain", ModelSettings("localhost:11434/v1"), "http://"),
    ],
)
def test_what_is_missing_is_said_with_the_way_out(word: str, given: ModelSettings, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        endpoint_of(word, llm=given)
    assert said in caught.value.message
    assert caught.value.hint


def test_key_variables_are_the_configured_and_the_usual_ones() -> None:
    names = key_variables(LOCAL, ModelSettings(api_key_env="MINE"))
    assert {"LLM_API_KEY", "MINE", "OPENAI_API_KEY", "ZAI_API_KEY"} <= set(names)
    assert "" not in names


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.2:1/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://localhost.example.org/v1", False),
        ("https://api.openai.com/v1", False),
        ("http://192.168.0.4/v1", False),
    ],
)
def test_a_server_on_this_machine_is_local(url: str, local: bool) -> None:
    assert Endpoint("m", "m", url).local is local


def test_an_endpoint_is_shown_without_a_password() -> None:
    assert Endpoint("openai:m", "m", "https://u:p@host/v1").shown == "m at https://host/v1"


FAR = Endpoint("m", "m", "https://far.example/v1", "LLM_API_KEY")
NEAR = Endpoint("m", "m", "http://localhost:1/v1", "LLM_API_KEY")


def test_the_key_is_what_its_variable_holds() -> None:
    assert key_of(FAR, {"LLM_API_KEY": " abc\n"}) == "abc"
    assert not key_of(Endpoint("m", "m", "https://far.example/v1"), {"": "x"})


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(ModelMisused) as caught:
        key_of(FAR, {"LLM_API_KEY": " "})
    assert "LLM_API_KEY" in caught.value.message
    assert "https://far.example/v1" in caught.value.message


def test_a_server_on_this_machine_may_want_none() -> None:
    assert not key_of(NEAR, {})


@pytest.mark.parametrize("key", ["two words", "a\nb", "ключ-от-квартиры"])
def test_what_cannot_be_a_key_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ModelMisused) as caught:
        key_of(FAR, {"LLM_API_KEY": key})
    assert key not in caught.value.message + (caught.value.hint or "")


KEY = 'sk-proj-"Zq8/x+Y\\7'
ENVIRON = {"LLM_API_KEY": KEY, "OTHER": "sk-proj", "DUMMY": "ollama", "SHORT": "abc", "EMPTY": ""}


def scrub(*variables: str) -> Scrubber:
    return Scrubber(variables, ENVIRON)


@pytest.mark.parametrize(
    "text",
    [
        f"Bearer {KEY}",
        f"x{KEY}x",
        json.dumps({"key": KEY}),
        "https://h/?key=sk-proj-%22Zq8%2Fx%2BY%5C7",
    ],
    ids=["plain", "in a word", "json", "url"],
)
def test_a_key_is_replaced_by_its_variable_in_every_spelling(text: str) -> None:
    scrubbed = scrub("LLM_API_KEY")(text)
    assert "Zq8" not in scrubbed
    assert "[LLM_API_KEY]" in scrubbed


def test_a_key_that_holds_another_is_replaced_whole() -> None:
    assert scrub("OTHER", "LLM_API_KEY")(f"{KEY} and sk-proj") == "[LLM_API_KEY] and [OTHER]"


def test_a_short_value_is_replaced_as_a_word_only() -> None:
    assert scrub("OTHER")("sk-proj sk-projects") == "[OTHER] sk-projects"


@pytest.mark.parametrize("name", ["DUMMY", "SHORT", "EMPTY", "UNSET", ""])
def test_what_is_no_secret_leaves_texts_alone(name: str) -> None:
    assert scrub(name)("ollama serves abc") == "ollama serves abc"


def test_a_document_is_scrubbed_to_its_leaves_and_keys() -> None:
    document = {"a": [KEY, 1, None, {"b": f"<{KEY}>"}], KEY: True}
    assert scrub("LLM_API_KEY").document(document) == {
        "a": ["[LLM_API_KEY]", 1, None, {"b": "<[LLM_API_KEY]>"}],
        "[LLM_API_KEY]": True,
    }


def test_the_environment_is_read_when_a_text_is_scrubbed() -> None:
    environ: dict[str, str] = {}
    scrubber = Scrubber(["LLM_API_KEY"], environ)
    environ["LLM_API_KEY"] = "set-later-than-made"
    assert scrubber("set-later-than-made") == "[LLM_API_KEY]"
    assert "set-later" not in repr(vars(scrubber).get("variables"))


def test_an_address_is_shown_without_password_and_query() -> None:
    assert shown_url("https://me:secret@host:8443/v1?key=1#x") == "https://host:8443/v1"
    assert "read" in shown_url("http://[broken")
