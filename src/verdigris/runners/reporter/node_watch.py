"""Starts a test tool of Node, and stops it when its report does not grow any more: then a test does not end.

Before that it asks the busy thread where it is: on a signal node opens its inspector, which pauses even a
loop that never yields. It uses the standard library only, and what lies in its own folder.
"""

# ruff: noqa: PTH115, PTH116, PTH119, PTH120, PTH123, PTH208 - one start per run; pathlib costs half of it
from __future__ import annotations

import json
import os
import os.path as paths
import select
import signal
import sys
import time

TYPE_CHECKING = False  # importing typing would cost as much as all the rest
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

REPORT = "VERDIGRIS_REPORT"
"""The variable with the path of the report, for the reporter."""
STOP = ".stop"
"""Added to the name of the report, it names the file in which we say where the run was stopped."""
_TICK = 0.2
"""Seconds between two looks at the report."""
_SAMPLE = 0.3
"""Seconds over which the work of processes is measured."""
_BEGUN = (b'"kind":"collected"', b'"kind":"started"', b'"tool":"node"')
_LOADING = 5
"""The time before the first test may be this many times the limit of a test."""
_OPENING = 5.0
"""Seconds in which node must open its inspector."""


def main(arguments: Sequence[str]) -> int:
    from watched_process import die_like, end_of  # type: ignore[import-not-found]

    limit, report = float(arguments[0]), os.environ[REPORT]
    process = os.posix_spawnp(arguments[1], list(arguments[1:]), os.environ)
    over, statuses = end_of(process)
    size, heard = -1, time.monotonic()
    while not select.select([over], [], [], _TICK)[0]:
        now = _size(report)
        if now != size:
            size, heard = now, time.monotonic()
        elif (quiet := time.monotonic() - heard) > limit and quiet > (most := limit * _limit_factor(report)):
            _stop(process, arguments[1], report, most)
            return 1
    code = os.waitstatus_to_exitcode(statuses[0])
    if code < 0:
        die_like(-code)
    return abs(code)


def _limit_factor(report: str) -> int:
    """How many times the limit the tool may be silent.

    Before the first test it may compile a large project, which takes longer than a test may; node:test
    compiles nothing.
    """
    try:
        with open(report, "rb") as told:
            begun = any(word in line for line in told for word in _BEGUN)
    except OSError:
        begun = False
    return 1 if begun else _LOADING


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def _stop(process: int, node: str, report: str, seconds: float) -> None:
    """Writes where the run is, and kills the tool with all its processes."""
    seen: dict[str, Any] = {"seconds": seconds, "frames": [], "names": None}
    try:
        busy = _busiest([process, *_descendants(process)])
        if busy is not None:
            seen |= _ask_places(busy, node)
    except (OSError, ValueError):  # then we do not know where it is
        pass
    with open(f"{report}{STOP}", "x", encoding="ascii") as file:
        json.dump(seen, file)
    for each in reversed([process, *_descendants(process)]):
        try:
            os.kill(each, signal.SIGKILL)
        except OSError:
            continue


def _ask_places(process: int, node: str) -> dict[str, Any]:
    """Where the process is, and in which test, as the tool's own node finds out (`node/place.cjs`)."""
    from watched_process import run_watched

    os.kill(process, signal.SIGUSR1)
    ends = time.monotonic() + _OPENING
    while (port := _open_port(process)) is None:
        if time.monotonic() > ends:
            return {}
        time.sleep(_TICK / 4)
    # What the tests started may be any program called node: it is not run, and nobody gets the report's name.
    kept = {name: text for name, text in os.environ.items() if name not in {REPORT, "NODE_OPTIONS"}}
    command, answer = [node, f"{paths.dirname(__file__)}/node/place.cjs", str(port)], bytearray()
    run_watched(command, answer.extend, environment=kept, due=lambda: ends + _OPENING)
    return dict(json.loads(answer))


def _open_port(process: int) -> int | None:
    """The port on 127.0.0.1 on which a process listens, if there is one."""
    own = set()
    for name in os.listdir(f"/proc/{process}/fd"):
        try:
            own.add(os.readlink(f"/proc/{process}/fd/{name}"))
        except OSError:
            continue
    with open(f"/proc/{process}/net/tcp", encoding="ascii") as table:
        for line in table.read().splitlines()[1:]:
            fields = line.split()
            address, port = fields[1].split(":")
            if fields[3] == "0A" and address == "0100007F" and f"socket:[{fields[9]}]" in own:
                return int(port, 16)
    return None


def _descendants(process: int) -> list[int]:
    from watched_process import read_stat

    parents: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            parents.setdefault(read_stat(name)[0], []).append(int(name))
        except OSError:
            continue
    found = [process]
    for each in found:
        found += parents.get(each, [])
    return found[1:]


def _busiest(processes: Sequence[int]) -> int | None:
    """The process of node that uses most of the processor; None if all of them wait."""
    before = dict(_cpu_ticks(processes))
    time.sleep(_SAMPLE)
    used = {each: spent - before.get(each, spent) for each, spent in _cpu_ticks(processes)}
    busiest = max(used, key=used.__getitem__, default=None)
    return busiest if busiest is not None and used[busiest] else None


def _cpu_ticks(processes: Sequence[int]) -> Iterator[tuple[int, int]]:
    from watched_process import read_stat

    for each in processes:
        try:
            if paths.basename(os.readlink(f"/proc/{each}/exe")).startswith("node"):
                yield each, read_stat(str(each))[1]
        except OSError:
            continue


if __name__ == "__main__":
    sys.path.insert(0, paths.dirname(__file__))
    sys.exit(main(sys.argv[1:]))
