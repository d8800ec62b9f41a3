from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from support.pyproject import PyProject
from verdigris.core.report import Status

if TYPE_CHECKING:
    from pathlib import Path

CACHING = {"PYTHONDONTWRITEBYTECODE": ""}
SECOND = 1_700_000_000


@pytest.fixture
def project(tmp_path: Path) -> PyProject:
    made = PyProject(tmp_path)
    made.write("calc.py", "def add(a, b):\n    return a + b\n")
    made.write("test_calc.py", "import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == 5\n")
    return made


def statuses(project: PyProject) -> list[Status]:
    return [result.status for result in project.execute(env=CACHING)[1].results]


def within_one_second(project: PyProject) -> None:
    """Sources and caches look as if they had all been written in the same second."""
    for path in project.root.rglob("*.py*"):
        os.utime(path, (SECOND, SECOND))


@pytest.mark.parametrize(
    ("path", "old", "new"), [("calc.py", "a + b", "a - b"), ("test_calc.py", "== 5", "== 6")]
)
def test_an_edit_of_the_same_size_within_a_second_is_seen(
    project: PyProject, path: str, old: str, new: str
) -> None:
    within_one_second(project)
    assert statuses(project) == [Status.PASS]
    assert list(project.root.rglob("*.pyc")), "the run before left its caches"
    within_one_second(project)
    project.write(path, (project.root / path).read_text().replace(old, new))
    within_one_second(project)
    assert statuses(project) == [Status.FAIL]


def test_a_cache_that_is_younger_than_its_source_is_used(project: PyProject) -> None:
    within_one_second(project)
    assert statuses(project) == [Status.PASS]
    (cache,) = (project.root / "__pycache__").glob("calc.*.pyc")
    os.utime(cache, (SECOND + 5, SECOND + 5))
    before = cache.stat().st_mtime_ns
    assert statuses(project) == [Status.PASS]
    assert cache.stat().st_mtime_ns == before
