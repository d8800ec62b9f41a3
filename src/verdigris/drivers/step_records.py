"""The records of a step in `.tdd`: its plan for people, and its log for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from verdigris.core.report import TestReport
from verdigris.drivers.budget import Metered
from verdigris.models.providers import Scrubber
from verdigris.models.request import whole_share
from verdigris.models.roles import Role
from verdigris.storage.durable_files import write_whole

SCHEMA = 1


def _run_document(report: TestReport) -> dict[str, Any]:
    return {
        "command": report.command,
        "ended": report.ended.value,
        "milliseconds": report.duration_ms,
        "tests": {result.native_id: result.status.value for result in report.results},
        "failures": {
            result.native_id: result.failure.message
            for result in report.results
            if result.failure is not None
        },
        "output": report.tail,
    }


class StepLog:
    """The records of a step; rewritten after each attempt, so that a kill loses only the open one."""

    def __init__(self, folder: Path, scrub: Scrubber, step: int, role: Role, model: Metered) -> None:
        """`folder`: `.tdd` of the project."""
        self._folder, self._scrub = folder, scrub
        self._step, self._role, self._model = step, role, model
        self._plan = ""
        self._attempts: list[dict[str, Any]] = []
        self._end: dict[str, Any] = {}

    def plan(self, text: str) -> None:
        self._plan = text
        self._write("plan", "md", f"# Step {self._step}: {self._role}\n\n{text.strip()}\n")
        self._write_log()

    def attempt(
        self,
        number: int,
        *,
        paths: tuple[str, ...] = (),
        reasons: tuple[str, ...] = (),
        output: str = "",
        runs: Sequence[TestReport] = (),
    ) -> None:
        """An attempt without reasons was accepted. `output`: of a tool; `runs`: of the test tool."""
        facts = {"paths": list(paths), "reasons": list(reasons), "output": output}
        self._attempts.append({"attempt": number, **facts, "runs": [_run_document(run) for run in runs]})
        self._write_log()

    def record_end(self, **facts: Any) -> None:
        self._end = facts
        self._write_log()

    def _write_log(self) -> None:
        calls, usage = self._model.calls, self._model.usage
        document = {
            "schema": SCHEMA,
            "step": self._step,
            "role": self._role.name,
            "model": self._model.name,
            "plan": self._plan,
            "attempts": self._attempts,
            "prompts": [
                {"messages": len(call.ask.messages), "tokens": call.share.prompt, "prefix": call.share.share}
                for call in calls
            ],
            "usage": {
                "prompt": usage.prompt,
                "cached": usage.cached,
                "completion": usage.completion,
                "estimated": usage.estimated,
            },
            "prefix_share": whole_share([call.share for call in calls]).share,
            **self._end,
        }
        text = json.dumps(self._scrub.document(document), indent=2, ensure_ascii=False)
        self._write("logs", "json", f"{text}\n")

    def _write(self, folder: str, ending: str, text: str) -> None:
        path = self._folder / folder / f"step-{self._step}-{self._role}.{ending}"
        write_whole(path, self._scrub(text).encode("utf-8", "backslashreplace"))
