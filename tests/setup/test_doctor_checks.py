"""What `tdd doctor` finds about git, test tools, the sandbox and the suite in the room."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.turns import CONFIG, World
from verdigris.core.records import Actor
from verdigris.core.settings import Stack
from verdigris.sandbox import child
from verdigris.setup.doctor_checks import DoctorFinding, check_room, check_stack
from verdigris.storage.project import open_project

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


def _compared(world: World) -> DoctorFinding:
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
    own_network = child.available().network
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


VITEST = Stack(root="web", language="node", runner="vitest")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With programs that say a version."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "root" / "web").mkdir(parents=True)
    says(tmp_path, "node", "v20.1.0")
    return tmp_path / "root"


def says(folder: Path, name: str, text: str, code: int = 0) -> None:
    program = folder / "bin" / name
    program.write_text(f"#!/bin/sh\nprintf '\\033[1m{text}\\033[m\\n'\nexit {code}\n")
    program.chmod(0o755)


def install(root: Path, version: str, node: str) -> None:
    package = root / "web" / "node_modules" / "vitest"
    package.mkdir(parents=True)
    (package / "vitest.mjs").touch()
    described = {"version": version, "engines": {"node": node}}
    (package / "package.json").write_text(json.dumps(described))


def test_program_and_package(root: Path) -> None:
    install(root, "2.1.0", ">=18")
    node, vitest = check_stack(root, VITEST)
    assert (node.name, node.level, node.what) == ("node of web", "ok", f"{root.parent}/bin/node, v20.1.0")
    assert (vitest.name, vitest.level, vitest.what) == ("vitest of web", "ok", "2.1.0")


def test_a_missing_package_names_the_next_move(root: Path) -> None:
    (root / "package-lock.json").touch()
    [finding] = check_stack(root, VITEST)
    assert (finding.level, finding.fix) == ("fail", "`npm ci`")


@pytest.mark.parametrize(("version", "node"), [("1.6.0", ">=18"), ("3.0.0", "^20.19.0 || >=22.12.0")])
def test_what_is_too_old(root: Path, version: str, node: str) -> None:
    install(root, version, node)
    assert [finding.level for finding in check_stack(root, VITEST)] == ["ok", "fail"]


def test_an_old_program(root: Path) -> None:
    says(root.parent, "go", "go version go1.19 linux/amd64")
    [finding] = check_stack(root, Stack(language="go", runner="go"))
    assert (finding.name, finding.level, finding.fix) == ("go", "fail", "install go 1.21 or newer")


def test_a_program_that_does_not_run(root: Path) -> None:
    says(root.parent, "cargo", "error: no default toolchain", 1)
    [finding] = check_stack(root, Stack(language="rust", runner="cargo"))
    assert finding.level == "fail"
    assert finding.what.endswith("does not run: error: no default toolchain")
