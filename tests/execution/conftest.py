from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from support.kernel_fixtures import green, homeless, world

__all__ = ["green", "homeless", "world"]


@pytest.fixture
def served() -> Iterator[int]:
    """A port of this machine on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]
