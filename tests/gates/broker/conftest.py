from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from support.shelled import Shelled, case, shelled

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", params=["root", "user"])
def shell(request: pytest.FixtureRequest) -> Iterator[Shelled]:
    yield from _made(request.param)


@pytest.fixture(scope="module")
def one() -> Iterator[Shelled]:
    """For what runs pytest: the interpreter of this suite may be closed to another user."""
    yield from _made("root" if os.geteuid() == 0 else "user")


def _made(name: str) -> Iterator[Shelled]:
    plain_user, why = case(name)
    if why:
        pytest.skip(f"not possible here: {why}")
    with shelled(plain_user=plain_user) as made:
        yield made
