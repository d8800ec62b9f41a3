"""Tiny real Python projects, and the glue that runs them as the kernel does."""

from __future__ import annotations

import os
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verdigris.execution.process import Command, Finished, run
from verdigris.runners.pytest_report import parse
from verdigris.runners.python import PYTEST, PythonTool, invocation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from verdigris.core.report import TestReport

NONCE = "5f0c"


@dataclass(frozen=True, slots=True)
class PyProject:
    root: Path
    python: str = sys.executable
    tool: PythonTool = PYTEST

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(text), encoding="utf-8")

    def execute(
        self,
        *selection: str,
        extra: Sequence[str] = (),
        stack_root: str = ".",
        trace: Sequence[str] = (),
        collect_only: bool = False,
        timeout: float = 60,
        env: Mapping[str, str] | None = None,
        **variants: Any,
    ) -> tuple[Finished, TestReport]:
        cache = tempfile.TemporaryDirectory()
        call = invocation(
            self.tool,
            self.python,
            selection,
            worktree=str(self.root),
            stack_root=stack_root,
            nonce=NONCE,
            extra=extra,
            trace=trace,
            collect_only=collect_only,
            cache_dir=cache.name,
            **variants,
        )
        bare = {n: v for n, v in os.environ.items() if not n.startswith(("PYTEST", "COV"))}
        full = {**bare, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **call.env, **(env or {})}
        full = {name: value for name, value in full.items() if value}
        command = Command(call.argv, self.root / stack_root, full, call.channel_env, call.hello)
        lines: list[bytes] = []
        with cache:
            finished = run(command, timeout=timeout, on_line=lines.append)
        report = parse(
            lines,
            nonce=NONCE,
            command=call.command,
            exit_code=finished.exit_code,
            timed_out=finished.timed_out,
            duration_ms=finished.duration_ms,
            output=finished.output,
        )
        return finished, report

    def test(self, *selection: str, **options: object) -> TestReport:
        return self.execute(*selection, **options)[1]  # type: ignore[arg-type]
