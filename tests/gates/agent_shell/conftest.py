from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.shelled import Shelled, shell_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", params=["root", "user"])
def red(request: pytest.FixtureRequest) -> Iterator[Shelled]:
    yield from shell_of(request.param)


@pytest.fixture(scope="module", params=["root", "user"])
def green(request: pytest.FixtureRequest) -> Iterator[Shelled]:
    for made in shell_of(request.param):
        made.green()
        yield made
