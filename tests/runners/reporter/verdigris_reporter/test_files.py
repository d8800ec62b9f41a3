from __future__ import annotations

import os
import shutil
import sys
import venv
from pathlib import Path

import iniconfig
import pytest

from support.pyproject import PyProject
from verdigris.core.report import Status
from verdigris.runners.protocol import RequestedRuns
from verdigris.runners.reporter.verdigris_reporter.files import _real_path

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


def environment_without(folder: Path, package: str, link: Path) -> str:
    """An interpreter that has pytest, and instead of one package that it needs a link to a project."""
    venv.create(folder, with_pip=False)
    packages = next(folder.glob("lib/python*/site-packages"))
    for there in next(Path(entry) for entry in sys.path if entry.endswith("site-packages")).iterdir():
        if there.name != package and there.suffix != ".pth":
            (packages / there.name).symlink_to(there)
    (packages / "editable.pth").write_text(f"{link}\n", encoding="utf-8")
    return str(folder / "bin/python")


def test_a_project_that_the_runner_itself_stands_on_is_what_is_tested(tmp_path: Path) -> None:
    """As pluggy and iniconfig are: the environment has a link to the worktree and no other copy."""
    root = tmp_path / "p"
    made = PyProject(root, environment_without(tmp_path / "env", "iniconfig", root / "src"))
    shutil.copytree(Path(iniconfig.__file__).parent, root / "src/iniconfig")
    body = f"assert iniconfig.__file__.startswith({str(root)!r})"
    made.write("tests/test_it.py", f"import iniconfig\n\ndef test_it():\n    {body}\n")
    report = made.test(sources=["", "src"])
    assert [result.status for result in report.results] == [Status.PASS]
    assert "src/iniconfig/__init__.py" in report.loaded
    assert report.outside == ()


def test_in_a_set_of_runs_each_loads_a_runner_that_stands_on_the_project(tmp_path: Path) -> None:
    root = tmp_path / "p"
    made = PyProject(root, environment_without(tmp_path / "env", "iniconfig", root / "src"))
    shutil.copytree(Path(iniconfig.__file__).parent, root / "src/iniconfig")
    made.write("tests/test_it.py", "from iniconfig import MARK\n\ndef test_it():\n    assert MARK == 1\n")
    with (root / "src/iniconfig/__init__.py").open("a", encoding="utf-8") as package:
        package.write("import os\nMARK = os.getppid()\n")
    head = "from iniconfig import MARK\nimport os\n\ndef test_it():\n    assert MARK == os.getppid()\n"
    texts = tuple({"tests/test_it.py": f"{head}    assert {number}\n"} for number in (0, 1))
    report = made.test("tests/test_it.py::test_it", runs=RequestedRuns(texts), disposable=True)
    assert [dict(run.outcomes) for run in report.variants] == [
        {"tests/test_it.py::test_it": "failed"},
        {"tests/test_it.py::test_it": "passed"},
    ]


def test_a_path_is_followed_through_links_of_folders_and_of_the_file_itself(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.py").touch()
    (tmp_path / "real/b.py").symlink_to("a.py")
    (tmp_path / "link").symlink_to("real")
    paths = [f"{tmp_path}/link/{name}" for name in ("a.py", "b.py", "gone.py", "../real/a.py")]
    known: dict[str, str] = {}
    assert [_real_path(path, known) for path in paths] == [os.path.realpath(path) for path in paths]
