"""For the whole suite."""

from __future__ import annotations

import compileall
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import verdigris
from support.gitrepo import forget_patterns
from support.sameruns import same_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

os.environ["VERDIGRIS_WARM"] = "0"
# The suite's own modules are rewritten once, not once a worker and a run.
sys.dont_write_bytecode = False


def pytest_configure(config: pytest.Config) -> None:
    """Half of a short run compiled our own modules: what a room's process compiles goes with the room."""
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(Path(verdigris.__file__).parent, quiet=2)


def pytest_unconfigure() -> None:
    forget_patterns()


@pytest.fixture
def remembered_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For what is not about running tests: a run that was made in this session is not made again."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with same_runs(shared / "reports"):
        yield
