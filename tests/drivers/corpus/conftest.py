from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.corpora import make_proven_world
from support.kernel_fixtures import homeless, world
from support.turns import World

__all__ = ["homeless", "world"]


@pytest.fixture(scope="module")
def proven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Read only: one for all tests of a file."""
    home = tmp_path_factory.mktemp("proven")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.setenv("HOME", str(home))
        yield make_proven_world(home / "repo")
