from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

from verdigris.drivers.code.acp import connection
from verdigris.drivers.code.acp import connection as module
from verdigris.drivers.code.acp.connection import (
    Interrupted,
    NoMessage,
    StdioTransport,
    Worker,
    WorkItem,
    read_message,
)
from verdigris.drivers.code.session import OutOfTime


def test_a_request_a_notification_and_an_answer_are_messages() -> None:
    assert read_message(b'{"id": 1, "method": "a", "params": {"x": 1}}') == {
        "id": 1,
        "method": "a",
        "params": {"x": 1},
    }
    assert read_message(b'{"method": "a"}') == {"method": "a"}
    assert read_message(b'{"id": 0, "result": null}') == {"id": 0, "result": None}


def test_what_others_attach_is_not_taken_for_parameters() -> None:
    found = read_message(b'{"method": "session/new", "params": {"cwd": "/a", "_meta": {"cwd": "/b"}}}')
    assert found == {"method": "session/new", "params": {"cwd": "/a"}}


def test_an_error_that_is_no_object_becomes_one() -> None:
    assert read_message(b'{"id": 0, "error": "no"}') == {"id": 0, "error": {"message": "no"}}


@pytest.mark.parametrize("line", [b"{", b"\xff", b"[" * 100_000, b""])
def test_what_is_no_json_cannot_be_parsed(line: bytes) -> None:
    found = read_message(line)
    assert isinstance(found, NoMessage)
    assert found.document()["error"]["code"] == -32700
    assert found.document()["id"] is None


@pytest.mark.parametrize(
    "line", [b"[]", b"1", b"{}", b'{"id": true, "method": "a"}', b'{"id": 3, "method": 4}', b'{"id": 3}']
)
def test_what_is_json_and_no_message_is_invalid_and_keeps_an_id_that_can_be_read(line: bytes) -> None:
    found = read_message(line)
    assert isinstance(found, NoMessage)
    assert found.code == -32600
    assert found.id == (3 if b"3" in line else None)


def converse(sent: bytes) -> tuple[list[dict[str, object]], bytes, int]:
    """What a transport takes for messages, what it writes, and how often it was left."""
    source, feed = os.pipe()
    read, sink = os.pipe()
    left = 0

    async def leave() -> None:
        nonlocal left
        left += 1

    async def listen() -> list[dict[str, object]]:
        transport = StdioTransport(source, sink, leave)
        os.write(feed, sent)
        os.close(feed)
        found = []
        while (message := await transport.receive()) is not None:
            found.append(message)
            if "id" in message:
                await transport.send({"jsonrpc": "2.0", "id": message["id"], "result": {}})
        return found

    found = asyncio.run(listen())
    os.close(sink)
    with os.fdopen(read, "rb") as written:
        said = written.read()
    os.close(source)
    return found, said, left


def test_a_line_that_is_too_long_is_skipped_and_the_next_one_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "LONGEST", 40)
    found, said, left = converse(b'{"method": "' + b"x" * 100 + b'"}\n\n{"id": 1, "method": "b"}')
    assert found == [{"id": 1, "method": "b"}]
    assert said.splitlines()[0].startswith(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700')
    assert said.splitlines()[1] == b'{"jsonrpc":"2.0","id":1,"result":{}}'
    assert left == 1


def test_notifications_that_may_be_left_alone_are() -> None:
    found, said, _ = converse(
        b'{"method": "$/cancel_request", "params": {"requestId": 1}}\n{"method": "a"}\n'
    )
    assert (found, said) == ([{"method": "a"}], b"")


def test_who_does_not_read_any_more_has_gone() -> None:
    source, feed = os.pipe()
    read, sink = os.pipe()
    os.close(read)
    left: list[bool] = []

    async def leave() -> None:
        left.append(True)

    async def speak() -> None:
        transport = StdioTransport(source, sink, leave)
        await transport.send({"method": "a"})
        assert await transport.receive() is None
        await transport.send({"method": "b"})

    asyncio.run(speak())
    assert left == [True]
    for descriptor in (feed, sink, source):
        os.close(descriptor)


def run_beside(worker: Worker, act: Callable[[], object]) -> None:
    """The worker in the main thread, as a session is; somebody else acts meanwhile, and then stops it."""

    def beside() -> None:
        try:
            act()
        finally:
            worker.stop()

    thread = threading.Thread(target=beside)
    thread.start()
    worker.run()
    thread.join()


def test_items_are_carried_out_in_order_and_what_they_raise_is_told() -> None:
    worker, done = Worker(), []

    def fail() -> None:
        done.append("two")
        raise ValueError("so it is")

    one, two = WorkItem(lambda: done.append("one")), WorkItem(fail)
    run_beside(worker, lambda: (worker.submit(one), worker.submit(two)))
    assert done == ["one", "two"]
    assert one.future.result() is None
    with pytest.raises(ValueError, match="so it is"):
        two.future.result()


def test_a_prompt_is_interrupted_in_a_wait_and_the_next_one_is_not() -> None:
    worker, begun = Worker(), threading.Event()

    def wait() -> str:
        begun.set()
        time.sleep(60)
        return "slept"

    long, short = WorkItem(wait, "a"), WorkItem(lambda: "short", "b")

    def act() -> None:
        worker.submit(long)
        begun.wait()
        asyncio.run(worker.cancel_prompt("b"))
        asyncio.run(worker.cancel_prompt("a"))
        asyncio.run(worker.cancel_prompt("a"))
        worker.submit(short).result(10)

    run_beside(worker, act)
    assert isinstance(long.future.exception(), Interrupted)
    assert (long.cancelled, short.cancelled) == (True, False)
    assert short.future.result() == "short"


def test_who_cleans_up_is_not_interrupted_again_and_who_hears_nothing_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "KNOCKS", 0.02)
    monkeypatch.setattr(module, "GRACE", 0.3)
    worker, heard, begun = Worker(), [], threading.Event()

    def sleep_on() -> str:
        begun.set()
        for _ in range(2):
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                heard.append(time.monotonic())
        time.sleep(0.1)
        return "cleaned up"

    item = WorkItem(sleep_on, "a")

    def act() -> None:
        worker.submit(item)
        begun.wait()
        asyncio.run(worker.cancel_prompt())

    run_beside(worker, act)
    assert item.future.result() == "cleaned up"
    assert heard[1] - heard[0] >= 0.3


def test_a_signal_from_outside_ends_what_is_under_way_and_all_that_waits() -> None:
    worker = Worker()
    waits = WorkItem(lambda: "never")

    def end() -> None:
        worker.submit(waits)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)

    item = WorkItem(end, "a")
    before = signal.getsignal(signal.SIGTERM)
    run_beside(worker, lambda: worker.submit(item))
    assert worker.ends
    assert isinstance(item.future.exception(), Interrupted)
    assert isinstance(waits.future.exception(), Interrupted)
    assert isinstance(worker.submit(WorkItem(lambda: None)).exception(), Interrupted)
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_end_of_the_time_is_told_as_such() -> None:
    worker, told = Worker(), []

    def wait() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            time.sleep(60)
        except OutOfTime:
            told.append("over")

    run_beside(worker, lambda: worker.submit(WorkItem(wait, "a")))
    assert told == ["over"]
