"""Makes the recordings of the package: run `python -m support.katas.record [NAME]…` in the folder tests."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support.cli import DEAF_TO, TDD
from support.katas import recorded_run, shipping_unittest
from support.katas.script import read_script, served
from support.openai_server import Script, serving
from verdigris.core.records import Actor
from verdigris.drivers.demo import play as kata


@dataclass(frozen=True, slots=True)
class Recording:
    """The script, the function that prepares the project, the command, and the file of the recording."""

    script: Callable[[], Script]
    prepare: Callable[..., None]
    command: tuple[str, ...]
    target: Path


RECORDINGS = {
    "string-calculator": Recording(
        lambda: served(read_script("string_calculator_python")),
        recorded_run.prepare,
        ("run", "--steps", str(recorded_run.STEPS + 1)),
        recorded_run.TALK,
    ),
    "leap-year": Recording(
        lambda: served(read_script("leap_year_unittest")),
        kata.prepare_kata,
        ("run", "--steps", str(kata.KATA_STEPS)),
        kata.KATA_TALK,
    ),
    "shipping": Recording(
        lambda: shipping_unittest.answer, kata.prepare_spec, ("cycle", "run", kata.SPEC_PATH), kata.SPEC_TALK
    ),
}


def record(recording: Recording, folder: Path) -> None:
    """The run is real; only the answers are scripted."""
    with serving(recording.script()) as server:
        recording.prepare(folder / "kata", Actor(), f"llm: {{base_url: {server.url}}}\n", model="scripted")
        argv = [*TDD, *recording.command, "--record", str(folder / "talk.jsonl")]
        subprocess.run(argv, cwd=folder / "kata", env=_apart(folder), check=True)
    recording.target.write_bytes((folder / "talk.jsonl").read_bytes())


def _apart(folder: Path) -> dict[str, str]:
    clean = {name: text for name, text in os.environ.items() if name not in DEAF_TO}
    return {**clean, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "GIT_CONFIG_NOSYSTEM": "1"}


if __name__ == "__main__":
    for name in sys.argv[1:] or RECORDINGS:
        with tempfile.TemporaryDirectory() as made:
            record(RECORDINGS[name], Path(made))
