"""Coroutines, servers, processes, signals and threads."""

from __future__ import annotations

from support.shape import Shape

SHAPES = (
    Shape(
        "coroutines under asyncio.run",
        claim="jobs.py",
        before="""
--- jobs.py
import asyncio


async def one(value):
    await asyncio.sleep(0)
    return value
--- tests/test_jobs.py
import asyncio

import jobs


def test_one():
    assert asyncio.run(jobs.one(3)) == 3
""",
        red="""
--- tests/test_gathered.py
import asyncio

import pytest

import jobs


def test_many_keep_their_order():
    async def scenario():
        found = await jobs.gathered([jobs.one(n) for n in (5, 7, 6)])
        assert found == [5, 7, 6]
        return len(found)

    assert asyncio.run(scenario()) == 3


def test_out_of_time():
    async def scenario():
        await jobs.gathered([asyncio.sleep(30)], seconds=0.01)

    with pytest.raises(TimeoutError):
        asyncio.run(scenario())
""",
        edit="""
--- jobs.py
import asyncio


async def one(value):
    await asyncio.sleep(0)
    return value


async def gathered(work, seconds=None):
    return await asyncio.wait_for(asyncio.gather(*work), seconds)
""",
    ),
    Shape(
        "a server on localhost that a module fixture starts",
        claim="app.py",
        before="""
--- app.py
from http.server import BaseHTTPRequestHandler


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass
--- tests/test_handler.py
from app import Handler


def test_quiet():
    assert Handler.log_message(None, "x") is None
""",
        red="""
--- tests/test_server.py
import threading
from http.client import HTTPConnection
from http.server import ThreadingHTTPServer

import pytest

from app import Handler


@pytest.fixture(scope="module")
def port():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def client(port):
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    yield connection
    connection.close()


def test_health(client):
    client.request("GET", "/health")
    answer = client.getresponse()
    assert answer.status == 200
    assert answer.read() == b"ok"


def test_unknown(client):
    client.request("GET", "/nothing")
    assert client.getresponse().status == 404
""",
        edit="""
--- app.py
from http.server import BaseHTTPRequestHandler


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/health":
            self.send_error(404)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args):
        pass
""",
    ),
    Shape(
        "processes, signals, threads, polling",
        claim="working.py",
        before="""
--- working.py
import threading
--- tests/test_working_is_there.py
import working


def test_it_is_there():
    assert working
""",
        red="""
--- tests/test_work.py
import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import multiprocessing

import pytest

import working


def wait_until(check, seconds=2):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.005)
    return False


def test_pool():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(working.square, [2, 3])) == [4, 9]


def test_threads():
    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(working.square, [3, 1])) == [1, 9]


def test_alarm():
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *args: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    assert wait_until(lambda: seen)
    signal.signal(signal.SIGALRM, before)
    assert working.square(len(seen)) == 1


def test_background():
    worker = working.Worker()
    worker.start([1, 2])
    assert wait_until(lambda: worker.done == [1, 4])
    worker.thread.join()
    for _ in range(20):
        try:
            assert worker.done == [1, 4]
            break
        except AssertionError:
            time.sleep(0.01)
    else:
        pytest.fail("never")
    assert os.getpid() == worker.pid
    assert not worker.thread.is_alive()
""",
        edit="""
--- working.py
import os
import threading


def square(n):
    return n * n


class Worker:
    def __init__(self):
        self.done = []
        self.pid = os.getpid()

    def start(self, values):
        self.thread = threading.Thread(target=self._work, args=(values,))
        self.thread.start()

    def _work(self, values):
        for value in values:
            self.done.append(square(value))
""",
        concerns=("the test failed elsewhere",),
    ),
)
