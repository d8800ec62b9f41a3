"""Runs a fleet on an engine: all units without a result, and lost units again; then counts the results."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections import Counter, deque
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from verdigris.core.errors import ToolMissing, UserError
from verdigris.core.value import value
from verdigris.drivers.fleet.carrier import UnitJob, render_job, run_carrier, start_words
from verdigris.drivers.fleet.result_folder import FleetSummary, ResultFolder
from verdigris.drivers.fleet.unit import FleetUnit, choose_shard, read_units

_PAUSE = 0.05
_SAID = 2000
_KNOCK = 10.0
"""Seconds within which a cluster has to answer."""


@value
class EndedJob:
    """A carrier that ended, or was lost."""

    job: UnitJob
    why: str
    """The end of its output; it matters if there is no result."""


class Engine(Protocol):
    jobs: int
    """How many units it runs at once."""

    def submit(self, job: UnitJob) -> None: ...

    def wait(self) -> EndedJob:
        """Returns the next carrier that ended; at least one is running."""
        ...

    def close(self) -> None:
        """Ends the carriers that still run; they leave no result."""
        ...


class LocalEngine:
    """Runs carriers as processes of this machine."""

    def __init__(self, jobs: int = 0) -> None:
        self.jobs = jobs or os.cpu_count() or 1
        self._running: list[tuple[UnitJob, subprocess.Popen[bytes], Any]] = []

    def submit(self, job: UnitJob) -> None:
        output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the carrier has ended
        carrier = subprocess.Popen(
            start_words(), stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True
        )
        self._running.append((job, carrier, output))
        if carrier.stdin is not None:
            try:
                carrier.stdin.write(render_job(job))
                carrier.stdin.close()
            except BrokenPipeError:  # it was killed already; `wait` finds it
                return

    def wait(self) -> EndedJob:
        while True:
            for running in self._running:
                job, carrier, output = running
                if carrier.poll() is not None:
                    self._running.remove(running)
                    output.seek(0)
                    words = os.fsdecode(output.read())[-_SAID:].strip()
                    output.close()
                    return EndedJob(job, _describe_end(carrier.returncode, words))
            time.sleep(_PAUSE)

    def close(self) -> None:
        for _, carrier, output in self._running:
            carrier.kill()
            carrier.wait()
            output.close()
        self._running = []


def _describe_end(code: int, words: str) -> str:
    return f"its worker was killed by signal {-code}" if code < 0 else words


class RayEngine:
    """Runs carriers on a Ray cluster, or on a Ray that is started here if no address is given.

    Ray does not retry: the folder shows which units were lost, as on every engine.
    """

    def __init__(self, address: str = "", jobs: int = 0) -> None:
        try:
            self._ray: Any = import_module("ray")
        except ImportError:
            raise ToolMissing(
                "the engine `ray` needs Ray, and it is not installed.", hint="pip install 'verdigris[fleet]'"
            ) from None
        begun = {} if address else {"include_dashboard": False}
        try:
            _knock(address)
            self._ray.init(address=address or None, log_to_driver=False, configure_logging=False, **begun)
        except (OSError, RuntimeError, ValueError) as error:
            raise ToolMissing(
                f"Ray cannot be reached at {address or 'this machine'}: {error}",
                hint="`ray status` there; `--address auto` finds a cluster that this machine belongs to",
            ) from None
        self.jobs = jobs or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._carry = self._ray.remote(max_retries=0, num_cpus=1)(run_carrier)
        self._running: dict[Any, UnitJob] = {}

    def submit(self, job: UnitJob) -> None:
        self._running[self._carry.remote(render_job(job))] = job

    def wait(self) -> EndedJob:
        [ready], _ = self._ray.wait(list(self._running), num_returns=1)
        job = self._running.pop(ready)
        try:
            code, words = self._ray.get(ready)
        except self._ray.exceptions.RayError as error:
            return EndedJob(job, f"its worker was lost: {type(error).__name__}")
        return EndedJob(job, _describe_end(code, words.strip()))

    def close(self) -> None:
        for ref in self._running:
            self._ray.cancel(ref, force=True)
        self._running = {}
        self._ray.shutdown()


def _knock(address: str) -> None:
    """Raises an OSError if nobody listens there: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK).close()


def open_engine(name: str, address: str, jobs: int) -> Engine:
    return RayEngine(address, jobs) if name == "ray" else LocalEngine(jobs)


ATTEMPTS = 3
SECONDS = 3600.0


@value
class FleetRequest:
    tasks: Path
    out: Path
    attempts: int = ATTEMPTS
    """How often a unit is tried that is lost or whose machine fails."""
    seconds: float = SECONDS
    """For one unit."""
    shard: tuple[int, int] = (1, 1)
    tdd: tuple[str, ...] = ()
    """The command `tdd`; by default that of the carrier's interpreter."""


class FleetWatcher(Protocol):
    """Hears how the fleet goes."""

    def began(self, total: int, known: int) -> None: ...

    def on_end(self, unit: FleetUnit, answer: str) -> None: ...

    def on_loss(self, unit: FleetUnit, why: str, *, again: bool) -> None: ...


def prepare_units(request: FleetRequest) -> tuple[FleetUnit, ...]:
    """Returns the units of this shard; a wrong line is an error before anything runs."""
    try:
        text = request.tasks.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"the tasks {request.tasks} cannot be read: {error}", hint="name a file of JSON lines"
        ) from None
    return choose_shard(read_units(text, str(request.tasks.resolve().parent)), *request.shard)


def run_fleet(
    request: FleetRequest, units: Sequence[FleetUnit], engine: Engine, watcher: FleetWatcher
) -> FleetSummary:
    folder = ResultFolder(request.out.resolve())
    folder.prepare()
    waiting = deque(unit for unit in units if folder.read(unit) is None)
    watcher.began(len(units), len(units) - len(waiting))
    tries: Counter[str] = Counter()
    on_their_way = 0
    try:
        while waiting or on_their_way:
            while waiting and on_their_way < engine.jobs:
                engine.submit(UnitJob(waiting.popleft(), str(folder.path), request.seconds, request.tdd))
                on_their_way += 1
            carried = engine.wait()
            on_their_way -= 1
            unit = carried.job.unit
            result = folder.read(unit)
            if result is not None:
                watcher.on_end(unit, ", ".join(result["answers"]) or result["outcome"])
                continue
            tries[unit.key] += 1
            again = tries[unit.key] < request.attempts
            watcher.on_loss(unit, carried.why, again=again)
            if again:
                waiting.append(unit)
            else:
                folder.note_failure(unit, carried.why)
    finally:
        engine.close()
    return folder.summarise(units)
