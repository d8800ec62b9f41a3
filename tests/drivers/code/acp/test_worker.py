from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from verdigris.drivers.code.acp import worker as module
from verdigris.drivers.code.acp.worker import Interrupted, Worker, WorkItem
from verdigris.drivers.code.session import OutOfTime

if TYPE_CHECKING:
    from collections.abc import Callable


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
