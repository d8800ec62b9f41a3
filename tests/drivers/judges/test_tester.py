from __future__ import annotations

import pytest

from verdigris.core.report import RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.drivers.judges.tester import names_source, new_functions

PYTHON = {"src/rover/__init__.py": "class Rover:\n    def execute(self, commands):\n        return ''\n"}
NODE = {"src/rover.ts": "export function execute(commands: string): string {\n  return '';\n}\n"}


def result(native: str, line: int = 0) -> TestResult:
    return TestResult(native, native, "native", Status.FAIL, RunPhase.CALL, 1, line=line)


def report(*results: TestResult) -> TestReport:
    return TestReport("run", RunEnd.FINISHED, 1, 1, results)


@pytest.mark.parametrize(
    ("path", "before", "added", "sources", "names"),
    [
        ("tests/test_r.py", "", "def test_sum():\n    assert 1 + 1 == 3\n", PYTHON, False),
        ("tests/test_r.py", "", "def test_r():\n    # execute\n    assert 2 == 3\n", PYTHON, False),
        ("tests/test_r.py", "", "def test_r():\n    assert Rover().execute('') == 'x'\n", PYTHON, True),
        ("tests/test_r.py", "", "def test_r():\n    run(['-m', 'rover'])\n", PYTHON, True),
        ("test/r.test.ts", "", "test('sum', () => {\n  expect(1 + 1).toBe(3);\n});\n", NODE, False),
        ("test/r.test.ts", "", "test('it', () => {\n  expect(execute('')).toBe('x');\n});\n", NODE, True),
        (
            "test/r.test.ts",
            "const drive = (c: string) => 1;\n",
            "test('it', () => {\n  expect(drive('')).toBe(2);\n});\n",
            NODE,
            True,
        ),
    ],
)
def test_whether_the_new_lines_name_something_of_the_source(
    path: str, before: str, added: str, sources: dict[str, str], *, names: bool
) -> None:
    assert names_source(path, before, before + added, sources) is names


def test_an_import_alone_names_nothing() -> None:
    text = "from rover import Rover\n\n\ndef test_sum():\n    assert 1 + 1 == 3\n"
    assert not names_source("tests/test_r.py", "", text, PYTHON)


def test_cases_of_one_function_and_titles_of_one_table_are_one_new_test() -> None:
    found = new_functions(
        report(
            result("t/test_a.py::test_old"),
            result("t/test_a.py::test_new[1]", 9),
            result("t/test_a.py::test_new[2]", 9),
            result("t/a.test.ts::adds 1", 4),
            result("t/a.test.ts::adds 2", 4),
            result("t/other.py::test_elsewhere"),
        ),
        {"t/test_a.py", "t/a.test.ts"},
        ["def test_old():\n"],
    )
    assert found == ("t/test_a.py::test_new", "t/a.test.ts::adds 1")
