"""What every coding agent's folder has to keep, whoever wrote it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.turns import World
from verdigris.gates.calls import PASS, HookCall, Manner, Moment, Reply
from verdigris.gates.clients import registry
from verdigris.gates.clients.registry import Client, Surroundings
from verdigris.gates.gate import answer

pytestmark = pytest.mark.usefixtures("scribe")
NAMES = (*registry.BUILT_IN, "scribe")
JUNK = [b"", b"\xff\xfe", b"null", b"[]", b"{}", b'{"hook_event_name": 3}', b"[" * 100_000, b'{"when": []}']


@pytest.fixture(params=NAMES)
def client(request: pytest.FixtureRequest, scribe: tuple[str, ...]) -> Client:
    return registry.find(request.param)


def test_every_registered_agent_is_tried_here(scribe: tuple[str, ...]) -> None:
    assert set(registry.names()) == set(NAMES)


def test_it_is_a_client_under_its_own_name(client: Client) -> None:
    assert isinstance(client, Client)
    assert client.name in NAMES
    assert client.title


def test_each_hook_has_time_and_at_least_one_is_closed(client: Client) -> None:
    assert all(hook.seconds > 5 for hook in client.hooks)
    assert any(hook.closed for hook in client.hooks), "silence before an edit must not pass for a yes"
    assert len({hook.event for hook in client.hooks}) == len(client.hooks)


@pytest.mark.parametrize("raw", JUNK)
def test_junk_is_refused_and_never_an_exception(client: Client, raw: bytes) -> None:
    call = client.parse(raw, {})
    assert (call.moment, bool(call.fault)) == (Moment.JUNK, True)
    given = answer(client, raw, {})
    assert given.exit_code == 2
    assert "cannot judge" in given.stdout + given.stderr


def test_a_tool_that_nobody_knows_is_foreign(client: Client) -> None:
    assert client.manner("tool-of-tomorrow") is Manner.FOREIGN


def test_replies_differ_and_hold_what_is_said(client: Client) -> None:
    call = HookCall(Moment.BEFORE, tool="x", manner=Manner.WRITES)
    yes, no, ask = (client.render(call, reply) for reply in (PASS, Reply("deny", "WHY"), Reply("ask", "WHY")))
    assert len({yes.stdout, no.stdout, ask.stdout}) == 3
    for given in (no, ask):
        assert "WHY" in given.stdout + given.stderr


@pytest.mark.parametrize("moment", [Moment.STOP, Moment.START, Moment.PROMPT])
def test_a_fault_of_ours_locks_no_person_out(client: Client, moment: Moment) -> None:
    assert client.fault(HookCall(moment), "WHAT", "HINT").exit_code == 0
    refused = client.fault(HookCall(Moment.BEFORE), "WHAT", "HINT")
    passed = client.render(HookCall(Moment.BEFORE), PASS)
    assert (refused.exit_code, refused.stdout) != (passed.exit_code, passed.stdout)
    assert "WHAT" in refused.stdout + refused.stderr


def test_its_settings_are_written_once_and_taken_out_whole(client: Client, world: World) -> None:
    before = files(world.root)
    assert client.plan()
    written = client.install(world.project)
    assert written
    assert client.install(world.project) == (), "safe to repeat"
    assert set(client.uninstall(world.project)) == set(written)
    assert files(world.root) == before
    assert client.uninstall(world.project) == ()


def test_the_doctor_tells_a_connected_agent_from_another(client: Client, world: World) -> None:
    apart = client.check(world.root)
    assert apart is not None
    assert (apart.level, "not connected" in apart.what) == ("ok", True)
    client.install(world.project)
    connected = client.check(world.root)
    assert connected is not None
    assert "not connected" not in connected.what


def test_its_surroundings_name_places_that_no_tool_may_write(client: Client, world: World) -> None:
    found = client.surroundings(world.project, {"HOME": str(world.root)})
    assert isinstance(found, Surroundings)
    assert found.guarded == client.guarded({"HOME": str(world.root)}) != ()


def files(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def test_a_name_that_nobody_registered_says_which_there_are() -> None:
    with pytest.raises(Exception, match="cannot connect nobody") as told:
        registry.find("nobody")
    assert "claude or scribe" in str(getattr(told.value, "hint", ""))
    assert json.dumps(registry.names()) == '["claude", "scribe"]'
