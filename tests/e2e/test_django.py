"""Whole turns in Django projects, as `tdd init` finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.cli import Cli
from support.django_projects import GREEN, MODELS, RED, TESTS, write_project
from support.gitrepo import make_repo
from support.turns import QUICK

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TEST = "shop/tests.py::ItemTest::test_gross"
PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""}
WITH_PYTEST = {
    "requirements.txt": "django\npytest-django\n",
    "pytest.ini": "[pytest]\nDJANGO_SETTINGS_MODULE = mysite.settings\npython_files = tests.py test_*.py\n",
}


def project(root: Path, files: Mapping[str, str]) -> Cli:
    cli = Cli(make_repo(root))
    write_project(cli.repo, **files)
    return cli


@pytest.mark.parametrize(
    ("runner", "files"), [("django", {}), ("pytest", WITH_PYTEST)], ids=["manage.py", "pytest-django"]
)
def test_a_turn_from_init_to_acceptance(tmp_path: Path, runner: str, files: Mapping[str, str]) -> None:
    cli = project(tmp_path / "repo", files)
    begun = cli.tdd("init", "--yes", env=PLUGINS)
    assert f"found python with {runner} in ." in begun.err
    assert "baseline: 1 test, it passes" in begun.out
    if runner == "pytest":  # once is enough for the proof that assertions are live
        cli.repo.write("tdd.yaml", QUICK + (cli.root / "tdd.yaml").read_text("utf-8"))
    cli.repo.write("shop/tests.py", TESTS + RED)
    tested = cli.tdd("test", "--json", env=PLUGINS).json
    assert {one["id"]: one["red"] for one in tested["tests"]}[TEST] == "valid"
    assert cli.tdd("claim", TEST, "shop/models.py", env=PLUGINS).code == 0
    cli.repo.write("shop/models.py", MODELS + GREEN)
    settled = cli.tdd("settle", "--json", env=PLUGINS).json
    assert (settled["verdict"], settled["concerns"]) == ("accepted", [])


def test_a_model_that_does_not_work_is_not_accepted(tmp_path: Path) -> None:
    cli = project(tmp_path / "repo", {})
    cli.ok("init", "--yes")
    cli.repo.write("shop/tests.py", TESTS + RED)
    cli.tdd("test")
    cli.ok("claim", TEST)
    cli.repo.write("shop/models.py", MODELS + GREEN.replace("119 // 100", "1"))
    settled = cli.tdd("settle", "--json").json
    assert settled["verdict"] == "still-red"


def test_what_keeps_django_from_being_set_up_is_named(tmp_path: Path) -> None:
    """A project that names pytest, but neither pytest-django nor its settings."""
    cli = project(
        tmp_path / "repo",
        {"requirements.txt": "django\npytest\n", "pytest.ini": "[pytest]\npython_files = tests.py\n"},
    )
    said = cli.ok("init", "--yes").out
    assert "no test tool sets up Django here" in said
    assert "`DJANGO_SETTINGS_MODULE = mysite.settings` below `[pytest]` in pytest.ini" in said


def test_a_broken_model_is_named_with_its_file(tmp_path: Path) -> None:
    cli = project(tmp_path / "repo", {"shop/models.py": "import nothing_like_it\n" + MODELS})
    said = cli.ok("init", "--yes").out
    assert (
        "1 file does not load: shop/models.py: ModuleNotFoundError: No module named 'nothing_like_it'" in said
    )
