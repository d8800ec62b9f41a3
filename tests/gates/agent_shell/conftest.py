from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.shelled import Shelled, case, shelled

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", params=["root", "user"])
def red(request: pytest.FixtureRequest) -> Iterator[Shelled]:
    yield from _made(request.param)


@pytest.fixture(scope="module", params=["root", "user"])
def green(request: pytest.FixtureRequest) -> Iterator[Shelled]:
    for made in _made(request.param):
        made.green()
        yield made


@pytest.fixture(scope="module")
def one() -> Iterator[Shelled]:
    """In red, for what is the same for every user."""
    import os

    yield from _made("root" if os.geteuid() == 0 else "user")


def _made(name: str) -> Iterator[Shelled]:
    plain_user, why = case(name)
    if why:
        pytest.skip(f"not possible here: {why}")
    with shelled(plain_user=plain_user) as made:
        yield made
