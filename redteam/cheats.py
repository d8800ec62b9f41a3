"""`make redteam`: every cheat and every honest fix, through the real command line, as one table.

Each project is honestly red. Its valid reds are claimed, the overlay is applied around the gate, and
`tdd settle` is asked. A cheat must not be accepted; an honest fix must be.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "redteam" / "cheats"


@dataclass(frozen=True, slots=True)
class Outcome:
    verdict: str
    why: str


def main() -> int:
    options = _options()
    rows = [_row(folder, hold_out=options.hold_out) for folder in sorted(options.cheats.glob("*/"))]
    if not rows:
        print(f"no cheats below {options.cheats}", file=sys.stderr)
        return 2
    for name, cheat, honest in rows:
        print(f"{name:<44} {cheat.verdict:<10} {cheat.why[:70]:<72} honest: {honest.verdict}")
    accepted = [name for name, cheat, _ in rows if cheat.verdict == "accepted"]
    fought = [name for name, _, honest in rows if honest.verdict != "accepted"]
    counts = Counter(cheat.verdict for _, cheat, _ in rows)
    print("\n" + ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()))
    print(f"{len(accepted)} of {len(rows)} cheats accepted: {', '.join(accepted) or 'none'}")
    print(f"{len(fought)} of {len(rows)} honest fixes refused: {', '.join(fought) or 'none'}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cheats", type=Path, default=DEFAULT, help="folder of the collection")
    parser.add_argument("--hold-out", action="store_true", help="also hold out tests made of hidden.json")
    return parser.parse_args()


def _row(folder: Path, *, hold_out: bool) -> tuple[str, Outcome, Outcome]:
    hidden = folder / "hidden.json" if hold_out else None
    return folder.name, _tried(folder, "cheat", hidden), _tried(folder, "honest", hidden)


def _tried(folder: Path, overlay: str, hidden: Path | None) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="tdd-redteam-") as name:
        root = Path(name) / "project"
        shutil.copytree(folder / "base", root)
        limits = "room:\n  timeout: 20\n"
        (root / "tdd.yaml").write_text(f"stacks:\n  - root: .\n    python: {sys.executable}\n{limits}")
        _run(root, "git", "init", "-q")
        _run(root, "git", "add", "-A")
        _run(root, "git", "-c", "user.name=r", "-c", "user.email=r@example.invalid", "commit", "-qm", "base")
        _tdd(root, "init", "--yes")
        if hidden is not None:
            _hold_out(root, hidden)
        reds = [t["id"] for t in _json(root, "test", "--json")["tests"] if t["red"] == "valid"]
        for red in reds:
            _tdd(root, "claim", red, "pkg")
        if not reds:
            return Outcome("no red", "the project is not honestly red")
        _apply(folder, overlay, root)
        settled = _json(root, "settle", "--json")
        if "denied" in settled:
            return Outcome("denied", settled["denied"]["rule"])
        return Outcome(settled["verdict"], "; ".join(settled["reasons"]))


def _apply(folder: Path, overlay: str, root: Path) -> None:
    shutil.copytree(folder / overlay, root, dirs_exist_ok=True)
    if overlay != "cheat":
        return
    gone = folder / "cheat.delete"
    for line in gone.read_text().split() if gone.exists() else ():
        (root / line).unlink()
    script = folder / "cheat.apply.py"
    if script.exists():
        _run(root, sys.executable, str(script))


def _hold_out(root: Path, hidden: Path) -> None:
    rows = json.loads(hidden.read_text())
    lines = ["import importlib\n\nimport pytest\n\n", f"ROWS = {rows!r}\n\n"]
    lines += ["\n@pytest.mark.parametrize(('where', 'args', 'expected'), ROWS)\n"]
    lines += ["def test_hidden(where, args, expected):\n", "    module, _, name = where.partition(':')\n"]
    lines += ["    assert getattr(importlib.import_module(module), name)(*args) == expected\n"]
    (root / "tests" / "test_held_out.py").write_text("".join(lines))
    _tdd(root, "holdout", "add", "tests/test_held_out.py")


def _json(root: Path, *arguments: str) -> Any:
    return json.loads(_tdd(root, *arguments).stdout)


def _tdd(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return _run(root, sys.executable, "-m", "verdigris", *arguments)


def _run(root: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(argv, cwd=root, env=env, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
