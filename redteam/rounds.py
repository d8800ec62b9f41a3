"""Cheats and honest work in every language, through the real command line, as one table.

`languages/LANG/*.txt` are cheats on the projects of `bases.txt`, as in `own/`; those below `honest/` are
whole rounds: a project, what is written in red, in green, and in a refactoring after it. A project is made
red and claimed once, and copied back to its place for every cheat on it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redteam.collection import Cheat, cheats_in, parts
from redteam.outcomes import Outcome, Row, line, remarks, summary
from verdigris.execution.tools.runs import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LANGUAGES = Path(__file__).resolve().parent / "languages"
_TOOL = {
    "python": ("python3", "--version"),
    "node": ("node", "--version"),
    "rust": ("cargo", "version"),
    "go": ("go", "version"),
}
"""By language, a command that works if its tools do."""
_SOURCE = {"python": "pkg", "node": "src", "rust": ".", "go": "."}
_PACKAGES = "vitest@3+typescript@5+prettier@3"
_MODULES = "node_modules"
_NOT_TRIED = "not tried"
"""Said of a round whose packages cannot be had here."""
_HELD = "held:"
"""Tests of a base that nobody sees, with `--hold-out`."""


@dataclass(frozen=True, slots=True)
class Round:
    """Honest work, in the order in which it is written."""

    name: str
    stages: dict[str, dict[str, str]]


def remove(folder: Path) -> None:
    """Removes a repository. A command that has just answered may still be removing its rooms in it."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    options = _options()
    rows: list[Row] = []
    refused: list[str] = []
    for lang in options.lang or _TOOL:
        if why := hindrance(lang):
            print(f"{lang}: {why}; nothing was tried")
            continue
        with tempfile.TemporaryDirectory(prefix="tdd-redteam-", dir=options.place) as folder:
            place = Place(Path(folder).resolve(), lang, hold_out=options.hold_out)
            if not options.honest_only:
                for row in place.cheats(
                    [c for c in cheats_in(LANGUAGES / lang) if options.only in f"{c.kind}/{c.name}"]
                ):
                    rows.append(row)
                    print(f"{lang} {line(row)}", flush=True)
            for one in (r for r in rounds_in(LANGUAGES / lang) if options.only in f"honest/{r.name}"):
                outcome = place.played(one)
                good = outcome.verdict == "accepted"
                refused += [] if good or outcome.verdict == _NOT_TRIED else [f"{lang}/{one.name}"]
                told = "; ".join(outcome.concerns) if good else outcome.why
                print(f"{lang} honest {one.name:<32} {outcome.verdict:<10} {told[:200]}", flush=True)
    if rows:
        summary(rows)
    print(f"honest rounds refused: {', '.join(refused) or 'none'}")
    return int(bool(refused) or any(row.honest.verdict != "accepted" for row in rows))


def hindrance(lang: str) -> str | None:
    """Why nothing can be tried in this language here, in the tool's own words; None if it can."""
    command = _TOOL[lang]
    if shutil.which(command[0]) is None:
        return f"`{command[0]}` is not installed"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    words = (done.stderr or done.stdout).strip().partition("\n")[0]
    return f"`{' '.join(command)}` fails: {words}" if done.returncode else None


def rounds_in(folder: Path) -> list[Round]:
    texts = sorted((folder / "honest").glob("*.txt"))
    return [
        Round(
            path.stem, {stage: dict(parts(text, "--- ")) for stage, text in parts(path.read_text(), "=== ")}
        )
        for path in texts
    ]


class Place:
    """Where one project after the other stands, always at the same path."""

    def __init__(self, folder: Path, lang: str, *, hold_out: bool = False) -> None:
        self.root = folder / "project"
        self.saved = folder / "saved"
        self.lang = lang
        self.hold_out = hold_out

    def cheats(self, cheats: Sequence[Cheat]) -> Iterator[Row]:
        """One group after the other, of those that begin alike."""
        groups: list[tuple[dict[str, bytes], bool]] = []
        for cheat in cheats:
            if (cheat.base, cheat.refactors) not in groups:
                groups.append((cheat.base, cheat.refactors))
        for base, refactors in groups:
            mine = [cheat for cheat in cheats if (cheat.base, cheat.refactors) == (base, refactors)]
            mine.sort(key=lambda cheat: any(path.startswith(_MODULES) for path in cheat.cheat))
            if why := self._begun(mine[0]):
                yield from (Row(cheat, Outcome("no red", why), Outcome("no red", why)) for cheat in mine)
                continue
            self._copy(self.root, self.saved)
            honest = self._settled(mine[0].tidy if refactors else mine[0].honest, refactors=refactors)
            yield from (
                Row(cheat, self._settled(cheat.cheat, cheat, refactors=refactors), honest) for cheat in mine
            )

    def _begun(self, cheat: Cheat) -> str:
        """Claimed, or in the refactoring after the honest fix; or why not."""
        why = self._claimed(cheat.base)
        if why or not cheat.refactors:
            return why
        self._write({path: data.decode() for path, data in cheat.honest.items()})
        settled = self._settle()
        began = self.tdd("refactor", "begin")
        return "" if began.returncode == 0 else f"{settled.verdict}: {settled.why} {began.stderr}"

    def played(self, one: Round) -> Outcome:
        stages = one.stages
        self._project(stages["base"])
        if "go.sum" in stages["base"] and (why := self._download_modules()):
            return Outcome(_NOT_TRIED, why)
        self._write(stages["red"])
        for path in stages["red"].get("gone", "").split():
            (self.root / path).unlink()
        if why := self._claim():
            return Outcome("no red", why)
        self._write(stages["green"])
        found = self._settle()
        if found.verdict != "accepted" or "refactor" not in stages:
            return found
        return self._refactored(stages["refactor"], found)

    def _refactored(self, files: Mapping[str, str], found: Outcome) -> Outcome:
        began = self.tdd("refactor", "begin")
        self._write(files)
        for path in files.get("gone", "").split():
            (self.root / path).unlink()
        ended = self.tdd("refactor", "end")
        if began.returncode or ended.returncode:
            return Outcome("refactor", f"{began.stderr} {ended.stdout} {ended.stderr}".strip())
        return found

    def _claimed(self, base: Mapping[str, bytes]) -> str:
        self._project({path: data.decode() for path, data in base.items()})
        return self._claim()

    def _project(self, files: Mapping[str, str]) -> None:
        if self.root.exists():
            remove(self.root)
        held = {path.removeprefix(_HELD): text for path, text in files.items() if path.startswith(_HELD)}
        self._write({path: text for path, text in files.items() if not path.startswith(_HELD)})
        if _MODULES not in {path.split("/")[0] for path in files} and self.lang == "node":
            self._link_packages()
        if self.lang == "python" and "tdd.yaml" not in files:
            self._write(
                {"tdd.yaml": f"stacks:\n  - root: .\n    python: {sys.executable}\nroom: {{timeout: 20}}\n"}
            )
        self._run("git", "init", "-q")
        self._run("git", "add", "-A")
        self._run("git", "-c", "user.name=r", "-c", "user.email=r@example.invalid", "commit", "-qm", "base")
        made = self.tdd("init", "--yes")
        if made.returncode:
            raise RuntimeError(made.stderr)
        if self.hold_out and held:
            self._write(held)
            self.tdd("holdout", "add", *held)
        if self.lang == "go":
            self._lend_go_cache()

    def _link_packages(self) -> None:
        """One by one: a tool keeps caches among its packages, and a run may write in the project alone."""
        (self.root / _MODULES).mkdir()
        for package in (tools_folder() / _PACKAGES / _MODULES).iterdir():
            if not package.name.startswith(".vite"):
                (self.root / _MODULES / package.name).symlink_to(package)

    def _download_modules(self) -> str:
        """As a developer does after a clone; returns why it failed. A room has no network for that."""
        done = self._run("go", "mod", "download")
        return done.stderr.strip() if done.returncode else ""

    def _lend_go_cache(self) -> None:
        """Go's own packages take longer to compile than all that is tried here."""
        version = self._run("go", "env", "GOVERSION").stdout.strip()
        cache = cache_folder(self.root / ".git" / "tdd", "go") / "cache"
        known = tools_folder() / f"go-{version}" / "cache"
        if not known.is_dir():
            self.tdd("test")
            self._copy(cache, known)
        else:
            self._copy(known, cache)

    def _claim(self) -> str:
        """Every valid red, for all source; or why there is none."""
        ran = self.tdd("test", "--json")
        tests = json.loads(ran.stdout)["tests"] if ran.stdout else []
        reds = [test["id"] for test in tests if test["red"] == "valid"]
        if not reds:
            told = [(test["id"], test["red"]) for test in tests]
            return f"not honestly red: {told or ran.stdout[-2000:]} {ran.stderr}"
        for red in reds:
            claimed = self.tdd("claim", red, _SOURCE[self.lang])
            if claimed.returncode:
                return claimed.stdout + claimed.stderr
        return ""

    def _settled(
        self, overlay: Mapping[str, bytes], cheat: Cheat | None = None, *, refactors: bool = False
    ) -> Outcome:
        self._restore()
        self._write({path: data.decode() for path, data in overlay.items()})
        if cheat is not None:
            for path in cheat.deleted:
                (self.root / path).unlink()
            if cheat.script:
                self._run(sys.executable, "-c", cheat.script)
        return self._settle("refactor", "end") if refactors else self._settle()

    def _restore(self) -> None:
        """As it was saved. Packages are moved out and in: copied ones would be newer than the claim."""
        packages, aside = self.root / _MODULES, self.root.parent / "packages"
        if packages.exists():
            packages.rename(aside)
        remove(self.root)
        self._copy(self.saved, self.root)
        if aside.exists():
            packages.unlink() if packages.is_symlink() else shutil.rmtree(packages)
            aside.rename(packages)

    def _settle(self, *verb: str) -> Outcome:
        ran = self.tdd(*(verb or ("settle",)), "--json")
        if not ran.stdout:
            return Outcome("crashed", ran.stderr.strip())
        settled: Any = json.loads(ran.stdout)
        if "denied" in settled:
            return Outcome("denied", settled["denied"]["rule"])
        return Outcome(settled["verdict"], "; ".join(settled["reasons"]), remarks(settled))

    def _write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            if path != "gone":
                (self.root / path).parent.mkdir(parents=True, exist_ok=True)
                (self.root / path).write_text(text, encoding="utf-8")

    def _copy(self, of: Path, to: Path) -> None:
        if to.exists():
            shutil.rmtree(to)
        to.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", str(of), str(to)], check=True)

    def tdd(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run(sys.executable, "-m", "verdigris", *arguments)

    def _run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(argv, cwd=self.root, env=env, capture_output=True, text=True, check=False)


def tools_folder() -> Path:
    """What the tests of the project installed by name, once for this user."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("VERDIGRIS_TEST_TOOLS") or caches / "verdigris" / "test-tools")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lang", action="append", choices=[*_TOOL], help="may be repeated")
    parser.add_argument("--only", default="", help="a part of class/name")
    parser.add_argument("--place", type=Path, help="where the projects are made")
    parser.add_argument("--hold-out", action="store_true", help="hold the bases' hidden tests out")
    parser.add_argument("--honest-only", action="store_true", help="no cheats")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
