"""`make bench`: every benchmark, as one table of ratios with the targets beside them."""

from __future__ import annotations

import sys

import gate
import log_state
import loop
import machine
import one_id
import room
import shell
import snapshot
import turn
import verdict
import vitest
import warm
from timing import table

import sandbox

BENCHMARKS = {
    "log": log_state.rows,
    "snapshot": snapshot.rows,
    "test": one_id.rows,
    "vitest": vitest.rows,
    "room": room.rows,
    "verdict": verdict.rows,
    "turn": turn.rows,
    "sandbox": sandbox.rows,
    "shell": shell.rows,
    "gate": gate.rows,
    "warm": warm.rows,
    "machine": machine.rows,
    "loop": loop.rows,
}


def main(names: list[str]) -> None:
    for name in names or list(BENCHMARKS):
        print(table(BENCHMARKS[name]()), end="\n\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
