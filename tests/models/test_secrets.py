from __future__ import annotations

import json

import pytest

from verdigris.models.secrets import Scrubber, shown_url

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
