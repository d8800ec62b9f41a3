from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.shelled import Shelled, shell_of


@pytest.fixture(scope="module", params=["root", "user"])
def red(request: pytest.FixtureRequest) -> Iterator[Shelled]:
    yield from shell_of(request.param)


@pytest.fixture(scope="module", params=["root", "user"])
def green(request: pytest.FixtureRequest) -> Iterator[Shelled]:
    for made in shell_of(request.param):
        made.green()
        yield made
