"""How many honest commits of real projects the laws accept, and why not the rest.

For each commit that changed tests and source together: its parent is checked out, `tdd init --yes`, the tests
of the commit are laid in, reds are found, stubbed and claimed as the messages say, the rest of the commit is
laid in, and `tdd settle` judges. A commit whose tests were green before is a refactor here, counted apart.

    python benchmarks/histories.py REPOSITORY --python VENV/bin/python [--commits 10] [--only COMMIT …]

`--record FILE` adds a JSON line for each commit: the verdict, its reasons and concerns, and what is owed.
Where the only reasons are places that no test runs (`unasked`), `tdd settle --owe` says what the rest would
have been.
REPOSITORY is a git folder, the interpreter one in which its own suite runs. Releases become a history when
each is committed over the one before. The checkout stands in WORK, where an editable install may point to.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_TEST = re.compile(
    r"(^|/)(tests?|__tests__|testing|python_testcases)/|(^|/)(test_[^/]*|conftest)\.py$|_test\.(py|go)$"
    r"|\.(test|spec)\.[cm]?[jt]sx?$"
)
_RUNNABLE = re.compile(r"(^|/)test_[^/]*\.py$|_test\.(py|go)$|\.(test|spec)\.[cm]?[jt]sx?$")
_CODE = re.compile(r"\.(py|go|[cm]?[jt]sx?)$")
_CONFIGURATION = frozenset({"pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", ".coveragerc"})
"""What says how the tests run, and so comes with them."""
_PATIENCE = 1200
_REASON = "the tests of this commit, as upstream has them"
_ACCEPTED = "accepted"
_LEFT_OUT = "left out"
_REFACTOR = "refactor"
_UNASKED = "unasked"


@dataclass(frozen=True, slots=True)
class Outcome:
    commit: str
    result: str
    """`accepted`, `left out`, or the word of the refusal."""
    way: str = ""
    """What was needed besides a claim: stub, revise, refactor."""
    detail: str = ""
    reasons: list[str] = field(default_factory=list)
    concerns: list[str] = field(default_factory=list)
    owed: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    """Of the settlement, or of the refactor's end."""


class History:
    def __init__(self, repository: Path, work: Path, python: Path, suite: Sequence[str] = ()) -> None:
        self.work, self.suite = work, list(suite)
        self.python = python
        self.env = {
            **os.environ,
            "PATH": f"{python.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "VIRTUAL_ENV": str(python.parent.parent),
        }
        if not work.exists():
            subprocess.run(["git", "clone", "-q", "--no-checkout", repository, work], check=True)

    def commits(self, count: int) -> list[str]:
        """The newest first, without merges."""
        found = []
        for commit in self.git("rev-list", "--no-merges", "origin/HEAD").split():
            changed = self.changed(commit)
            if any(_TEST.search(path) for path in changed) and any(_is_source(path) for path in changed):
                found.append(commit)
            if len(found) == count:
                break
        return found

    def attempt(self, commit: str, *, refactors: bool = True) -> Outcome:
        changed = self.changed(commit)
        tests = [path for path in changed if _TEST.search(path) or path in _CONFIGURATION]
        rest = [path for path in changed if path not in tests]
        self.check_out(f"{commit}^")
        begun = self.tdd("init", "--yes")
        if begun.get("code"):
            return Outcome(commit, "init", detail=begun["text"])
        self.take(commit, tests)
        outcome = self.turn(commit, tests, rest)
        if outcome.result == "no red" and refactors:
            self.check_out(f"{commit}^")
            self.tdd("init", "--yes")
            outcome = self.refactor(commit, tests, rest)
        if outcome.result not in {_ACCEPTED, _LEFT_OUT, _UNASKED, "no red"} and not self.is_green(
            commit, tests
        ):
            return Outcome(commit, _LEFT_OUT, outcome.way, f"its own suite fails here; {outcome.result}")
        return outcome

    def turn(self, commit: str, tests: list[str], rest: list[str]) -> Outcome:
        here = [path for path in tests if _CODE.search(path) and (self.work / path).exists()]
        way = []
        told = self.tdd("test", *_runnable(here))
        for path in sorted({each.split("::")[0] for each in _reds(told, *_UNDECLARED)}):
            if self.tdd("stub", path)["code"] == 0 and "stub" not in way:
                way.append("stub")
        if way:
            told = self.tdd("test", *_runnable(here))
        valid = _reds(told, "valid")
        if not valid:
            wrong = sorted({test["red"] for test in told.get("tests", ()) if test.get("red") not in _QUIET})
            detail = json.dumps(told.get("errors") or told.get("tests", [told])[:3])
            return Outcome(commit, f"red: {', '.join(wrong)}" if wrong else "no red", " ".join(way), detail)
        claimed = self.tdd("claim", *valid)
        if claimed["code"] and _rule(claimed) == "weakened":
            way.append("revise")
            self.tdd("revise", *[path for path in tests if _CODE.search(path)], "--why", _REASON)
            told = self.tdd("test", *_runnable(here))
            claimed = self.tdd("claim", *_reds(told, "valid"))
        if claimed["code"]:
            return Outcome(commit, f"claim: {_rule(claimed)}", " ".join(way), claimed["text"])
        self.take(commit, rest)
        settled = self.tdd("settle")
        outcome = _judged(commit, " ".join(way), settled)
        if outcome.result != _UNASKED:
            return outcome
        owing = self.tdd("settle", "--owe")
        after = str(owing.get("verdict") or _rule(owing))
        return replace(outcome, way=f"{outcome.way} then {after}".strip(), owed=owing.get("owed", []))

    def refactor(self, commit: str, tests: list[str], rest: list[str]) -> Outcome:
        begun = self.tdd("refactor", "begin")
        if begun["code"]:
            return Outcome(commit, f"refactor begin: {_rule(begun)}", _REFACTOR, begun["text"])
        self.take(commit, tests + rest)
        ended = self.tdd("refactor", "end")
        if ended.get("verdict") == "weakened":
            self.tdd("revise", *[path for path in tests if _CODE.search(path)], "--why", _REASON)
            ended = self.tdd("refactor", "end")
        outcome = _judged(commit, _REFACTOR, ended)
        return outcome if not ended["code"] else replace(outcome, result=f"refactor: {outcome.result}")

    def is_green(self, commit: str, tests: list[str]) -> bool:
        """Whether the commit's own tests pass under the plain runner."""
        self.check_out(commit)
        here = [path for path in tests if _CODE.search(path) and (self.work / path).exists()]
        pytest = [str(self.python), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *_runnable(here)]
        return self._run(self.suite or pytest).returncode == 0

    def changed(self, commit: str) -> list[str]:
        return self.git("diff", "--name-only", "--no-renames", "-z", f"{commit}^", commit).split("\0")[:-1]

    def take(self, commit: str, paths: list[str]) -> None:
        for path in paths:
            there = self.git("ls-tree", "-r", commit, "--", path)
            if there:
                self.git("checkout", "-q", commit, "--", path)
            else:
                (self.work / path).unlink(missing_ok=True)

    def check_out(self, commit: str) -> None:
        shutil.rmtree(self.work / ".git" / "tdd", ignore_errors=True)
        self.git("checkout", "-qf", "--detach", commit)
        self.git("reset", "-q", "--hard")
        self.git("clean", "-fdq")

    def tdd(self, *words: str) -> dict[str, Any]:
        asks = [] if words[0] in {"init", "revise"} else ["--json"]
        began = time.monotonic()
        done = self._run([sys.executable, "-m", "verdigris", *words, *asks])
        text = done.stdout + done.stderr
        try:
            told = json.loads(done.stdout)
        except ValueError:
            told = {}
        return {**told, "code": done.returncode, "text": text, "seconds": time.monotonic() - began}

    def git(self, *words: str) -> str:
        return self._run(["git", *words]).stdout

    def _run(self, argv: list[str]) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                argv,
                cwd=self.work,
                env=self.env,
                capture_output=True,
                text=True,
                timeout=_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(argv, 124, "", f"not done after {_PATIENCE} s")


_UNDECLARED = ("import", "missing-name", "collection")
_QUIET = {None, "", "passing", "skipped"}


def _judged(commit: str, way: str, told: dict[str, Any]) -> Outcome:
    reasons, concerns = list(told.get("reasons", ())), list(told.get("concerns", ()))
    result = str(told.get("verdict") or _rule(told))
    if reasons and all(reason.startswith(f"{_UNASKED}: ") for reason in reasons):
        result = _UNASKED
    detail = "" if result == _ACCEPTED else told["text"]
    return Outcome(
        commit, result, way, detail, reasons, concerns, list(told.get("owed", ())), round(told["seconds"], 2)
    )


def _reds(told: dict[str, Any], *kinds: str) -> list[str]:
    return [test["id"] for test in told.get("tests", ()) if test.get("red") in kinds]


def _rule(told: dict[str, Any]) -> str:
    return str(told.get("denied", {}).get("rule") or told["text"][:200])


def _runnable(paths: list[str]) -> list[str]:
    """A conftest or a helper holds no tests of its own: what changed there shows in the whole suite."""
    named = [path for path in paths if _RUNNABLE.search(path)]
    return named if len(named) == len(paths) else []


def _is_source(path: str) -> bool:
    is_code = _CODE.search(path) is not None and not path.endswith(".d.ts")
    return is_code and not _TEST.search(path) and not path.startswith(("docs/", "setup.py"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", type=Path)
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--commits", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--suite", default="", help="runs the suite, where that is not pytest: go test ./...")
    parser.add_argument("--turns", action="store_true", help="no commit is tried as a refactor")
    parser.add_argument("--record", type=Path, help="a file to which each outcome is added as a JSON line")
    parser.add_argument("--detail", type=int, default=1500, help="characters shown of a refusal")
    asked = parser.parse_args()
    places = (asked.repository.absolute(), asked.work.absolute(), asked.python.absolute())
    history = History(*places, shlex.split(asked.suite))
    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    only = [history.git("rev-parse", commit).strip() for commit in asked.only]
    for commit in only or history.commits(asked.commits):
        outcome = history.attempt(commit, refactors=not asked.turns)
        counts[outcome.way != _REFACTOR][outcome.result] += 1
        if asked.record:
            with asked.record.open("a") as lines:
                lines.write(json.dumps({"package": asked.work.name, **asdict(outcome)}) + "\n")
        print(outcome.commit[:10], outcome.result, outcome.way, flush=True)
        if outcome.result != _ACCEPTED:
            print("   ", outcome.detail[: asked.detail].replace("\n", "\n    "), flush=True)
    for red, found in counts.items():
        tried = sum(found.values()) - found[_LEFT_OUT]
        kind = "with a red before" if red else "without one, as refactorings"
        print(f"{kind}: {found[_ACCEPTED]} of {tried} accepted; {dict(found)}")


if __name__ == "__main__":
    main()
