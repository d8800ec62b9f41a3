"""Whole turns in Django projects, as `tdd init` finds them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.cli import Cli
from support.django_projects import FILES, GREEN, MODELS, RED, SETTINGS, TESTS, write_project
from support.gitrepo import make_repo
from support.turns import QUICK
from verdigris.checks.acceptance import NOT_ASKED

pytestmark = pytest.mark.slow

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
    if runner == "django":
        cli.repo.write("shop/models.py", MODELS + GREEN.replace("119 // 100", "1"))
        assert cli.tdd("settle", "--json").json["verdict"] == "still-red"
    cli.repo.write("shop/models.py", MODELS + GREEN)
    settled = cli.tdd("settle", "--json", env=PLUGINS).json
    concerns = [
        concern for concern in settled["concerns"] if not concern.startswith(NOT_ASKED)
    ]  # a matter of time
    assert (settled["verdict"], concerns) == ("accepted", [])


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


ENDS = """\
from django.test import SimpleTestCase, TestCase, TransactionTestCase, tag

from shop.models import Item


class Unprepared(TestCase):
    @classmethod
    def setUpTestData(cls):
        raise ValueError("no data")

    def test_is_not_reached(self):
        pass


class Simple(SimpleTestCase):
    def test_asks_the_database(self):
        Item.objects.count()


class Last(TransactionTestCase):
    def test_keeps(self):
        Item.objects.create(name="x", price=1)
        self.assertEqual(Item.objects.count(), 1)


class First(TestCase):
    def test_is_empty(self):
        self.assertEqual(Item.objects.count(), 0)

    def test_parts(self):
        for number in range(2):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)

    @tag("slow")
    def test_slow(self):
        pass
"""
RUNNER = """\
from django.test.runner import DiscoverRunner


class Own(DiscoverRunner):
    def setup_databases(self, **named):
        made = super().setup_databases(**named)
        from shop.models import Item
        Item.settled = True
        return made
"""


def test_every_end_of_a_test_is_reported_under_the_projects_own_runner(tmp_path: Path) -> None:
    settings = SETTINGS + 'TEST_RUNNER = "mysite.runner.Own"\n'
    files = {
        "mysite/settings.py": settings,
        "mysite/runner.py": RUNNER,
        "shop/test_ends.py": ENDS + "\n    def test_own(self):\n        self.assertTrue(Item.settled)\n",
    }
    cli = project(tmp_path / "repo", files)
    stack = '  - {root: ".", language: python, runner: django, test_command: ["--exclude-tag", "slow"]}'
    cli.repo.write("tdd.yaml", f"stacks:\n{stack}\n")
    cli.ok("init", "--yes")
    tested = cli.tdd("test", "--json").json
    assert tested["ended"] == "finished"
    assert {one["id"].partition("::")[2]: one["status"] for one in tested["tests"]} == {
        "First::test_is_empty": "pass",
        "First::test_own": "pass",
        "First::test_parts": "fail",
        "ItemTest::test_is_kept": "pass",
        "Last::test_keeps": "pass",
        "Simple::test_asks_the_database": "fail",
        "Unprepared::test_is_not_reached": "error",
    }


def test_a_django_that_is_not_installed(tmp_path: Path) -> None:
    cli = Cli(make_repo(tmp_path / "repo"))
    for path, text in {**FILES, "requirements.txt": "django\n"}.items():
        cli.repo.write(path, text)
    cli.repo.commit()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", ".venv"], cwd=cli.root, check=True)
    said = cli.ok("init", "--yes").out
    assert "no test runs: 1 file does not load: manage.py: Django is not installed" in said
    assert "pip install -r requirements.txt`, then `tdd test`" in said.replace("uv pip", "pip").replace(
        " --python .venv/bin/python", ""
    )
