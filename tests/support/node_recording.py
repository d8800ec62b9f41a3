"""Records the output of the reporters for the projects in `runners/recorded/node`; run it to record again."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from support.node_tools import RECORDED, node_22, present, project
from verdigris.runners.node import Jest, NodeTest, Vitest
from verdigris.runners.node.report import REPORT
from verdigris.runners.protocol import Runner, RunnerAnswer, RunnerCall, TestRequest

WORKTREE = "/w/project"
_FRAMES = 6


def replayed(like: str, name: str, *names: str) -> tuple[TestRequest, tuple[RunnerAnswer, ...]]:
    """A recorded run, as if it had just ended."""
    saved = json.loads((RECORDED / like / f"{name}.json").read_text(encoding="utf-8"))
    lines = b"".join(json.dumps(line).encode() + b"\n" for line in saved["lines"])
    called = RunnerCall(("node",), WORKTREE, like, {REPORT: "/w/reports/r.jsonl"})
    answer = RunnerAnswer(called, saved["exit_code"], False, 1000, b"", {"r.jsonl": lines})
    return TestRequest(names, WORKTREE, "", "/w/reports"), (answer,)


def main() -> None:
    runs: list[tuple[str, str, Runner, str, str | None]] = [
        ("vitest", "vitest-2", Vitest(), present(), "vitest@2"),
        ("vitest", "vitest-5", Vitest(), node_22(), "vitest@5"),
        ("jest", "jest-29", Jest(), present(), "jest@29"),
        ("jest", "jest-30", Jest(), present(), "jest@30"),
        ("node", "node-20", NodeTest(), present(), None),
        ("node", "node-22", NodeTest(), node_22(), None),
    ]
    for like, name, runner, node, package in runs:
        with tempfile.TemporaryDirectory() as folder:
            made = project(Path(folder), runner, node=node, package=package, like=like)
            _, (answer,) = made.answered()
            (report,) = answer.reports.values()
            modules = (made.root / "node_modules").resolve()
            text = (
                report.decode()
                .replace(str(modules), f"{WORKTREE}/node_modules")
                .replace(str(made.root), WORKTREE)
            )
            text = re.sub(
                rf"(?:\.\./)+\S*?{re.escape(modules.parent.name)}/node_modules", "node_modules", text
            )
            lines = [_short(json.loads(line)) for line in text.splitlines()]
        rows = ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
        saved = f'{{"exit_code": {answer.exit_code}, "lines": [\n{rows}\n]}}\n'
        (RECORDED / like / f"{name}.json").write_text(saved, encoding="utf-8")


def _short(value: Any) -> Any:
    """Keep fewer frames, and no colours."""
    match value:
        case dict():
            return {key: _short(each) for key, each in value.items()}
        case list():
            return [_short(each) for each in value]
        case str():
            return re.sub(r"((?:\n {4}at [^\n]*){%d})(?:\n {4}at [^\n]*)+" % _FRAMES, r"\1", value)  # noqa: UP031
    return value


if __name__ == "__main__":
    main()
