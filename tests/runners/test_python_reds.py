"""Right and wrong reds, each from a real pytest run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.interpreters import other_python
from support.pages import lay_out, project_files
from support.pyproject import PyProject
from verdigris.core.paths import PathClass
from verdigris.core.test_ids import split_id
from verdigris.core.verdict.redness import VALID, judge_collect_error, judge_red

if TYPE_CHECKING:
    from verdigris.core.report import TestReport
    from verdigris.core.settings import RedRule


PROJECT = project_files("reds")
INVALID = {
    "test_passing": "passing",
    "test_skipped": "skipped",
    "test_xfailed": "skipped",
    "test_xpassed": "xpass",
    "test_strict_xpassed": "xpass",
    "test_fixture": "fixture",
    "test_unknown_fixture": "fixture",
    "test_teardown": "teardown",
    "test_missing_name": "missing-name",
    "test_import_in_test": "import",
    "test_import_in_source": "import",
    "test_syntax_in_test": "syntax",
    "test_no_assertion": VALID,
    "test_own_error": "not-behaviour",
    "test_key_of_an_own_dict": "not-behaviour",
    "test_key_of_an_own_copy": "not-behaviour",
    "test_attribute_of_none": VALID,
    "test_attribute_of_nobodys_none": "not-behaviour",
    "test_own_none_given_to_a_library": "not-behaviour",
    "test_own_generated_code": "not-behaviour",
    "test_attribute_of_a_builtin": "not-behaviour",
    "test_keyword_of_a_builtin": "not-behaviour",
    "test_exit_in_test": "not-behaviour",
    "test_pulled_in": "imported",
    "TestUnit::test_set_up": "fixture",
    "TestDown::test_tear_down": "teardown",
}
ASSERTIONS = {
    "test_assertion",
    "test_assert_in_helper",
    "test_did_not_raise",
    "test_pytest_fail",
    "TestUnit::test_equal",
    "TestUnit::test_raises",
    "TestUnit::test_subtests",
}


def classify(path: str) -> PathClass:
    return {"src": PathClass.SOURCE, "tests": PathClass.TEST}.get(
        path.split("/", maxsplit=1)[0], PathClass.OTHER
    )


def make(project: PyProject) -> PyProject:
    lay_out(PROJECT, project.root)
    return project


def judged(report: TestReport, rule: RedRule = "behaviour") -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for result in report.results:
        test = split_id(result.native_id)
        why = judge_red(result, classify=classify, rule=rule)
        found.setdefault(test.path, {})[test.function + test.case] = why
    return found


def assert_every_red_is_judged(project: PyProject) -> None:
    report = project.test(extra=["-p", "no:randomly"])
    reds = judged(report)
    wrong = {name: why for name, why in reds["tests/test_valid.py"].items() if why != "valid"}
    assert wrong == {}
    assert len(reds["tests/test_valid.py"]) == PROJECT["tests/test_valid.py"].count("def test_")
    assert reds["tests/test_invalid.py"] == INVALID
    strict = judged(report, "assertion")["tests/test_valid.py"]
    assert {name for name, why in strict.items() if why == "valid"} == ASSERTIONS
    assert set(strict.values()) == {"valid", "assertion-only"}
    assert {error.path: judge_collect_error(error) for error in report.errors} == {
        "tests/test_no_import.py": "import",
        "tests/test_no_module.py": "import",
        "tests/test_no_syntax.py": "syntax",
        "tests/test_no_collection.py": "collection",
    }


def test_reds(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert_every_red_is_judged(make(PyProject(tmp_path_factory.mktemp("shop"))))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
def test_reds_in_another_python(tmp_path_factory: pytest.TempPathFactory, version: str) -> None:
    assert_every_red_is_judged(make(PyProject(tmp_path_factory.mktemp("shop"), other_python(version))))
