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
from verdigris.storage.durable_files import prepare_folder, write_whole

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
    """The log of a step; rewritten after each attempt, so that a kill loses only the open one."""

    def __init__(self, keeper: StepRecords, step: int, role: Role, model: Metered) -> None:
        self._keeper, self._step, self._role, self._model = keeper, step, role, model
        self._plan = ""
        self._attempts: list[dict[str, Any]] = []
        self._end: dict[str, Any] = {}

    def plan(self, text: str) -> None:
        self._plan = text
        self._keeper.plan(self._step, self._role, text)
        self.write()

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
        told = {"paths": list(paths), "reasons": list(reasons), "output": output}
        self._attempts.append({"attempt": number, **told, "runs": [_run_document(report) for report in runs]})
        self.write()

    def record_end(self, **facts: Any) -> None:
        self._end = facts
        self.write()

    def write(self) -> None:
        calls = self._model.calls
        usage = self._model.usage
        self._keeper.log(
            self._step,
            self._role,
            {
                "schema": SCHEMA,
                "step": self._step,
                "role": self._role.name,
                "model": self._model.name,
                "plan": self._plan,
                "attempts": self._attempts,
                "prompts": [
                    {
                        "messages": len(call.ask.messages),
                        "tokens": call.share.prompt,
                        "prefix": call.share.share,
                    }
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
            },
        )


class StepRecords:
    def __init__(self, root: Path, scrub: Scrubber) -> None:
        self._folder = prepare_folder(root)
        self._scrub = scrub

    def plan(self, step: int, role: Role, text: str) -> None:
        self._write(
            self._folder / "plan" / f"step-{step}-{role}.md", f"# Step {step}: {role}\n\n{text.strip()}\n"
        )

    def log(self, step: int, role: Role, document: dict[str, Any]) -> None:
        text = json.dumps(self._scrub.document(document), indent=2, ensure_ascii=False)
        self._write(self._folder / "logs" / f"step-{step}-{role}.json", f"{text}\n")

    def _write(self, path: Path, text: str) -> None:
        write_whole(path, self._scrub(text).encode("utf-8", "backslashreplace"))
