"""Calls node:test, one process per file."""

from __future__ import annotations

import json
import secrets
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.runners import node_report
from verdigris.runners.node_selection import by_path, full_path
from verdigris.runners.protocol import RunnerCall

if TYPE_CHECKING:
    from verdigris.core.report import TestReport
    from verdigris.runners.protocol import RunnerAnswer, TestRequest

_DRIVER = Path(__file__).parent / "reporter" / "node" / "node_driver.mjs"


_ARGUMENT = 100_000
"""Bytes of one argument; Linux takes 128 KiB."""


@value
class NodeTest:
    """To collect lists files only: what node calls a test exists no sooner than it runs."""

    node: str = "node"

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        asked = by_path(request.names) or {request.stack_root or ".": ()}
        files = (_file(full_path(request, path), names) for path, names in asked.items())
        mode = "collect" if request.collect_only else "run"
        return (
            RunnerCall(
                argv=(self.node, str(_DRIVER), mode, json.dumps(request.extra), *files),
                cwd=request.folder,
                command=shlex.join(["node", "--test", *request.extra, *request.names]),
                env={node_report.REPORT: f"{request.report_folder}/{secrets.token_hex(16)}.jsonl"},
            ),
        )

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:
        return node_report.parse(request, answers)


def _file(path: str, names: tuple[tuple[str, ...], ...]) -> str:
    """A file with too many names for one argument runs whole; what was not asked for does not count."""
    asked = json.dumps({"path": path, "names": names})
    return asked if names and len(asked) <= _ARGUMENT else json.dumps({"path": path})
