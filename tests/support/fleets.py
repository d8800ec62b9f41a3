"""A `tdd` that answers at once, or never the first time, so that a test can kill the process that runs it."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from support.pages import project_files
from verdigris.drivers.fleet.run import FleetRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from verdigris.drivers.fleet.unit import FleetUnit


@dataclass(frozen=True)
class FakeFleet:
    home: Path

    def request(self, *names: str, out: str = "out", **more: object) -> FleetRequest:
        """Units with these names; the first word of a name says how the unit ends."""
        lines = [
            json.dumps({"kind": "replay", "repo": ".", "corpus": "corpus", "id": name}) for name in names
        ]
        (self.home / "tasks.jsonl").write_text("\n".join(lines) + "\n")
        fake = self.home / "fake.py"
        fake.write_text(project_files("fleet")["fake.py"])
        tdd = (sys.executable, str(fake), str(self.home))
        return FleetRequest(self.home / "tasks.jsonl", self.home / out, tdd=tdd, **more)  # type: ignore[arg-type]

    def starts(self, name: str) -> list[tuple[int, int]]:
        """Process id and carrier of each start."""
        with suppress(FileNotFoundError):
            lines = (self.home / f"{name}.starts").read_text().splitlines()
            return [(int(pid), int(parent)) for pid, parent in map(str.split, lines)]
        return []

    def forget_starts(self) -> None:
        for path in self.home.glob("*.starts"):
            path.unlink()

    def await_start(self, name: str) -> tuple[int, int]:
        wait_for(lambda: bool(self.starts(name)))
        return self.starts(name)[0]


class Watched:
    """The happenings of a fleet."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def began(self, total: int, known: int) -> None:
        self.told.append(f"began {total} {known}")

    def on_end(self, unit: FleetUnit, answer: str) -> None:
        self.told.append(f"ended {unit.asked.get('id', unit.kind)} {answer}")

    def on_loss(self, unit: FleetUnit, why: str, *, again: bool) -> None:
        self.told.append(f"lost {unit.asked.get('id', unit.kind)} {again} {why}")


def wait_for(ready: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {"Z", "X"}


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def folder_content(folder: Path) -> dict[str, bytes]:
    return {
        os.fspath(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
