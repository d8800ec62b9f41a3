from __future__ import annotations

import importlib.util
import os
import py_compile
from pathlib import Path

import pytest

from support.pyproject import PyProject
from verdigris.core.report import Status, TestReport

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


def verdict(project: PyProject) -> TestReport:
    return project.execute(env=CACHING, sources=[""])[1]


def poison(project: PyProject, path: str, old: str, new: str) -> Path:
    """Other code under the header of the genuine one, and younger than its source."""
    source = project.root / path
    text = source.read_text()
    for written in (text.replace(old, new), text):
        source.write_text(written)
        os.utime(source, (SECOND, SECOND))
        if written != text:
            py_compile.compile(str(source))
    return Path(importlib.util.cache_from_source(str(source)))


def test_a_verdict_runs_the_source_and_no_poisoned_cache(project: PyProject) -> None:
    project.write("calc.py", "def add(a, b):\n    return a - b\n")
    cache = poison(project, "calc.py", "a - b", "a + b")
    assert statuses(project) == [Status.PASS], "the cache is one that Python takes"
    before = cache.read_bytes()
    assert [r.status for r in verdict(project).results] == [Status.FAIL]
    assert cache.read_bytes() == before


def test_a_verdict_reads_no_rewritten_test(project: PyProject) -> None:
    test = project.root / "test_calc.py"
    found = []
    for expected in ("6", "5", "6"):
        test.write_text(f"import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == {expected}\n")
        os.utime(test, (SECOND, SECOND))
        statuses(project)
        (cache,) = project.root.rglob("test_calc*-pytest-*.pyc")
        found.append(cache.read_bytes())
    cache.write_bytes(found[0][:16] + found[1][16:])
    assert statuses(project) == [Status.PASS], "the cache is one that pytest takes"
    assert [r.status for r in verdict(project).results] == [Status.FAIL]


def test_a_verdict_writes_no_caches(project: PyProject) -> None:
    assert [r.status for r in verdict(project).results] == [Status.PASS]
    assert not list(project.root.rglob("*.pyc"))


def test_bytecode_without_its_source_is_not_imported(project: PyProject) -> None:
    source = project.root / "calc.py"
    py_compile.compile(str(source), cfile=str(project.root / "calc.pyc"))
    source.unlink()
    assert statuses(project) == [Status.PASS]
    (error,) = verdict(project).errors
    assert error.kind == "ImportError"
    assert "bytecode without its source" in error.message
