"""The suite in the room against the suite in the user's own shell, both really run."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.turns import CONFIG, World
from verdigris import sandbox
from verdigris.core.records import Actor
from verdigris.setup.doctor.room import check_room
from verdigris.storage.project import open_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.setup.doctor import Finding

NEEDY = """\
import os, socket

def test_plain(): pass
def test_variable(): assert os.environ["SHOP_MODE"] == "test"
def test_home(): open(os.path.expanduser("~/.shoprc")).close()
def test_server():
    with socket.create_connection(("127.0.0.1", {port})): pass
"""


UNSTABLE = """\
import socket

def test_answer():
    with socket.create_connection(("127.0.0.1", {port})) as connection:
        assert connection.recv(9) == b"yes"
"""


@pytest.fixture
def server() -> Iterator[int]:
    """One that the tests do not start themselves."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def fickle() -> Iterator[int]:
    """One that says no to its second caller."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for answer in (b"yes", b"no", b"yes"):
                with listening.accept()[0] as connection:
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]


def _compared(world: World) -> Finding:
    return check_room(world.project)


def test_a_suite_that_ends_the_same_in_the_room(world: World) -> None:
    found = _compared(world)
    assert (found.level, found.what) == ("ok", "in the room as outside it: 1 test ends the same")


def test_tests_that_the_room_fails_are_listed_with_the_keys(
    world: World, server: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_MODE", "test")
    world.write("tests/test_a.py", NEEDY.format(port=server))
    Path("~/.shoprc").expanduser().touch()
    found = _compared(world)
    own_network = sandbox.available().network
    assert found.level == "warn"
    assert "env: [SHOP_MODE, HOME]" in found.fix
    assert ("network: host" in found.fix) == own_network
    assert any(
        line.startswith("tests/test_a.py::test_variable: pass outside, fail in") for line in found.details
    )
    assert len(found.details) == 2 + own_network
    world.write("tdd.yaml", CONFIG + "room: {env: [SHOP_MODE, HOME], network: host}\n")
    assert _compared(world).level == "ok"


def test_an_unstable_test_is_no_fault_of_the_room(world: World, fickle: int) -> None:
    world.write("tests/test_a.py", UNSTABLE.format(port=fickle))
    world.write("tdd.yaml", CONFIG + "room: {network: host}\n")
    assert _compared(world).level == "ok"


def test_a_suite_that_only_the_room_cannot_start(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_MODE", "test")
    world.write("conftest.py", "import os\nMODE = os.environ['SHOP_MODE']\n")
    found = _compared(world)
    assert (found.level, "and not in it" in found.what) == ("warn", True)
    assert "`room: {env: [SHOP_MODE]}`" in found.fix
    assert any("SHOP_MODE" in line for line in found.details)


def test_a_plugin_left_out_is_named_if_the_interpreter_has_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    world.write("tdd.yaml", CONFIG + "    test_command: [--timeout=9]\nroom: {plugins: []}\n")
    assert "`room: {plugins: [timeout]}`" in _compared(world).fix


def test_a_suite_that_does_not_start_at_all(world: World) -> None:
    world.write("conftest.py", "raise RuntimeError('no')\n")
    found = _compared(world)
    assert (found.level, "outside the room" in found.what) == ("warn", True)


def test_an_agent_may_not_have_the_suite_run_unconfined(world: World) -> None:
    world.write("tests/test_a.py", "def test_a(): open('ran', 'w')\n")
    found = check_room(open_project(world.root, Actor("agent")))
    assert (found.level, "only a person" in found.what) == ("fail", True)
    assert not (world.root / "ran").exists()
