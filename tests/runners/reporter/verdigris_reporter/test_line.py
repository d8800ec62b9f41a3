"""A line between two processes, of which one may be gone."""

from __future__ import annotations

import socket

from verdigris.runners.reporter.verdigris_reporter.line import MessageLine


def test_a_message_that_went_out_whole_is_sent_though_the_other_end_is_gone_by_then() -> None:
    class Fleeting:
        """The other end reads all at once, and is gone."""

        def __init__(self) -> None:
            self.sent = b""

        def sendmsg(self, parts: list[bytes], _: object) -> int:
            self.sent = b"".join(parts)
            return len(self.sent)

        def sendall(self, data: bytes) -> None:
            here, there = socket.socketpair()
            there.close()
            with here:
                here.sendall(data)

    connection = Fleeting()
    line = MessageLine.__new__(MessageLine)
    line.connection = connection
    line.send({"die": True})
    assert connection.sent == b'{"die": true, "beside": 0}\n'
