from __future__ import annotations

import pytest

from verdigris.core.report import Failure, Place
from verdigris.languages.rust import LANGUAGE

SOURCE = b"pub fn parse(text: &str) -> Result<u32, String> {}\nimpl A { fn add(&self) {} }\n"
KNOWN = LANGUAGE.unwraps.functions({"src/lib.rs": SOURCE})
TEXT = """\
#[test]
fn one() {
    let file = open("x").unwrap();
    let n = cart::parse(file).unwrap();
    assert_eq!(n, 1);
}

mod tests {
    #[test]
    fn parse() -> Result<(), String> {
        assert_eq!(super::parse("2")?, 2);
        Ok(())
    }

    #[test]
    fn by_hand() {
        match parse::<u8>("3") {
            Ok(n) => assert_eq!(n, 3),
            Err(why) => panic!("{why}"),
        }
    }

    #[test]
    fn library() -> Result<(), String> {
        "x".trim()?;
        Ok(())
    }

    #[test]
    fn index() {
        assert_eq!(parse("4").to_vec()[0], 4);
    }
}
"""


def test_functions_of_source_are_known_by_name() -> None:
    assert KNOWN == {"parse": "src/lib.rs", "add": "src/lib.rs"}


@pytest.mark.parametrize(
    ("kind", "test", "line", "asked"),
    [
        ("panic", "one", 4, 4),
        ("panic", "one", 3, None),
        ("Err", "tests::parse", None, 14),
        ("Err", "module::tests::parse", None, 14),
        ("panic", "tests::by_hand", 19, 19),
        ("Err", "tests::library", None, None),
        ("panic", "tests::index", 31, None),
        ("panic", "tests::by_hand", 4, None),
        ("Err", "tests::unheard_of", None, None),
    ],
)
def test_source_was_asked_before_the_test_gave_up(
    kind: str, test: str, line: int | None, asked: int | None
) -> None:
    place = None if line is None else Place("tests/a.rs", line)
    failure = Failure(kind, assertion=False, message="", place=place)
    assert LANGUAGE.unwraps.subject_of(failure, TEXT, test, KNOWN) == (
        None if asked is None else ("src/lib.rs", asked)
    )
