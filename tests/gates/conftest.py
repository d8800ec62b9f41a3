from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.kernel_fixtures import homeless, world
from support.shelled import Shelled, one, shell_of

__all__ = ["homeless", "one", "world"]


@pytest.fixture(scope="module", params=["root", "user"])
def shell(request: pytest.FixtureRequest) -> Iterator[Shelled]:
    yield from shell_of(request.param)
