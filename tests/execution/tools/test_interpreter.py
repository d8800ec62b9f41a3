from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from verdigris.core.errors import ConfigError, ToolMissing
from verdigris.execution.tools.interpreter import find_interpreter
from verdigris.sandbox.child import available


def fake_environment(folder: Path, *, runs: Path | None = None, code: int = 0) -> Path:
    """A program in the place of an interpreter; `runs` counts how often it was started."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    count = f"echo x >> {shlex.quote(str(runs))}\n" if runs else ""
    python.write_text(f"#!/bin/sh\n{count}exit {code}\n")
    python.chmod(0o755)
    return python


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    path = tmp_path / "tree" / "stack"
    path.mkdir(parents=True)
    return path


def on_path(folder: Path) -> dict[str, str]:
    folder.mkdir()
    (folder / "python3").symlink_to(sys.executable)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def test_configured_is_relative_to_the_stack(stack: Path) -> None:
    python = fake_environment(stack / "my env")
    found = find_interpreter(stack, stack.parent, "my env/bin/python", {})
    assert (found.path, found.how) == (python, "configured")


def test_configured_may_be_absolute_and_real(stack: Path) -> None:
    assert find_interpreter(stack, stack.parent, sys.executable, {}).path == Path(sys.executable)


def test_configured_that_is_missing_or_fails(stack: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        find_interpreter(stack, stack.parent, "nowhere/python", {})
    fake_environment(stack / "bad", code=3)
    with pytest.raises(ConfigError, match="does not execute"):
        find_interpreter(stack, stack.parent, "bad/bin/python", {})


def test_project_environments_in_order(stack: Path) -> None:
    worktree = stack.parent
    expected = [
        fake_environment(root / name) for root in (stack, worktree) for name in (".venv", "venv", "env")
    ]
    for python in expected:
        found = find_interpreter(stack, worktree, None, {"VIRTUAL_ENV": "/nowhere"})
        assert (found.path, found.how) == (python, "project")
        python.unlink()


def test_broken_environments_are_passed_over(stack: Path, tmp_path: Path) -> None:
    dangling = stack / ".venv" / "bin" / "python"
    dangling.parent.mkdir(parents=True)
    dangling.symlink_to(tmp_path / "removed")
    fake_environment(stack / "venv", code=1)
    not_executable = fake_environment(stack / "env")
    not_executable.chmod(0o644)
    active = fake_environment(tmp_path / "active")
    found = find_interpreter(stack, stack.parent, None, {"VIRTUAL_ENV": str(tmp_path / "active")})
    assert (found.path, found.how) == (active, "VIRTUAL_ENV")


def test_path_is_the_last_resort(stack: Path, tmp_path: Path) -> None:
    found = find_interpreter(stack, stack.parent, None, on_path(tmp_path / "bin"))
    assert (found.path, found.how) == (tmp_path / "bin" / "python3", "PATH")


def test_none_at_all(stack: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolMissing) as missing:
        find_interpreter(stack, stack.parent, None, {"PATH": str(tmp_path)})
    assert "venv" in str(missing.value.hint)


def test_the_usual_run_spawns_nothing(stack: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache.json"
    python = fake_environment(stack / ".venv")
    find_interpreter(stack, stack.parent, None, {}, cache)
    (known,) = json.loads(cache.read_bytes())
    cache.write_text(json.dumps({known: "remembered"}))
    assert find_interpreter(stack, stack.parent, None, {}, cache).places is None
    assert json.loads(cache.read_bytes()) == {known: "remembered"}
    python.write_text(python.read_text() + "# changed\n")
    find_interpreter(stack, stack.parent, None, {}, cache)
    assert len(json.loads(cache.read_bytes())) == 2


@pytest.mark.skipif(not available().ok, reason="nobody is confined here")
def test_what_an_agent_put_in_an_environment_writes_nothing_when_it_is_asked(
    stack: Path, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    fake_environment(stack / ".venv", runs=runs)
    assert find_interpreter(stack, stack.parent, None, {}).how == "project"
    assert not runs.exists()


@pytest.mark.parametrize("junk", [b"\xff", b"{", b'{"a": 1}', b"[1, null]"])
def test_a_cache_that_cannot_be_read_or_written_is_no_hindrance(
    stack: Path, tmp_path: Path, junk: bytes
) -> None:
    cache = tmp_path / "cache.json"
    cache.write_bytes(junk)
    fake_environment(stack / ".venv")
    assert find_interpreter(stack, stack.parent, None, {}, cache).how == "project"
    assert json.loads(cache.read_bytes())
    assert find_interpreter(stack, stack.parent, None, {}, tmp_path / "no folder" / "cache").how == "project"


def made_by_tool(folder: Path, *packages: str) -> Path:
    """An environment that runs, and has these packages."""
    python = fake_environment(folder)
    site = folder / "lib" / "site-packages"
    for package in packages:
        (site / package).mkdir(parents=True)
    places = {"prefix": str(folder), "library": "", "packages": [str(site)], "cache_tag": ""}
    python.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(places)}\nEND\n")
    return python


def test_environments_of_tox_and_nox_that_have_the_runner(stack: Path, tmp_path: Path) -> None:
    env = on_path(tmp_path / "bin")
    made_by_tool(stack / ".tox" / "lint", "ruff")
    fake_environment(stack / ".tox" / "py313", code=1)
    older = made_by_tool(stack / ".tox" / "py39", "pytest")
    newer = made_by_tool(stack / ".tox" / "py312-cov", "pytest")
    nox = made_by_tool(stack / ".nox" / "tests", "pytest")
    for python in (newer, older, nox):
        found = find_interpreter(stack, stack.parent, None, env)
        assert (found.path, found.how) == (python, "project")
        python.unlink()
    assert find_interpreter(stack, stack.parent, None, env).how == "PATH"


def test_an_environment_of_tox_comes_after_the_projects_own(stack: Path) -> None:
    made_by_tool(stack / ".tox" / "py312", "pytest")
    own = fake_environment(stack / "venv")
    assert find_interpreter(stack, stack.parent, None, {}).path == own


def test_an_active_environment_with_the_runner_comes_before_one_of_tox(stack: Path, tmp_path: Path) -> None:
    tox = made_by_tool(stack / ".tox" / "py312", "pytest")
    active = made_by_tool(tmp_path / "active")
    env = {"VIRTUAL_ENV": str(tmp_path / "active")}
    assert find_interpreter(stack, stack.parent, None, env).path == tox
    (tmp_path / "active" / "lib" / "site-packages" / "pytest").mkdir(parents=True)
    assert find_interpreter(stack, stack.parent, None, env).path == active


def test_unittest_needs_no_package_in_an_environment_of_tox(stack: Path) -> None:
    tox = made_by_tool(stack / ".tox" / "py312")
    assert find_interpreter(stack, stack.parent, None, {}, runner="unittest").path == tox
