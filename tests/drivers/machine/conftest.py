from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.gitrepo import GitRepo
from support.machines import Kata, make_kata

IN_PLACE = "machine: {sandbox: false, max_attempts_per_agent: 3}\n"


@contextmanager
def _apart(home: Path) -> Iterator[None]:
    """Git and the machine's worktrees know nothing of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOME", str(home))
        patched.setenv("XDG_CACHE_HOME", str(home / "cache"))
        patched.setenv("GIT_CONFIG_NOSYSTEM", "1")
        for name in ("GIT_DIR", "GIT_CONFIG_GLOBAL", "VIRTUAL_ENV", "PYTHONPATH", "CI"):
            patched.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def apart(home: Path, remembered_runs: None) -> Iterator[None]:
    with _apart(home):
        yield


@pytest.fixture
def kata(tmp_path: Path) -> Kata:
    """In the user's own checkout, before the first step."""
    return make_kata(tmp_path / "project", IN_PLACE)


@pytest.fixture(scope="session")
def _red(tmp_path_factory: pytest.TempPathFactory, home: Path) -> Path:
    with _apart(home):
        kata = make_kata(tmp_path_factory.mktemp("red") / "project", IN_PLACE)
        kata.run(1)
    return kata.root


@pytest.fixture(scope="session")
def _green(tmp_path_factory: pytest.TempPathFactory, home: Path, _red: Path) -> Path:
    with _apart(home):
        kata = _copied(_red, tmp_path_factory.mktemp("green"))
        kata.run(1)
    return kata.root


@pytest.fixture
def red(tmp_path: Path, _red: Path) -> Kata:
    """After the tester's first step."""
    return _copied(_red, tmp_path)


@pytest.fixture
def green(tmp_path: Path, _green: Path) -> Kata:
    """After the implementor's first step."""
    return _copied(_green, tmp_path)


def _copied(root: Path, place: Path) -> Kata:
    shutil.copytree(root, place / "project", symlinks=True)
    home = place / "project.home"
    home.mkdir()
    return Kata(GitRepo(place / "project", home))
