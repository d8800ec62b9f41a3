"""Real refactorings of published packages, carried out by rope, and what `tdd refactor end` says of them.

Each is mechanical: a rename, a move, an extraction or an inlining. It counts if the package's own suite
passes afterwards under plain pytest, as it did before. Packages are installed by name, once for this user.

An extraction or an inlining counts only if the suite ran every line that it takes away or rewrites: of other
lines no test can prove anything. That is measured by coverage before the refactoring, in processes that
tests start too; our verdict has no say in it. Renames and moves always count.
"""

from __future__ import annotations

import argparse
import difflib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from redteam.rounds import tools_folder

_PACKAGES = {
    "inflection==0.5.1": "function local extract-variable parameter",
    "cachetools==8.0.0": "function class module move inline-variable",
    "toolz==1.2.0": "function move local extract-function inline-variable",
    "parse==1.22.4": "class method extract-function inline-function parameter",
    "xmltodict==1.0.4": "function inline-variable extract-variable parameter local",
    "semver==3.1.1": "function move extract-variable class local",
    "tabulate==0.10.0": "function local extract-function extract-variable inline-variable",
    "sqlparse==0.6.1": "class method function module move inline-variable parameter",
    "boltons==26.2.0": "function class move method local extract-function",
}
"""By package: the refactorings that are tried, one of each kind."""
_NEEDED = ("rope==1.15.0", "pytest<10", "pytest-cov", "setuptools", "wheel", "freezegun")
_MOST_TRIES = 12
"""Candidates of a kind; rope or the suite refuses some."""


def main() -> int:
    options = _options()
    python = _interpreter()
    refused: list[str] = []
    tried = 0
    for wanted, kinds in _PACKAGES.items():
        name = wanted.partition("==")[0]
        if options.package and name not in options.package:
            continue
        mine = [kind for kind in kinds.split() if not options.kind or kind in options.kind]
        with tempfile.TemporaryDirectory(prefix="tdd-refactorings-", dir=options.place) as folder:
            place = Place(Path(folder).resolve(), python, options.seed)
            if why := place.begun(wanted):
                print(f"{name}: nothing was tried: {why}")
                continue
            for kind in mine:
                outcome = place.refactored(name, kind)
                if outcome is None:
                    print(f"{name} {kind}: no such refactoring leaves the suite green", flush=True)
                    continue
                tried += 1
                verdict, what, told, seconds = outcome
                refused += [] if verdict == "accepted" else [f"{name} {what}"]
                print(f"{name:<11} {verdict:<10} {seconds:>4.0f} s  {what}{told}", flush=True)
    print(f"{tried - len(refused)} of {tried} refactorings accepted")
    return int(bool(refused))


class Place:
    """Where one package stands, in an open refactor; it is put back before each refactoring."""

    def __init__(self, folder: Path, python: Path, seed: str) -> None:
        self.root, self.saved = folder / "project", folder / "saved"
        self.python, self.seed = python, seed
        self.passes = ""
        self.idle: dict[str, frozenset[int]] = {}
        """By path: the lines that no test ran before any refactoring."""

    def begun(self, wanted: str) -> str:
        """Opens a refactor on the package; returns why it cannot."""
        shutil.unpack_archive(_archive(self.python, wanted), self.saved)
        next(self.saved.iterdir()).rename(self.root)
        shutil.rmtree(self.saved)
        settings = (
            f"stacks:\n  - root: .\n    language: python\n    runner: pytest\n    python: {self.python}\n"
        )
        (self.root / "tdd.yaml").write_text(settings, "utf-8")
        (self.root / ".gitignore").write_text("*.egg-info/\n__pycache__/\n.coverage\n.mypy_cache\n", "utf-8")
        installed = self._run(str(self.python), "-m", "pip", "install", "-q", "--no-deps", "-e", ".")
        if installed.returncode:
            return installed.stderr.strip()[-500:]
        self._run("git", "init", "-q")
        self._run("git", "add", "-A")
        self._run("git", "-c", "user.name=r", "-c", "user.email=r@example.invalid", "commit", "-qm", "base")
        self.passes = self._suite()
        self.idle = self._measured()
        for verb in (("init", "--yes"), ("refactor", "begin")):
            done = self._tdd(*verb)
            if done.returncode:
                return f"{done.stdout} {done.stderr}".strip()
        self._copy(self.root, self.saved)
        return ""

    def refactored(self, name: str, kind: str) -> tuple[str, str, str, float] | None:
        """Verdict, refactoring, reasons, and seconds of the first refactoring that leaves the suite green."""
        skip = 0
        for _ in range(_MOST_TRIES):
            self._copy(self.saved, self.root)
            moves = Path(__file__).with_name("rope_moves.py")
            done = self._run(
                str(self.python), str(moves), str(self.root), kind, f"{name} {kind} {self.seed}", str(skip)
            )
            made: Any = json.loads((done.stdout.splitlines() or ["null"])[-1])
            if made is None:
                if done.returncode:
                    print(done.stderr[-500:])
                return None
            skip = made["tried"]
            if kind.startswith(("extract", "inline")) and self._rewrites_idle_lines():
                continue
            if self._suite() == self.passes:
                return self._judged(f"{made['what']} ({made['files']} files)")
        return None

    def _judged(self, what: str) -> tuple[str, str, str, float]:
        start = time.monotonic()
        ended = self._tdd("refactor", "end", "--json")
        took = time.monotonic() - start
        if not ended.stdout:
            return "crashed", what, f"\n    {ended.stderr.strip()}", took
        judged: Any = json.loads(ended.stdout)
        if "denied" in judged:
            return "denied", what, f"\n    {judged['denied']}", took
        told = "".join(f"\n    {reason}" for reason in judged["reasons"])
        return judged["verdict"], what, told, took

    def _suite(self) -> str:
        """How many tests passed under plain pytest."""
        done = self._run(str(self.python), "-m", "pytest", "-q", "-p", "no:cacheprovider")
        last = (done.stdout.strip().splitlines() or [""])[-1]
        return f"{done.returncode} {last.rpartition(' in ')[0]}"

    def _measured(self) -> dict[str, frozenset[int]]:
        settings, told = (self.root.with_name(name) for name in ("coverage.ini", "coverage.json"))
        data = self.root.with_name("coverage.data")
        settings.write_text(
            f"[run]\npatch = subprocess\nrelative_files = true\ndata_file = {data}\n", "utf-8"
        )
        asked = ("--cov=.", f"--cov-config={settings}", f"--cov-report=json:{told}")
        self._run(str(self.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *asked)
        files: dict[str, Any] = json.loads(told.read_text("utf-8"))["files"]
        return {path: frozenset(file["missing_lines"]) for path, file in files.items()}

    def _rewrites_idle_lines(self) -> bool:
        for path, idle in self.idle.items():
            old, new = ((at / path).read_text("utf-8").splitlines() for at in (self.saved, self.root))
            steps = (
                difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if old != new else ()
            )
            if any(kind != "equal" and idle & {*range(i + 1, j + 1)} for kind, i, j, _, _ in steps):
                return True
        return False

    def _copy(self, of: Path, to: Path) -> None:
        # A resident of the verdict before may still remove its rooms there.
        subprocess.run(["rm", "-rf", str(to)], check=True)
        subprocess.run(["cp", "-a", str(of), str(to)], check=True)

    def _tdd(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run(sys.executable, "-m", "verdigris", *arguments)

    def _run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(argv, cwd=self.root, capture_output=True, text=True, check=False)


def _interpreter() -> Path:
    """The interpreter that has rope and pytest; made at first use."""
    folder = tools_folder() / "refactorings"
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *_NEEDED], check=True)
    return python


def _archive(python: Path, wanted: str) -> Path:
    folder = tools_folder() / "refactorings" / "sdists" / wanted
    if not folder.exists():
        load = [
            str(python),
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--no-binary",
            wanted.partition("==")[0],
            "-d",
            str(folder),
        ]
        subprocess.run([*load, wanted], check=True)
    return next(folder.iterdir())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", action="append", help="may be repeated")
    parser.add_argument("--kind", action="append", help="may be repeated")
    parser.add_argument("--seed", default="1", help="another seed draws other refactorings")
    parser.add_argument("--place", type=Path, help="where the projects are made")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
