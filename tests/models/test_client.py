from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.openai_server import Junk, serving
from verdigris.core.settings import ModelSettings
from verdigris.models.failure import Meaning, ModelFailure
from verdigris.models.providers import endpoint_of

if TYPE_CHECKING:
    from types import ModuleType

REQUEST = {"model": "m", "messages": [], "stream": True}


@pytest.fixture
def module() -> ModuleType:
    """Loaded with the library of OpenAI when a test runs: else each worker would carry it, into each fork."""
    from verdigris.models import client

    return client


@pytest.mark.parametrize(
    ("setting", "limit", "said"), [("LARGEST", 10, "larger than"), ("WHOLE", -1, "takes too long")]
)
def test_signs_of_life_without_end_are_no_answer(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, setting: str, limit: int, said: str
) -> None:
    monkeypatch.setattr(module, setting, limit)
    with serving([Junk(": still here\n\n" * 9)]) as server:
        client = module.ModelClient(endpoint_of("m", ModelSettings(server.url)))
        failure = client.complete(REQUEST, "")
        client.close()
    assert isinstance(failure, ModelFailure)
    assert failure.meaning is Meaning.AGAIN
    assert said in failure.words


def test_the_models_of_a_server_are_listed(module: ModuleType) -> None:
    with serving(models=("one", "two")) as server:
        client = module.ModelClient(endpoint_of("m", ModelSettings(server.url)))
        assert client.models("") == ("one", "two")
        client.close()
