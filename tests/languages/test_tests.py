"""Comments above tests tell their ids and the scenarios that they carry, in every language."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdigris.core.errors import UserError
from verdigris.core.report import Place, RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.languages.registry import reader_of
from verdigris.languages.rust.test_regions import oracle_part
from verdigris.languages.tests import (
    Duplicate,
    ScenarioMarks,
    apply,
    duplicates,
    marks,
    read_scenario_marks,
    refuse_duplicates,
)


def result(native_id: str, line: int = 0) -> TestResult:
    return TestResult(native_id, native_id, "native", Status.PASS, RunPhase.CALL, 1, line=line)


def renamed(texts: dict[str, str], *results: TestResult) -> list[str]:
    named = apply(TestReport("c", RunEnd.FINISHED, 0, 1, results), texts).results
    assert [r.native_id for r in named] == [r.native_id for r in results]
    assert all((r.id_source == "annotation") is (r.id != r.native_id) for r in named)
    return [r.id for r in named]


def natives(path: str, text: str, case: str = "") -> dict[str, str]:
    return {mark.slug: reader_of(path).ids.native_id(path, mark, case) for mark in marks(path, text)}


def test_python() -> None:
    ids = (
        "t/test_a.py::test_x[1]",
        "t/test_a.py::TestA::test_y",
        "t/test_a.py::test_z",
        "t/test_b.py::test_x",
    )
    text = "# @tdd-id: s\ndef test_x(): pass\nclass TestA:\n  # @tdd-id: m\n  def test_y(self): pass\n"
    assert renamed({"t/test_a.py": text}, *map(result, ids)) == ["s[1]", "m", ids[2], ids[3]]
    assert natives("t/test_a.py", text, "[1]")["s"] == ids[0]


def test_node_by_name_and_cases_by_line() -> None:
    text = (
        "// @tdd-id: one\nit('a', () => {});\n"
        "// @tdd-id: many\nit.each([\n  1,\n  2,\n])('n %i', () => {});\n"
        "it('b', () => {});\n"
    )
    given_ids = (result("t.js::a"), result("t.js::n 1", 7), result("t.js::b", 8))
    assert renamed({"t.js": text}, *given_ids) == ["one", "many[n 1]", "t.js::b"]
    assert natives("t.js", text) == {"one": "t.js::a", "many": "t.js"}
    assert natives("t.js", text, "[n 1]")["many"] == "t.js::n 1"


RUST = r"""
// @tdd-id: top
#[test]
fn adds() {}

/* outer /* nested // @tdd-id: no */ fn not_here() {} */
const S: &str = r#"
// @tdd-id: in-a-string
fn nor_here() {}
"#;
fn lives<'a>(x: &'a str) -> char { '"' }

#[cfg(test)]
mod tests {
    use super::*;
    mod inner { // @tdd-id: beside
        // @tdd-id: deep
        /// what it is for
        #[tokio::test]
        async fn adds() { assert_eq!('{', '{'); }
    }
    // @tdd-id: table
    #[rstest]
    #[case(1)]
    fn many(#[case] n: u8) {}
    // @tdd-id: far
    //
    //
    //
    #[test]
    fn too_far() {}
}
"""


def test_rust_with_the_modules_around_a_test() -> None:
    ids = (
        "src/calc/big.rs::calc::big::adds",
        "src/calc/big.rs::calc::big::tests::inner::adds",
        "src/calc/big.rs::calc::big::tests::many::case_1",
        "src/calc/big.rs::calc::big::tests::adds",
        "src/calc/big.rs::calc::big::tests::too_far",
    )
    expected = ["top", "deep", "table::case_1", ids[3], ids[4]]
    assert renamed({"src/calc/big.rs": RUST}, *map(result, ids)) == expected
    assert natives("src/calc/big.rs", RUST) == {
        "top": ids[0],
        "deep": ids[1],
        "table": "src/calc/big.rs::calc::big::tests::many",
    }


@pytest.mark.parametrize(
    ("path", "native"),
    [
        ("src/lib.rs", "adds"),
        ("src/main.rs", "adds"),
        ("src/calc.rs", "calc::adds"),
        ("src/calc/mod.rs", "calc::adds"),
        ("crates/a/src/calc/deep.rs", "calc::deep::adds"),
        ("src/bin/tool.rs", "adds"),
        ("tests/api.rs", "adds"),
        ("tests/it/main.rs", "adds"),
        ("tests/it/users.rs", "users::adds"),
    ],
)
def test_rust_names_begin_with_the_modules_of_their_file(path: str, native: str) -> None:
    text = "// @tdd-id: s\n#[test]\nfn adds() {}\n"
    assert natives(path, text) == {"s": f"{path}::{native}"}
    assert renamed({path: text}, result(f"{path}::{native}")) == ["s"]


def test_names_and_texts_of_any_letters() -> None:
    text = 'const S: &str = "größe";\n// @tdd-id: s\n#[test]\nfn größe() {}\n'
    assert natives("src/lib.rs", text) == {"s": "src/lib.rs::größe"}
    assert natives("a_test.go", "// @tdd-id: s\nfunc TestGröße(t *testing.T) {}\n") == {
        "s": "a_test.go::TestGröße"
    }


GO = """package calc

// TestAdd adds.
// @tdd-id: add
func TestAdd(t *testing.T) {
	t.Run("one", func(t *testing.T) {})
	s := `
// @tdd-id: in-a-string
func TestNot(t *testing.T) {}
`
}

// @tdd-id: of-a-method
func (s *Suite) TestMethod() {}
func TestNext(t *testing.T) {}
"""


def test_go_with_its_subtests() -> None:
    ids = ("a/b_test.go::TestAdd", "a/b_test.go::TestAdd/one", "a/b_test.go::TestNext")
    assert renamed({"a/b_test.go": GO}, *map(result, ids)) == ["add", "add/one", ids[2]]
    assert natives("a/b_test.go", GO, "/one") == {"add": ids[1]}


def test_a_language_that_is_not_read_has_none() -> None:
    assert marks("a_spec.rb", "# @tdd-id: s\nit 'x' do\nend\n") == ()


@given(
    st.sampled_from(["rust", "go"]), st.text(st.sampled_from("fn mod{}()#[]\"'r#/*\n`\\ xfunc"), max_size=60)
)
def test_no_text_breaks_the_reading(language: str, text: str) -> None:
    marks("a.rs" if language == "rust" else "a.go", "// @tdd-id: x\n" + text)


def test_a_slug_used_twice_is_an_error_that_names_both_places() -> None:
    texts = {"b.js": "// @tdd-id: s\nit('x', () => {})\n", "a.py": "\n# @tdd-id: s\ndef test_y(): pass\n"}
    assert duplicates(texts) == (Duplicate("s", Place("a.py", 2), Place("b.js", 1)),)
    with pytest.raises(UserError, match=r"a\.py:2 and b\.js:1"):
        refuse_duplicates(texts)
    refuse_duplicates({"b.js": texts["b.js"], "a.py": "def test_y(): pass\n"})


def read(path: str, text: str) -> ScenarioMarks:
    return read_scenario_marks(path, textwrap.dedent(text).encode())


def carried(found: ScenarioMarks) -> list[tuple[tuple[str, ...], str, int]]:
    return [(mark.scenarios, mark.test_id, mark.line) for mark in found.marks]


def counts(found: ScenarioMarks) -> list[tuple[int, int, str]]:
    return [(m.facts.assertions, m.facts.cases, m.facts.skip) for m in found.marks if m.facts]


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


MARKED_RUST = """\
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
    found = read("src/calc.rs", MARKED_RUST)

    assert carried(found) == [(("calc#add/one",), "src/calc.rs::calc::tests::adds", 10)]
    assert counts(found) == [(1, 0, "#[ignore]")]
    assert [one.line for one in found.loose] == [3, 15]
    assert "without an empty line between" in found.loose[0].why
    assert found.marks[0].is_carried_by(result("src/calc.rs::calc::tests::adds"))


@pytest.mark.parametrize(("mark", "instead"), [("/// @scenario: calc#add/one\n", ""), ("add/one", "add/two")])
def test_a_mark_among_the_source_is_frozen_with_its_test(mark: str, instead: str) -> None:
    assert mark in MARKED_RUST
    assert oracle_part(MARKED_RUST.encode()) != oracle_part(MARKED_RUST.replace(mark, instead).encode())


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
def test_no_text_breaks_the_reading_of_scenarios(path: str, text: str) -> None:
    read_scenario_marks(path, f"# @scenario: a\n// @scenario: b\n{text}".encode())
