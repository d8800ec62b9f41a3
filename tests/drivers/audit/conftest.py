from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from support.cli import DEAF_TO
from support.gitrepo import GitRepo
from support.sameruns import same_runs, shared_reports
from support.small_histories import make_history


@pytest.fixture(scope="module", autouse=True)
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The audit's files lie in a folder of the test's own; the interpreter is the one that runs us."""
    with pytest.MonkeyPatch.context() as patch:
        for name in DEAF_TO:
            patch.delenv(name, raising=False)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("VIRTUAL_ENV", sys.prefix)
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        yield


@pytest.fixture(scope="module")
def runs_once(forked_runs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Several files audit the same small history, and some of them more than once."""
    with same_runs(shared_reports(tmp_path_factory)):
        yield


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    return make_history(tmp_path_factory.mktemp("history") / "repo")
