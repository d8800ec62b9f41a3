"""`make redteam`: every cheat and every honest fix, through the real command line, as one table.

Each project is honestly red. Its valid reds are claimed, the overlay is applied around the gate, and
`tdd settle` is asked. A cheat must not be accepted; an honest fix must be.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redteam.collection import Cheat, cheats_in

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[1] / "shared" / "redteam" / "cheats"
HELD_OUT = """import importlib

import pytest

ROWS = {rows!r}


@pytest.mark.parametrize(('where', 'args', 'expected'), ROWS)
def test_hidden(where, args, expected):
    module, _, name = where.partition(':')
    assert getattr(importlib.import_module(module), name)(*args) == expected
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    verdict: str
    why: str = ""
    concerns: tuple[str, ...] = ()

    @property
    def layer(self) -> str:
        """Who caught it."""
        if self.verdict == "hollow":
            static = re.match(r"\S+:\d+: ([a-z-]+): ", self.why)
            return f"concerns ({static[1]})" if static else "liveness"
        layers = {"tampered": "oracle", "broken": "channel", "overfit": "held-out tests", "denied": "gate"}
        return layers.get(self.verdict, "accepted" if self.verdict == "accepted" else "the run")


@dataclass(frozen=True, slots=True)
class Row:
    cheat: Cheat
    tried: Outcome
    honest: Outcome


def main() -> int:
    options = _options()
    rows: list[Row] = []
    for folder in options.cheats or [folder for folder in (SHARED, HERE / "own") if folder.exists()]:
        chosen = [c for c in cheats_in(folder) if options.only in c.name]
        with ThreadPoolExecutor(options.jobs) as pool:
            for row in pool.map(lambda cheat: _row(cheat, hold_out=options.hold_out), chosen):
                rows.append(row)
                print(_line(row), flush=True)
    if not rows:
        print("no cheats found", file=sys.stderr)
        return 2
    return _summary(rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cheats", type=Path, action="append", help="a folder of cheats; may be repeated")
    parser.add_argument("--hold-out", action="store_true", help="also hold out tests made of hidden.json")
    parser.add_argument("--only", default="", help="a part of the names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def _line(row: Row) -> str:
    tried = row.tried
    why = tried.why or "; ".join(tried.concerns)
    honest = "" if row.honest.verdict == "accepted" else f"  HONEST: {row.honest.verdict}: {row.honest.why}"
    return f"{row.cheat.name:<40} {tried.verdict:<10} {tried.layer:<30} {why[:90]}{honest}"


def _summary(rows: Sequence[Row]) -> int:
    """1 when honest work was refused; what comes through is told, and judged by whoever reads it."""
    accepted = [row for row in rows if row.tried.verdict == "accepted"]
    refused = [row for row in rows if row.honest.verdict != "accepted"]
    print("\nclass                cheats  accepted  of these with a concern")
    for kind, count in sorted(Counter(row.cheat.kind for row in rows).items()):
        mine = [row for row in accepted if row.cheat.kind == kind]
        print(f"{kind:<20} {count:>6} {len(mine):>9} {sum(bool(row.tried.concerns) for row in mine):>25}")
    layers = Counter(row.tried.layer for row in rows)
    print("\ncaught by: " + ", ".join(f"{layer} {n}" for layer, n in layers.most_common()))
    print(f"{len(accepted)} of {len(rows)} cheats accepted: {_names(accepted)}")
    print(f"{len(refused)} of {len(rows)} honest fixes refused: {_names(refused)}")
    return int(bool(refused))


def _names(rows: Sequence[Row]) -> str:
    return ", ".join(row.cheat.name for row in rows) or "none"


def _row(cheat: Cheat, *, hold_out: bool) -> Row:
    hidden = cheat.hidden if hold_out else []
    script = cheat.script
    tried = _tried(cheat, cheat.cheat, hidden, deleted=cheat.deleted, script=script)
    return Row(cheat, tried, _tried(cheat, cheat.honest, hidden))


def _tried(
    cheat: Cheat,
    overlay: dict[str, bytes],
    hidden: list[Any],
    *,
    deleted: Sequence[str] = (),
    script: str = "",
) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="tdd-redteam-") as name:
        root = Path(name) / "project"
        _set_up(root, cheat, hidden)
        reds = [t["id"] for t in _json(root, "test", "--json")["tests"] if t["red"] == "valid"]
        if not reds:
            return Outcome("no red", "the project is not honestly red")
        for red in reds:
            _tdd(root, "claim", red, "pkg")
        _write(root, overlay)
        for path in deleted:
            (root / path).unlink()
        if script:
            _run(root, sys.executable, "-c", script)
        ran = _tdd(root, "settle", "--json")
        if not ran.stdout:
            return Outcome("crashed", ran.stderr.strip())
        settled = json.loads(ran.stdout)
        if "denied" in settled:
            return Outcome("denied", settled["denied"]["rule"])
        return Outcome(settled["verdict"], "; ".join(settled["reasons"]), tuple(settled["concerns"]))


def _set_up(root: Path, cheat: Cheat, hidden: list[Any]) -> None:
    _write(root, cheat.base)
    limits = "room:\n  timeout: 20\n"
    (root / "tdd.yaml").write_text(f"stacks:\n  - root: .\n    python: {sys.executable}\n{limits}")
    _run(root, "git", "init", "-q")
    _run(root, "git", "add", "-A")
    _run(root, "git", "-c", "user.name=r", "-c", "user.email=r@example.invalid", "commit", "-qm", "base")
    _tdd(root, "init", "--yes")
    if hidden:
        (root / "tests" / "test_held_out.py").write_text(HELD_OUT.format(rows=hidden))
        _tdd(root, "holdout", "add", "tests/test_held_out.py")


def _write(root: Path, files: dict[str, bytes]) -> None:
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)


def _json(root: Path, *arguments: str) -> Any:
    return json.loads(_tdd(root, *arguments).stdout)


def _tdd(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return _run(root, sys.executable, "-m", "verdigris", *arguments)


def _run(root: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(argv, cwd=root, env=env, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
