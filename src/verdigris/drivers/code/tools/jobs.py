"""Commands of a session that go on while its model does; none outlives the session."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass
class Job:
    command: str
    process: subprocess.Popen[bytes]
    output: Path


@dataclass
class Jobs:
    folder: Path
    running: dict[str, Job] = field(default_factory=dict)
    started: int = 0

    def start(self, argv: list[str], command: str, cwd: Path, env: Mapping[str, str]) -> str:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.started += 1
        name = f"j{self.started}"
        output = self.folder / f"{name}.out"
        with output.open("wb") as file:
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.running[name] = Job(command, process, output)
        return name

    def stop(self, name: str) -> None:
        process = self.running[name].process
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        for name, job in self.running.items():
            self.stop(name)
            job.output.unlink(missing_ok=True)
        self.running.clear()
