"""A suite that does not run is said first, by every command, with what would cure it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.cli import Cli
from support.gitrepo import copied, make_repo
from support.tools import why_not
from support.turns import CONFIG, QUICK

LINE = 'pythonpath = ["src"]'
TABLE = "[tool.pytest.ini_options]"
PROJECT = '[project]\nname = "shop"\nversion = "1"\n'
FILES = {
    "tdd.yaml": QUICK + CONFIG,
    "pyproject.toml": PROJECT,
    "src/shop/__init__.py": "",
    "src/shop/tax.py": "def add(a, b):\n    return a + b\n",
    "tests/test_tax.py": "from shop.tax import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "tests/test_more.py": "import shop.tax\n\n\ndef test_more():\n    assert shop.tax.add(2, 2) == 4\n",
}


def project(root: Path, **changed: str) -> Cli:
    files = {**FILES, **changed}

    def make(place: Path) -> None:
        repo = make_repo(place)
        for path, text in files.items():
            repo.write(path, text)
        repo.commit()

    return Cli(copied(root, make, sorted(files.items())))


@pytest.fixture
def uninstalled(tmp_path: Path) -> Cli:
    """A package in `src/` that the tests' interpreter cannot import."""
    return project(tmp_path / "repo")


def test_init_says_that_the_package_is_not_importable_and_how_it_becomes_so(uninstalled: Cli) -> None:
    said = uninstalled.ok("init", "--yes").out
    baseline, *_, following = [line for line in said.splitlines() if line.startswith(("baseline", "next"))]
    assert "no test runs: 2 files do not load" in baseline
    assert "shop in src/ cannot be imported" in baseline
    assert f"`{LINE}` below `{TABLE}` in pyproject.toml" in following


def test_every_command_names_the_same_cure(uninstalled: Cli) -> None:
    uninstalled.ok("init", "--yes")
    cure = uninstalled.ok("status", "--json").json["next"]
    assert LINE in cure
    tested = uninstalled.tdd("test")
    assert tested.out.splitlines()[-1] == f"next: {cure}"
    assert uninstalled.tdd("test", "--json").json["next"] == cure
    assert f"next: {cure}" in uninstalled.tdd("refactor", "begin").err
    assert cure in uninstalled.tdd("doctor").out
    assert uninstalled.ok("status").out.splitlines()[-1] == f"next: {cure}"


def test_no_stub_is_offered_for_a_package_that_is_there(uninstalled: Cli) -> None:
    uninstalled.ok("init", "--yes")
    tested = uninstalled.tdd("test")
    assert "tdd stub" not in tested.out
    stubbed = uninstalled.tdd("stub", "tests/test_tax.py")
    assert LINE in stubbed.out + stubbed.err
    assert uninstalled.repo.git("status", "--short") == ""


def test_the_cure_cures(uninstalled: Cli) -> None:
    uninstalled.ok("init", "--yes")
    uninstalled.repo.write("pyproject.toml", f"{PROJECT}\n{TABLE}\n{LINE}\n")
    uninstalled.ok("test")
    assert "write one failing test" in uninstalled.ok("status", "--json").json["next"]
    assert "2 tests, all pass" in uninstalled.ok("doctor").out


def test_a_line_that_is_there_already_is_extended(tmp_path: Path) -> None:
    cli = project(tmp_path / "repo", **{"pytest.ini": "[pytest]\npythonpath = lib\n"})
    said = cli.ok("init", "--yes").out
    assert "`pythonpath = lib src` below `[pytest]` in pytest.ini" in said


def test_a_runner_that_is_missing_is_the_next_move(tmp_path: Path) -> None:
    """The environment of the project is named, not the interpreter that is first on PATH."""
    cli = project(tmp_path / "repo", **{"tdd.yaml": ""})
    (cli.root / "tdd.yaml").unlink()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", ".venv"], cwd=cli.root, check=True)
    said = cli.ok("init", "--yes").out
    cure = cli.ok("status", "--json").json["next"]
    assert cure in said
    assert "pytest" in cure
    assert ".venv/bin/python" in cure
    assert "write one failing test" not in said
    assert cli.tdd("test").out.splitlines()[-1] == f"next: {cure}"


def test_without_an_environment_one_is_proposed(tmp_path: Path) -> None:
    cli = project(tmp_path / "repo")
    (cli.root / "tdd.yaml").unlink()
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    path = f"{bare}/bin:{os.environ['PATH']}"
    cli.tdd("init", "--yes", env={"PATH": path})
    cure = cli.tdd("status", "--json", env={"PATH": path}).json["next"]
    assert cure.startswith("`python3 -m venv .venv && .venv/bin/python -m pip install -e . pytest`")
    assert cure in cli.tdd("doctor", env={"PATH": path}).out


def test_some_files_that_do_not_load_are_said_and_block_nothing(tmp_path: Path) -> None:
    cli = project(
        tmp_path / "repo",
        **{
            "pyproject.toml": f"{PROJECT}\n{TABLE}\n{LINE}\n",
            "tests/test_old.py": "import gone_for_good\n\n\ndef test_old():\n    assert gone_for_good\n",
        },
    )
    said = cli.ok("init", "--yes").out
    assert "baseline: 2 tests, all pass; 1 file does not load: tests/test_old.py" in said
    begun = cli.ok("refactor", "begin").out
    assert "2 tests passed; 1 file does not load: tests/test_old.py" in begun


def test_a_declared_dependency_that_is_not_installed(tmp_path: Path) -> None:
    cli = project(
        tmp_path / "repo",
        **{
            "pyproject.toml": f'{PROJECT}dependencies = ["not-a-package-of-anybody>=1"]\n\n{TABLE}\n{LINE}\n',
            "src/shop/tax.py": "import not_a_package_of_anybody\n\n\ndef add(a, b):\n    return a + b\n",
        },
    )
    said = cli.ok("init", "--yes").out
    assert "not_a_package_of_anybody is a dependency that is not installed" in said
    assert "-m pip install -e ." in said
    assert "tdd stub" not in cli.tdd("test").out


def test_a_baseline_is_taken_once_for_a_tree(uninstalled: Cli) -> None:
    uninstalled.repo.write("pyproject.toml", f"{PROJECT}\n{TABLE}\n{LINE}\n")
    uninstalled.repo.commit()
    uninstalled.ok("init", "--yes")
    events = uninstalled.ok("log", "--json").json["events"]
    assert "2 tests, all pass" in uninstalled.ok("doctor").out
    assert uninstalled.ok("log", "--json").json["events"] == events


GO = {
    "go.mod": "module example.org/a\n\ngo 1.21\n\nrequire github.com/google/uuid v1.6.0\n",
    "go.sum": """\
github.com/google/uuid v1.6.0 h1:NIvaJDMOsjHA8n1jAhLSgzrAzy1Hgr+hNrb57e+94F0=
github.com/google/uuid v1.6.0/go.mod h1:TIyPZe4MgqvfeYDBFedMoGGpEw/LqOeaOT+nhxU+yHo=
""",
    "a.go": """\
package a

import "github.com/google/uuid"

func A() string { return uuid.NewString() }
""",
    "a_test.go": """\
package a

import "testing"

func TestA(t *testing.T) {
	if A() == "" {
		t.Fatal()
	}
}
""",
}


def other_project(root: Path, files: dict[str, str]) -> Cli:
    cli = Cli(make_repo(root))
    for path, text in files.items():
        cli.repo.write(path, text)
    cli.repo.commit()
    return cli


def test_missing_go_modules_are_said_with_the_download(tmp_path: Path) -> None:
    if why := why_not("go", "version"):
        pytest.skip(why)
    cli = other_project(tmp_path / "repo", GO)
    empty = {"GOMODCACHE": str(tmp_path / "modules"), "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    cure = "next: `go mod download`, then `tdd test`"
    assert cli.tdd("init", "--yes", env=empty).out.splitlines()[-1] == cure
    assert cli.tdd("status", env=empty).out.splitlines()[-1] == cure
    tested = cli.tdd("test", env=empty).out
    assert tested.splitlines()[-1] == cure
    assert "tdd stub" not in tested


def test_packages_of_node_that_are_not_installed(tmp_path: Path) -> None:
    files = {
        "package.json": '{"name": "x", "type": "module", "devDependencies": {"vitest": "^2.0.0"}}\n',
        "package-lock.json": '{"lockfileVersion": 3}\n',
        "src/a.test.js": 'import { test } from "vitest"\n\ntest("a", () => {})\n',
    }
    cli = other_project(tmp_path / "repo", files)
    cure = "`npm ci`, then `tdd test`"
    assert cli.ok("init", "--yes").out.splitlines()[-1] == f"next: {cure}"
    assert cli.ok("status", "--json").json["next"] == cure
