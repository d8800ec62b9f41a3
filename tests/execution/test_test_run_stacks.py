"""Several stacks in one worktree, two of them at one root, each run by its own tool."""

from __future__ import annotations

import json
import sys

import pytest

from support.gitrepo import make_repo
from verdigris.core.errors import UnknownTest
from verdigris.core.records import Actor
from verdigris.core.verdict.redness import judge_collect_error
from verdigris.execution.test_run import collect
from verdigris.setup.initialisation import initialise
from verdigris.storage.project import Project, open_project
from verdigris.turns import test, test_record

CONFIG = f"""\
stacks:
  - python: {json.dumps(sys.executable)}
  - root: inner
    python: {json.dumps(sys.executable)}
  - language: java
    runner: junit
    junit:
      command: [sh, tool.sh, "{{report}}", "{{ids}}"]
      path: "src/test/java/{{class}}.java"
      build_error: '^(?P<path>\\S+):(?P<line>\\d+): (?P<message>.*)$'
"""
TOOL = """\
if [ -e src/Broken.java ]; then echo "src/Broken.java:3: ';' expected"; exit 1; fi
printf '<testsuite tests="1"><testcase classname="CalcTest" name="adds">' > $1/r.xml
printf '<failure type="AssertionError">1</failure></testcase></testsuite>' >> $1/r.xml
exit 1
"""
TEST = "def test_same():\n    assert 0\n"
JAVA = "src/test/java/CalcTest.java::CalcTest::adds"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    repo = make_repo(tmp_path_factory.mktemp("stacks") / "repo")
    repo.write("tdd.yaml", CONFIG)
    repo.write("tool.sh", TOOL)
    repo.write("tests/test_outer.py", TEST)
    repo.write("inner/tests/test_inner.py", TEST)
    repo.write("src/test/java/CalcTest.java", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(repo.home))
        initialise(repo.root, Actor())
        return open_project(repo.root, Actor())


def ran(project: Project, *words: str) -> test_record.Tested:
    return test.run_tests(project, words, cwd=project.root)


def test_each_test_is_run_once_by_its_own_stack(project: Project) -> None:
    found = ran(project)
    assert {(run.native_id, run.red) for run in found.tests} == {
        ("tests/test_outer.py::test_same", "valid"),
        ("inner/tests/test_inner.py::test_same", "valid"),
        (JAVA, "valid"),
    }
    assert len(found.tests) == 3
    assert found.report is not None
    assert found.report.command.count("&&") == 2


def test_ids_of_several_stacks_may_be_asked_together(project: Project) -> None:
    asked = (JAVA, "inner/tests/test_inner.py::test_same")
    assert {run.native_id for run in ran(project, *asked).tests} == {*asked}


def test_what_is_collected_is_unique(project: Project) -> None:
    python = {i for i in collect(project) if ".py::" in i}
    assert python == {"tests/test_outer.py::test_same", "inner/tests/test_inner.py::test_same"}


def test_a_build_that_fails_elsewhere_is_told_instead_of_a_missing_test(project: Project) -> None:
    with pytest.raises(UnknownTest, match="subtracts"):
        ran(project, JAVA.replace("adds", "subtracts"))
    broken = project.root / "src/Broken.java"
    broken.touch()
    try:
        report = ran(project, JAVA).report
    finally:
        broken.unlink()
    assert report is not None
    assert [(e.path, judge_collect_error(e)) for e in report.errors] == [("src/Broken.java", "syntax")]
