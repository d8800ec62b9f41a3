from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.cage import Cage

SERVE = """
    import socket
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=5).close()
        print("served")
    except OSError as error:
        print("no network")
"""


@pytest.mark.parametrize(
    ("network", "answer"), [("none", "no network"), ("loopback", "served"), ("host", "served")]
)
def test_the_loopback(caged: Cage, network: str, answer: str) -> None:
    assert caged.python(SERVE, network=network).out == f"{answer}\n"


@pytest.mark.parametrize(
    ("network", "answer"), [("none", "refused"), ("loopback", "refused"), ("host", "reached")]
)
def test_the_machines_own_network(one: Cage, network: str, answer: str) -> None:
    """By port, and by a socket without a path."""
    code = """
        import socket, sys
        def reached(family, address):
            with socket.socket(family) as mine:
                try:
                    mine.connect(address)
                except OSError:
                    return "refused"
                return "reached"
        print(reached(socket.AF_INET, ("127.0.0.1", int(sys.argv[1]))))
        print(reached(socket.AF_UNIX, "\\0" + sys.argv[2]))
    """
    name = f"tdd-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as nameless:
        nameless.bind(f"\0{name}")
        nameless.listen()
        done = one.python(code, str(server.getsockname()[1]), name, network=network)
    assert done.out == f"{answer}\n{answer}\n", done.err
