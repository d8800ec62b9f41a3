"""Which test runs for too long, and that its process is stopped."""

from __future__ import annotations

import os
import signal
import sys
import time

from verdigris.runners.reporter.watched_process import WatchedClock, run_watched


def test_the_oldest_test_that_waits_for_no_part_of_its_own_is_due() -> None:
    clock = WatchedClock(60.0)
    assert clock.due() is None
    for name in ("TestA", "TestA/part", "TestB"):
        clock.begin(name)
    assert clock.oldest() == "TestA/part"
    clock.pause("TestA/part")
    clock.pause("TestA")
    assert clock.oldest() == "TestB"
    clock.begin("TestA")
    clock.begin("TestA/part")
    before = clock.running["TestA"]
    clock.end("TestA/part")
    assert clock.running["TestA"] >= before, "a part that ended is progress of the whole"
    due = clock.due()
    assert due is not None
    assert 59 < due - time.monotonic() <= 60


def test_each_further_test_that_does_not_end_gets_half_of_the_time_but_five_seconds_at_least() -> None:
    clock = WatchedClock(16.0)
    clock.begin("a")
    clock.restart()
    assert (clock.seconds, clock.running, clock.begun) == (8.0, {}, set())
    clock.restart()
    clock.restart()
    assert clock.seconds == 5.0
    short = WatchedClock(2.0)
    short.restart()
    assert short.seconds == 2.0


def test_what_is_printed_is_heard_and_the_status_is_the_programs_own() -> None:
    heard = bytearray()
    status = run_watched([sys.executable, "-c", "print('said'); raise SystemExit(3)"], heard.extend)
    assert (bytes(heard), os.waitstatus_to_exitcode(status)) == (b"said\n", 3)


def test_a_program_that_is_due_is_stopped_and_killed_where_it_does_not_listen() -> None:
    ends = time.monotonic() + 0.2
    program = "import time; time.sleep(60)"
    status = run_watched([sys.executable, "-c", program], len, due=lambda: ends)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    asked: list[int] = []

    def ask(process: int) -> None:
        asked.append(process)
        os.kill(process, signal.SIGTERM)

    status = run_watched([sys.executable, "-c", program], len, due=lambda: ends, stop=ask)
    assert (len(asked), os.waitstatus_to_exitcode(status)) == (1, -signal.SIGTERM)
