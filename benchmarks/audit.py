"""How much faster an audit is than checking out each commit and running its suite, and whether both agree.

By hand, for each commit: a checkout and the whole suite; and, since an answer needs it, the suite with the
tests of the commit over the source of its parent. Seconds are of the processor, so that other work on the
machine does not count; the clock's are told too.

    python benchmarks/audit.py REPOSITORY --python VENV/bin/python [--commits 50] [--jobs 2] [--sample 5]

REPOSITORY is a clone with an environment in which its own suite runs; the checkouts are made in a worktree
beside it. Tests that fail on both sides by hand are left out of the comparison.

`--sample`: by hand only so many of the commits, at even distances; their cost is told for all. `--whole`: the
audit is made again without results that are carried from commit to commit, and its answers are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TEST = re.compile(r"(^|/)(tests?|testing)/|(^|/)test_[^/]*\.py$|_test\.py$|(^|/)conftest\.py$")
_LINE = re.compile(r"^(PASSED|FAILED|ERROR) (\S+::.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Cost:
    processor: float
    clock: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.processor + other.processor, self.clock + other.clock)

    def __mul__(self, factor: float) -> Cost:
        return Cost(self.processor * factor, self.clock * factor)


NOTHING = Cost(0, 0)


def measured(argv: list[str], cwd: Path, env: dict[str, str] | None = None) -> tuple[str, Cost]:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        argv, cwd=cwd, env=env, capture_output=True, text=True, check=False, errors="replace"
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, Cost(used, time.monotonic() - began)


def git(root: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, check=True
    ).stdout.strip()


class ByHand:
    def __init__(self, repository: Path, place: Path, python: Path) -> None:
        self.place = place
        self.python = python
        git(repository, "worktree", "add", "--quiet", "--detach", str(place), "HEAD")
        made = git(repository, "ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--", "*.py")
        for path in filter(None, made.split("\0")):  # what a build made in place, such as a version
            if not path.startswith((".venv/", "build/")):
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(repository / path, place / path)

    def suite(self) -> tuple[frozenset[str], Cost]:
        """Which tests pass in what is checked out."""
        env = {**os.environ, "PYTHONPATH": f"{self.place / 'src'}:{self.place}"}
        argv = [
            str(self.python),
            "-m",
            "pytest",
            "-q",
            "-rA",
            "-p",
            "no:cacheprovider",
            "--color=no",
            "--tb=no",
        ]
        out, cost = measured(argv, self.place, env)
        return frozenset(name for word, name in _LINE.findall(out) if word == "PASSED"), cost

    def judge(self, commit: str) -> tuple[frozenset[str], Cost, Cost]:
        """The tests that turned green; the cost of the suite after, and of the one that shows the reds."""
        _, moved = measured(["git", "checkout", "--quiet", "--force", commit], self.place)
        after, suite = self.suite()
        changed = git(self.place, "diff", "--name-only", f"{commit}~", commit).splitlines()
        source = [path for path in changed if not _TEST.search(path)]
        if not any(_TEST.search(path) for path in changed) or not source:
            return frozenset(), moved + suite, NOTHING
        for path in source:
            if subprocess.run(
                ["git", "checkout", f"{commit}~", "--", path],
                cwd=self.place,
                capture_output=True,
                check=False,
            ).returncode:
                (self.place / path).unlink(missing_ok=True)
        before, more = self.suite()
        git(self.place, "reset", "--hard", "--quiet")
        return after - before, moved + suite, more


def compare_with_whole_runs(units: list[dict[str, Any]], out: str, cost: Cost) -> None:
    """Outcomes, and the reds that they rest on."""
    other = {unit["commit"]: unit for unit in json.loads(out)["units"]}
    differing = [unit["commit"][:10] for unit in units if answer_of(unit) != answer_of(other[unit["commit"]])]
    print(f"by whole runs:      {cost.processor:7.1f} s of the processor, {cost.clock:7.1f} s by the clock")
    print(f"answers that differ from those of whole runs: {differing or 'none'}")


def answer_of(unit: dict[str, Any]) -> tuple[str, list[str]]:
    return unit["outcome"], sorted(red["id"] for red in unit["reds"] if red.get("valid", True))


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("repository", type=Path)
    asked.add_argument("--python", type=Path, required=True)
    asked.add_argument("--commits", type=int, default=50)
    asked.add_argument("--jobs", type=int, default=1)
    asked.add_argument("--sample", type=int, default=0)
    asked.add_argument("--whole", action="store_true")
    said = asked.parse_args()
    root, text = said.repository.resolve(), f"HEAD~{said.commits}..HEAD"
    with tempfile.TemporaryDirectory() as folder:
        env = {
            **os.environ,
            "XDG_CACHE_HOME": folder,
            "VIRTUAL_ENV": str(said.python.absolute().parent.parent),
        }
        argv = [sys.executable, "-m", "verdigris", "audit", text, "--json", "--jobs", str(said.jobs)]
        out, ours = measured(argv, root, env)
        units = json.loads(out)["units"]
        if said.whole:
            compare_with_whole_runs(units, *measured([*argv, "--whole"], root, env))
        step = max(1, len(units) // said.sample) if said.sample else 1
        hand = ByHand(root, Path(folder, "checkout"), said.python.absolute())
        once = twice = NOTHING
        differing = []
        try:
            for unit in units[::step]:
                turned, suite, more = hand.judge(unit["commit"])
                once, twice = once + suite, twice + suite + more
                reds = {red["id"] for red in unit["reds"] if red.get("valid", True)}
                if (unit["outcome"] == "test-driven" and not reds & turned) or (turned and not unit["reds"]):
                    differing.append((unit["commit"][:10], unit["outcome"], sorted(turned ^ reds)[:3]))
        finally:
            git(root, "worktree", "remove", "--force", str(hand.place))
    scale = len(units) / len(units[::step])
    once, twice = once * scale, twice * scale
    print(f"{len(units)} commits: {json.loads(out)['summary']}")
    print(f"audit:              {ours.processor:7.1f} s of the processor, {ours.clock:7.1f} s by the clock")
    for name, cost in (("suite a commit", once), ("and its reds", twice)):
        ratios = f"{cost.processor / ours.processor:.1f} x and {cost.clock / ours.clock:.1f} x the audit's"
        print(f"{name:<19} {cost.processor:7.1f} s, {cost.clock:7.1f} s: {ratios}")
    print(f"answers that differ: {differing or 'none'}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
