from __future__ import annotations

from pathlib import Path

import pytest

from support.openai_server import Refusal, serving
from verdigris.core.errors import ConfigError, ModelUnavailable, UserError
from verdigris.core.settings import ModelSettings, Player
from verdigris.models.protocol import Ask, Message
from verdigris.models.role_models import RoleModels

HELLO = Ask((Message("user", "Hello"),))
KEY = "sk-cast-0123456789"


def test_each_role_has_its_model_and_servers_are_shared(tmp_path: Path) -> None:
    with serving(lambda request: request.model) as server:
        players = {
            "tester": Player("openai:one", ModelSettings(temperature=0.4)),
            "implementor": Player("two"),
            "refactorer": Player("two"),
        }
        with RoleModels(players, ModelSettings(server.url), root=tmp_path) as role_models:
            assert role_models.model("tester", 1).ask(HELLO).text == "one"
            assert role_models.model("implementor", 2).ask(HELLO).text == "two"
            assert role_models.model("implementor", 2) is role_models.model("implementor", 2)
            assert role_models.model("implementor", 2) is role_models.model("refactorer", 3)
    assert server.requests[0].body["temperature"] == 0.4


def test_a_run_is_recorded_and_replayed_without_a_server(tmp_path: Path) -> None:
    record = tmp_path / "kata.jsonl"
    with serving(["one", "two", "three"]) as server:
        players = {"tester": Player("m"), "implementor": Player("m")}
        with RoleModels(players, ModelSettings(server.url), root=tmp_path, record=record) as role_models:
            said = [role_models.model("tester", 1).ask(HELLO).text for _ in range(2)]
            said.append(role_models.model("implementor", 2).ask(HELLO).text)
    replay = {"tester": Player("replay:kata.jsonl"), "implementor": Player("replay:kata.jsonl")}
    with RoleModels(replay, root=tmp_path) as role_models:
        assert [role_models.model("tester", 1).ask(HELLO).text for _ in range(2)] == said[:2]
        assert role_models.model("implementor", 2).ask(HELLO).text == "three"
        assert role_models.recordings["tester"] is role_models.recordings["implementor"]
        assert not role_models.endpoints


@pytest.mark.parametrize(
    ("word", "error", "said"),
    [
        ("plain", ConfigError, "no server"),
        ("replay:", ConfigError, "replay of no file"),
        ("replay:none.jsonl", UserError, "none.jsonl"),
    ],
)
def test_what_cannot_be_cast_is_said_before_anything_is_done(
    tmp_path: Path, word: str, error: type[UserError], said: str
) -> None:
    with pytest.raises(error, match=said):
        RoleModels({"tester": Player(word)}, root=tmp_path)


def test_nothing_that_is_written_holds_a_key(tmp_path: Path) -> None:
    """A server that echoes the key wherever it can, and a model that repeats it."""
    told: list[str] = []
    environ = {"ROLE_KEY": KEY}
    with serving([f"the key is {KEY}", Refusal(500, KEY), Refusal(402, KEY)]) as server:
        players = {"tester": Player("m", ModelSettings(server.url, "ROLE_KEY"))}
        with RoleModels(
            players,
            root=tmp_path,
            record=tmp_path / "r",
            environ=environ,
            sleep=lambda _: None,
            notice=told.append,
        ) as role_models:
            model = role_models.model("tester", 1)
            told.append(role_models.scrub(model.ask(HELLO).text))
            with pytest.raises(ModelUnavailable) as caught:
                model.ask(HELLO)
    told += [caught.value.message, caught.value.hint or ""]
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert len(told) == 4
    assert b"[ROLE_KEY]" in written
    assert KEY.encode() not in written
    assert KEY not in "".join(told)
