"""Makes the recording that the package brings along: `python -m support.katas.record` in the folder tests."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from support.cli import DEAF_TO, TDD
from support.katas.script import served
from support.katas.string_calculator_python import script
from support.openai_server import serving
from verdigris.core.actions import Actor
from verdigris.drivers.machine import recorded


def record(folder: Path, target: Path, *, steps: int = recorded.STEPS + 1) -> None:
    """The run itself is real; only who answers is not."""
    with serving(served(script())) as server:
        recorded.prepare(folder / "kata", Actor(), f"llm: {{base_url: {server.url}}}\n", model="scripted")
        argv = [*TDD, "run", "--steps", str(steps), "--record", str(folder / "talk.jsonl")]
        subprocess.run(argv, cwd=folder / "kata", env=_apart(folder), check=True)
    target.write_bytes((folder / "talk.jsonl").read_bytes())


def _apart(folder: Path) -> dict[str, str]:
    clean = {name: text for name, text in os.environ.items() if name not in DEAF_TO}
    return {**clean, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "GIT_CONFIG_NOSYSTEM": "1"}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        record(Path(made), Path(sys.argv[1]) if len(sys.argv) > 1 else recorded.TALK)
