from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdigris.core.report import RunPhase, Status, TestResult
from verdigris.languages.rust.test_regions import oracle_part
from verdigris.languages.tests import ScenarioMarks, read_scenario_marks


def read(path: str, text: str) -> ScenarioMarks:
    return read_scenario_marks(path, textwrap.dedent(text).encode())


def carried(found: ScenarioMarks) -> list[tuple[tuple[str, ...], str, int]]:
    return [(mark.scenarios, mark.test_id, mark.line) for mark in found.marks]


def counts(found: ScenarioMarks) -> list[tuple[int, int, str]]:
    return [(m.facts.assertions, m.facts.cases, m.facts.skip) for m in found.marks if m.facts]


def result(native_id: str, line: int = 0) -> TestResult:
    return TestResult(native_id, native_id, "native", Status.PASS, RunPhase.CALL, 1, line=line)


def test_python_functions_methods_tables_and_what_skips_them() -> None:
    found = read(
        "tests/test_a.py",
        '''\
        TEXT = """
        # @scenario: calc#add/in-a-string
        def test_no(): pass
        """
        # @scenario: calc#add/two-numbers, calc#add/zero
        # why
        @pytest.mark.parametrize("a", [1, 2, 3])
        def test_add(a):
            assert add(a) == a
            check(a)

        def check(a):
            assert a > 0

        @pytest.mark.skip
        class TestB:
            # @tdd-id: slug
            # @scenario: `calc#add/three`
            def test_c(self):
                self.assertEqual(1, 2)
                with pytest.raises(ValueError):
                    add("x")
        ''',
    )

    assert found.loose == ()
    assert carried(found) == [
        (("calc#add/two-numbers", "calc#add/zero"), "tests/test_a.py::test_add", 5),
        (("calc#add/three",), "slug", 18),
    ]
    assert counts(found) == [(2, 3, ""), (2, 0, "pytest.mark.skip")]
    assert found.marks[0].is_carried_by(result("tests/test_a.py::test_add[2]"))
    assert not found.marks[0].is_carried_by(result("tests/test_a.py::test_adder"))
    assert not found.marks[0].is_carried_by(result("tests/test_b.py::test_add"))


def test_vitest_declarations_with_line_and_block_comments() -> None:
    found = read(
        "src/a.test.ts",
        """\
        const s = `
        // @scenario: calc#add/text
        `;
        describe('calc', () => {
          // @scenario: calc#add/one
          it('adds', () => { expect(add(1)).toBe(1); expect(add(2)).toBe(2); });
          /**
           * @scenario: calc#add/two
           */
          it.each([[1, 2], [2, 3]])('adds %i', (a, b) => { expect(add(a)).toBe(b); });
          /* @scenario: calc#add/later */
          it.todo('later');
          // @scenario: calc#add/computed
          it(`adds ${x}`, () => { expect(1).toBe(2); });
        });
        // @scenario: calc#add/skipped
        describe.skip('off', () => { it('x', () => {}); });
        """,
    )

    assert carried(found) == [
        (("calc#add/one",), "src/a.test.ts::calc › adds", 5),
        (("calc#add/two",), "src/a.test.ts::calc › adds %i", 8),
        (("calc#add/later",), "src/a.test.ts::calc › later", 11),
        (("calc#add/computed",), "src/a.test.ts", 13),
    ]
    assert counts(found) == [(2, 0, ""), (1, 2, ""), (0, 0, "it.todo"), (1, 0, "")]
    assert [(one.line, one.why.partition(";")[0]) for one in found.loose] == [(16, "it stands above no test")]
    assert found.marks[1].is_carried_by(result("src/a.test.ts::calc › adds 1", 10))
    assert found.marks[3].is_carried_by(result("src/a.test.ts::calc › adds 7", 14))


def test_a_skipped_describe_skips_the_marked_tests_in_it() -> None:
    found = read("a.test.js", "describe.skip('d', () => {\n// @scenario: a#b/c\nit('x', () => {});\n});\n")

    assert counts(found) == [(0, 0, "describe.skip")]


def test_go_functions_with_their_subtests() -> None:
    found = read(
        "calc/add_test.go",
        """\
        package calc

        // TestAdd adds.
        // @scenario: calc#add/two
        func TestAdd(t *testing.T) {
            if Add(1, 2) != 3 { t.Fatal("three") }
            t.Run("zero", func(t *testing.T) { if Add(0, 0) != 0 { t.Fatal("zero") } })
        }

        // @scenario: calc#add/helper
        func helper() {}

        /* @scenario: calc#add/skipped */
        func TestLater(t *testing.T) { t.Skip("later") }
        """,
    )

    assert carried(found) == [
        (("calc#add/two",), "calc/add_test.go::TestAdd", 4),
        (("calc#add/skipped",), "calc/add_test.go::TestLater", 13),
    ]
    assert counts(found) == [(2, 0, ""), (0, 0, 't.Skip("later")')]
    assert [(one.line, one.why.partition(";")[0]) for one in found.loose] == [
        (10, "what stands below is no test")
    ]
    assert found.marks[0].is_carried_by(result("calc/add_test.go::TestAdd/zero"))


RUST = """\
pub fn add(a: i32) -> i32 { a }

// @scenario: calc#add/apart

#[test]
fn apart() { assert_eq!(add(1), 1); }

#[cfg(test)]
mod tests {
    /// @scenario: calc#add/one
    #[test]
    #[ignore]
    fn adds() { assert_eq!(add(1), 1); }

    // @scenario: calc#add/helper
    fn helper() {}
}
"""


def test_rust_tests_among_the_source() -> None:
    found = read("src/calc.rs", RUST)

    assert carried(found) == [(("calc#add/one",), "src/calc.rs::calc::tests::adds", 10)]
    assert counts(found) == [(1, 0, "#[ignore]")]
    assert [one.line for one in found.loose] == [3, 15]
    assert "without an empty line between" in found.loose[0].why
    assert found.marks[0].is_carried_by(result("src/calc.rs::calc::tests::adds"))


@pytest.mark.parametrize(("mark", "instead"), [("/// @scenario: calc#add/one\n", ""), ("add/one", "add/two")])
def test_a_mark_among_the_source_is_frozen_with_its_test(mark: str, instead: str) -> None:
    assert mark in RUST
    assert oracle_part(RUST.encode()) != oracle_part(RUST.replace(mark, instead).encode())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# @scenario: a#b/c\n\n\n\ndef test_x(): pass\n", "it stands above no test"),
        ("def test_x(): pass  # @scenario: a#b/c\n", "it stands above no test"),
        ("# @scenario: a#b/c\nclass TestX:\n    def test_y(self): pass\n", "it stands above no test"),
        ("# @scenario: a#b/c\n@pytest.fixture\ndef x(): pass\n", "what stands below is no test"),
        ("# @scenario:\ndef test_x(): pass\n", "write `@scenario: ID`"),
        ("# @scenario a#b/c\ndef test_x(): pass\n", "write `@scenario: ID`"),
        ("# @scenario: two words\ndef test_x(): pass\n", "write `@scenario: ID`"),
        ("# @scenario: a#b/c\ndef test_x(:\n", "the tests of this file cannot be read"),
    ],
)
def test_a_mark_that_gives_no_test_a_scenario_is_told(text: str, why: str) -> None:
    found = read("test_a.py", text)

    assert found.marks == ()
    assert [one.why.startswith(why) for one in found.loose] == [True]


def test_a_mark_in_a_language_that_nothing_reads_is_told() -> None:
    found = read("src/test/java/ATest.java", "class ATest {\n  // @scenario: a#b/c\n  @Test void x() {}\n}\n")

    assert [(one.line, one.path) for one in found.loose] == [(2, "src/test/java/ATest.java")]


def test_several_marks_above_one_test_all_count() -> None:
    found = read("test_a.py", "# @scenario: a#b/c\n# @scenario: a#b/d\ndef test_x():\n    assert 1 == f()\n")

    assert carried(found) == [(("a#b/c",), "test_a.py::test_x", 1), (("a#b/d",), "test_a.py::test_x", 2)]


@pytest.mark.parametrize(
    ("path", "text", "test"),
    [
        ("test_a.py", "@slow\n# @scenario: a#b/c\ndef test_x(): pass\ndef test_y(): pass\n", "test_x"),
        ("tests/a.rs", "#[test]\n// @scenario: a#b/c\nfn x() {}\n#[test]\nfn y() {}\n", "x"),
    ],
)
def test_a_mark_between_a_decorator_and_its_test_is_that_tests(path: str, text: str, test: str) -> None:
    assert carried(read(path, text)) == [(("a#b/c",), f"{path}::{test}", 2)]


def test_a_word_in_a_comment_is_no_mark() -> None:
    assert read("test_a.py", "# see @scenario: a\ndef test_x(): pass\n") == ScenarioMarks()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", ["// @scenario: a{} b", "/*{}x", "// @scenario: a#b/c{}", "//{}x @scenario"])
@pytest.mark.parametrize("sign", [" ", "*", "/"])
def test_a_long_comment_takes_no_long_time(text: str, sign: str) -> None:
    found = read("a.test.ts", text.format(sign * 50_000) + " @scenario\n*/\nit('x', () => {});\n")

    assert len(found.marks) <= 1


@given(
    st.sampled_from(["a.py", "a.test.ts", "a_test.go", "src/a.rs", "A.java"]),
    st.text(st.sampled_from("it('`\"/${}()#[]@:\n x,*=fn"), max_size=60),
)
def test_no_text_breaks_the_reading(path: str, text: str) -> None:
    read_scenario_marks(path, f"# @scenario: a\n// @scenario: b\n{text}".encode())
