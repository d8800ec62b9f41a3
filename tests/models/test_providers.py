from __future__ import annotations

import pytest

from verdigris.core.errors import ConfigError
from verdigris.core.settings import ModelSettings
from verdigris.models.providers import Endpoint, endpoint_of, key_variables, split_model

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
