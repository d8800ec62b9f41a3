from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from verdigris.languages.python.manifests import PytestConfig, read_pytest_config

if TYPE_CHECKING:
    from pathlib import Path


def test_no_configuration_names_nothing(tmp_path: Path) -> None:
    assert read_pytest_config(tmp_path) == PytestConfig()


def test_a_file_without_the_section_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\n")
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\ntestpaths = t\npython_files = a_*.py b_*.py\n")
    assert read_pytest_config(tmp_path) == PytestConfig(("t",), ("a_*.py", "b_*.py"))


def test_an_empty_pytest_ini_is_enough(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "tox.ini").write_text("[pytest]\ntestpaths = t\n")
    assert read_pytest_config(tmp_path) == PytestConfig()


@pytest.mark.parametrize(
    "text", ["[tool", "tool = 3", "[tool.pytest]\ntestpaths = 3", '[tool.pytest]\ntestpaths = "\'"']
)
def test_a_broken_file_names_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert read_pytest_config(tmp_path) == PytestConfig()


def test_bytes_that_are_no_text_name_nothing(tmp_path: Path) -> None:
    (tmp_path / "tox.ini").write_bytes(b"\xff")
    (tmp_path / "setup.cfg").mkdir()
    assert read_pytest_config(tmp_path) == PytestConfig()
