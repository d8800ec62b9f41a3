from __future__ import annotations

import pytest

from verdigris.languages.tests import find_test_at, is_made_by, text_of_test

PYTHON = """\
import calc

LIMIT = 3


class TestAdd:
    def setup_method(self):
        self.a = 1

    @calc.mark
    def test_it(self):
        assert calc.add(self.a, 1) == 2


def check_more():
    assert calc.add(1, 1) == 2
"""
NODE = 'let t;\n\ndescribe("adds", () => {\n  it("ones", () => {\n    expect(1).toBe(1);\n  });\n});\n'
RUST = (
    "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert!(true);\n    }\n}\n"
)
GO = 'package a\n\nfunc TestAdd(t *testing.T) {\n\tif 1 != 1 {\n\t\tt.Fatal("no")\n\t}\n}\n'


@pytest.mark.parametrize(
    ("path", "text", "line", "name"),
    [
        ("t.py", PYTHON, 10, "TestAdd::test_it"),
        ("t.py", PYTHON, 12, "TestAdd::test_it"),
        ("t.py", PYTHON, 3, None),
        ("t.py", PYTHON, 7, None),
        ("t.py", PYTHON, 16, "check_more"),
        ("a.test.js", NODE, 5, "adds › ones"),
        ("a.test.js", NODE, 1, None),
        ("a.rs", RUST, 7, "tests::adds"),
        ("a.rs", RUST, 1, None),
        ("a_test.go", GO, 5, "TestAdd"),
        ("a_test.go", GO, 1, None),
    ],
)
def test_the_test_at_a_line_is_named(path: str, text: str, line: int, name: str | None) -> None:
    found = find_test_at(path, text, line, ("t.py::check_more",))
    assert (found and found.name) == name


def test_the_text_of_a_test_is_its_own() -> None:
    assert text_of_test("t.py", PYTHON, "TestAdd::test_it") == "\n".join(PYTHON.splitlines()[9:12])
    assert text_of_test("t.py", PYTHON, "test_gone") is None


@pytest.mark.parametrize(
    ("path", "name", "native"),
    [
        ("t.py", "test_it", "t.py::test_it[1-2]"),
        ("a.rs", "tests::adds", "a.rs::calc::tests::adds"),
        ("a_test.go", "TestAdd", "a_test.go::TestAdd/one"),
    ],
)
def test_cases_belong_to_the_test_that_makes_them(path: str, name: str, native: str) -> None:
    assert is_made_by(path, name, native)
    assert not is_made_by(path, "other", native)
