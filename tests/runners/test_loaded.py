from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from support.pyproject import PyProject

if TYPE_CHECKING:
    from pathlib import Path

TEST = "import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == 5\n"
ADD = "def add(a, b):\n    return a + b\n"


@pytest.fixture
def project(tmp_path: Path) -> PyProject:
    made = PyProject(tmp_path / "p")
    made.write("tests/test_calc.py", TEST)
    return made


def test_a_run_that_is_no_verdict_tells_nothing(project: PyProject) -> None:
    project.write("calc.py", ADD)
    report = project.test()
    assert (report.loaded, report.outside) == ((), ())


@pytest.mark.parametrize("extra", [[], ["-p", "xdist", "-n1"]])
def test_files_of_loaded_modules_below_the_root(project: PyProject, extra: list[str]) -> None:
    project.write("calc.py", "from tools import script\n" + ADD)
    project.write("tools/script.py", "")
    report = project.test(sources=[""], extra=extra)
    assert report.loaded == ("calc.py", "tests/test_calc.py", "tools/script.py")
    assert report.outside == ()


@pytest.mark.parametrize("own", ["calc.py", "calc/__init__.py"])
@pytest.mark.parametrize("other", ["calc.py", "calc/__init__.py"])
def test_a_copy_from_elsewhere_is_named_with_the_file_it_stands_in_for(
    project: PyProject, tmp_path: Path, own: str, other: str
) -> None:
    elsewhere = PyProject(tmp_path / "installed")
    elsewhere.write(other, ADD)
    project.write(f"src/{own}", ADD)
    project.write("conftest.py", f"import sys\nsys.path.insert(0, {str(elsewhere.root)!r})\n")
    report = project.test(sources=["", "src"])
    assert report.outside == (f"{elsewhere.root / other} instead of src/{own}",)


def test_modules_of_others_are_nobodys_business(project: PyProject, tmp_path: Path) -> None:
    elsewhere = PyProject(tmp_path / "sibling")
    elsewhere.write("calc.py", ADD)
    project.write("conftest.py", f"import sys\nsys.path.insert(0, {str(elsewhere.root)!r})\n")
    project.write("json.py", "")
    report = project.test(sources=["", "src"])
    assert report.outside == ()


SHADOW = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location(
    "genuine", {packages!r} + "/__init__.py", submodule_search_locations=[{packages!r}]
)
sys.modules["genuine"] = genuine = importlib.util.module_from_spec(spec)
spec.loader.exec_module(genuine)
globals().update({{name: thing for name, thing in vars(genuine).items() if not name.startswith("__")}})
"""


def test_a_runner_that_is_the_projects_own_is_told(project: PyProject) -> None:
    packages = next(entry for entry in sys.path if entry.endswith("site-packages"))
    project.write("calc.py", ADD)
    project.write("iniconfig.py", SHADOW.format(packages=f"{packages}/iniconfig"))
    project.write("pytest.ini", "[pytest]\n")
    report = project.test(sources=[""])
    assert report.outside == ("iniconfig.py instead of the installed iniconfig",)
