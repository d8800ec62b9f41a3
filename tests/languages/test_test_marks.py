from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdigris.core.errors import UserError
from verdigris.core.report import Ended, Place, RunPhase, Status, TestReport, TestResult
from verdigris.languages.go import text as go_text
from verdigris.languages.rust import text as rust_text
from verdigris.languages.tests import Duplicate, apply, duplicates, marks, native_of, refuse_duplicates


def result(native_id: str, line: int = 0) -> TestResult:
    return TestResult(native_id, native_id, "native", Status.PASS, RunPhase.CALL, 1, line=line)


def renamed(texts: dict[str, str], *results: TestResult) -> list[str]:
    named = apply(TestReport("c", Ended.FINISHED, 0, 1, results), texts).results
    assert [r.native_id for r in named] == [r.native_id for r in results]
    assert all((r.id_source == "annotation") is (r.id != r.native_id) for r in named)
    return [r.id for r in named]


def natives(path: str, text: str, case: str = "") -> dict[str, str]:
    return {mark.slug: native_of(path, mark, case) for mark in marks(path, text)}


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
    (go_text if language == "go" else rust_text).READER.functions(text)
    marks("a.rs" if language == "rust" else "a.go", "// @tdd-id: x\n" + text)


def test_a_slug_used_twice_is_an_error_that_names_both_places() -> None:
    texts = {"b.js": "// @tdd-id: s\nit('x', () => {})\n", "a.py": "\n# @tdd-id: s\ndef test_y(): pass\n"}
    assert duplicates(texts) == (Duplicate("s", Place("a.py", 2), Place("b.js", 1)),)
    with pytest.raises(UserError, match=r"a\.py:2 and b\.js:1"):
        refuse_duplicates(texts)


def test_no_duplicates() -> None:
    refuse_duplicates({"b.py": "# @tdd-id: s\ndef test_x(): pass\n", "a.py": "def test_y(): pass\n"})
