from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from support.cage import Cage, cage, cases, named, obstacle
from support.kernel_fixtures import homeless, world

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.sandbox.syscalls import Way


__all__ = ["homeless", "world"]


@pytest.fixture(params=cases(), ids=named)
def caged(request: pytest.FixtureRequest) -> Iterator[Cage]:
    """A worktree for each way of confining that this system allows."""
    way, plain_user = request.param
    if why := obstacle(way, plain_user=plain_user):
        pytest.skip(f"not possible here: {why}")
    with cage(way, plain_user=plain_user) as made:
        yield made


@pytest.fixture
def one() -> Iterator[Cage]:
    """A worktree for what is the same by every way."""
    way: Way = "mapped" if os.geteuid() == 0 else "own"
    if why := obstacle(way, plain_user=os.geteuid() != 0):
        pytest.skip(f"not possible here: {why}")
    with cage(way, plain_user=os.geteuid() != 0) as made:
        yield made
