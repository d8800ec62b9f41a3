from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from support.small_histories import ADD, PYPROJECT, SUB, TEST_SUB, add_commit, begin
from verdigris.core.errors import ToolMissing
from verdigris.drivers.audit.built_environment import Wishes, find_uv, list_words
from verdigris.drivers.audit.report import AuditOutcome
from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.units import Selection

if TYPE_CHECKING:
    from pathlib import Path

FAILING = """\
#!/bin/sh
case "$1" in
venv) exit 0 ;;
*) echo "Resolving" >&2; echo "no version of gone==1 is known" >&2; exit 1 ;;
esac
"""


def words(**texts: str) -> list[str]:
    named = {name.replace("__", "/").replace("_", "."): text for name, text in texts.items()}
    return list_words(Wishes(named, "2024-05-28"))


def test_a_project_names_its_requirements_with_those_of_its_tests() -> None:
    text = (
        "[project]\nname = 'a'\n[project.optional-dependencies]\ntest = ['x']\ndocs = ['y']\n"
        "[dependency-groups]\ndev = ['z']\n"
    )
    assert words(pyproject_toml=text) == ["-r", "pyproject.toml", "--extra", "test", "--group", "dev"]


def test_requirement_files_count_where_they_are_for_all_or_for_tests() -> None:
    found = words(requirements_txt="", requirements__tests_txt="", requirements__docs_txt="")
    assert found == ["-r", "requirements.txt", "-r", "requirements/tests.txt"]


def test_an_old_project_is_asked_by_its_setup() -> None:
    assert words(setup_py="from setuptools import setup\n", pyproject_toml="[tool.x]\n") == ["-r", "setup.py"]


def test_what_does_not_parse_asks_nothing() -> None:
    assert words(pyproject_toml="[project\n") == []


def test_without_uv_the_way_to_it_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(ToolMissing) as told:
        find_uv()
    assert told.value.hint is not None
    assert "pip install uv" in told.value.hint


@pytest.mark.timeout(200)
def test_a_commit_whose_environment_cannot_be_built_is_not_blamed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(FAILING, "ascii")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}{os.pathsep}{os.environ['PATH']}")
    repo = begin(tmp_path / "repo")
    add_commit(
        repo, "needs more", {"calc.py": ADD + SUB, "tests/test_sub.py": TEST_SUB, "pyproject.toml": PYPROJECT}
    )
    add_commit(repo, "words", {"README.md": "hello\n"})
    code, prose = audit(repo.root, AuditRequest(Selection("HEAD~2..HEAD"), env="uv")).units
    assert code.outcome is AuditOutcome.UNVERIFIED
    assert "its environment cannot be built: no version of gone==1 is known" in code.why
    assert prose.outcome is AuditOutcome.NO_CODE
