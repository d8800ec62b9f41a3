"""Recorded output of real tools, read as answers to a runner; the worktree was `/w`."""

from __future__ import annotations

import json
from pathlib import Path

from verdigris.runners.protocol import RunnerAnswer, RunnerCall, TestRequest

HERE = Path(__file__).parent.parent / "runners" / "recorded"


def replayed(tool: str, case: str) -> tuple[RunnerAnswer, ...]:
    told = json.loads((HERE / tool / f"{case}.json").read_text("utf-8"))
    return tuple(
        RunnerAnswer(
            call=RunnerCall(argv=tuple(one["argv"]), cwd="/w", command=case),
            exit_code=one["exit_code"],
            timed_out=one["timed_out"],
            duration_ms=1,
            output="\n".join(one["output"]).encode(),
            reports={name: text.encode() for name, text in one["reports"].items()},
        )
        for one in told
    )


def asked(*names: str, stack_root: str = "", collect_only: bool = False) -> TestRequest:
    return TestRequest(names, "/w", stack_root, "/reports", collect_only=collect_only)
