"""`make redteam`: every cheat and every honest fix, through the real command line, as one table.

Each project is honestly red. Its valid reds are claimed, the overlay is applied around the gate, and
`tdd settle` is asked. A cheat must not be accepted; an honest fix must be.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redteam.collection import Cheat, cheats_in
from redteam.outcomes import Outcome, Row, line, remarks, summary

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


def main() -> int:
    options = _options()
    rows: list[Row] = []
    for folder in options.cheats or [folder for folder in (SHARED, HERE / "own") if folder.exists()]:
        chosen = [c for c in cheats_in(folder) if options.only in c.name]
        with ThreadPoolExecutor(options.jobs) as pool:
            for row in pool.map(lambda cheat: _row(cheat, hold_out=options.hold_out), chosen):
                rows.append(row)
                print(line(row), flush=True)
    if not rows:
        print("no cheats found", file=sys.stderr)
        return 2
    return summary(rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cheats", type=Path, action="append", help="a folder of cheats; may be repeated")
    parser.add_argument("--hold-out", action="store_true", help="also hold out tests made of hidden.json")
    parser.add_argument("--only", default="", help="a part of the names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


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
        return Outcome(settled["verdict"], "; ".join(settled["reasons"]), remarks(settled))


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
