from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.kernel_fixtures import homeless, world
from support.shelled import Shelled, one, shell_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["homeless", "one", "world"]


@pytest.fixture(scope="module", params=["root", "user"])
def shell(request: pytest.FixtureRequest) -> Iterator[Shelled]:
    yield from shell_of(request.param)
