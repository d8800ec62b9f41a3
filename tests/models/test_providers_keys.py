from __future__ import annotations

import pytest

from verdigris.core.errors import ModelMisused
from verdigris.models.providers import Endpoint, key_of

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
