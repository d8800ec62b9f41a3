from __future__ import annotations

import pytest

from verdigris.core.test_ids import NativeId, innermost, named_tests, nearest, shell_words, split_id


@pytest.mark.parametrize(
    ("test_id", "parts"),
    [
        ("tests/test_a.py::test_x", ("tests/test_a.py", "test_x", "")),
        ("tests/test_a.py::TestA::test_x[a::b]", ("tests/test_a.py", "TestA::test_x", "[a::b]")),
        ("tests/test_a.py::test_x[[c]]", ("tests/test_a.py", "test_x", "[[c]]")),
        ("a::b[1]/test_a.py::test_x[x.py::y]", ("a::b[1]/test_a.py", "test_x", "[x.py::y]")),
        ("web/x.test.ts::a › [b] c/d::e", ("web/x.test.ts", "a › [b] c/d::e", "")),
        ("src/lib.rs::tests::adds::case_1", ("src/lib.rs", "tests::adds::case_1", "")),
        ("src/lib.rs::a::B<[u8]> (line 3)", ("src/lib.rs", "a::B<[u8]> (line 3)", "")),
        ("pkg/a_test.go::TestA/b[1]/c::d", ("pkg/a_test.go", "TestA", "/b[1]/c::d")),
        ("src/test/java/a/BTest.java::a.BTest::c[1]", ("src/test/java/a/BTest.java", "a.BTest::c[1]", "")),
        ("spec/a_spec.rb::A::b x.py::y", ("spec/a_spec.rb", "A::b x.py::y", "")),
        ("docs/a.txt::a.txt", ("docs/a.txt", "a.txt", "")),
        ("tests/test_a.py", ("tests/test_a.py", "", "")),
    ],
)
def test_split(test_id: str, parts: tuple[str, str, str]) -> None:
    assert split_id(test_id) == NativeId(*parts)


KNOWN = [
    "tests/test_cart.py::test_total",
    "tests/test_cart.py::test_empty",
    "tests/unit/test_user.py::test_login",
]


@pytest.mark.parametrize(
    ("unknown", "best"),
    [
        ("tests/test_cart.py::test_totl", KNOWN[0]),
        ("test_login", KNOWN[2]),
        ("tests/test_user.py::test_login", KNOWN[2]),
        ("test_user.py", KNOWN[2]),
        ("tests/test_cart.py::test_e", KNOWN[1]),
    ],
)
def test_nearest(unknown: str, best: str) -> None:
    assert nearest(unknown, KNOWN)[0] == best


def test_nothing_is_near() -> None:
    assert nearest("qqqq", KNOWN) == ()
    assert nearest("qqqq", []) == ()


@pytest.mark.parametrize(
    "word",
    ["test_x", "TestA::test_x", "test_x[1-a]", "tests.test_a.TestA.test_x", "test_a.TestA.test_x"],
)
def test_a_test_is_known_by_its_bare_and_its_dotted_name(word: str) -> None:
    native = "tests/test_a.py::TestA::test_x[1-a]"
    assert named_tests(word, [native, "tests/test_b.py::test_y"]) == (native,)


def test_a_title_is_known_by_its_last_part() -> None:
    native = "src/cart.test.ts::cart › is empty"
    assert named_tests("is empty", [native]) == (native,)
    assert named_tests("empty", [native]) == ()


def test_of_subtests_the_innermost_are_told() -> None:
    ids = ["a_test.go::TestA", "a_test.go::TestA/b", "a_test.go::TestA/b/c", "a_test.go::TestAB", "a.py::t"]
    assert innermost(ids) == ["a_test.go::TestA/b/c", "a_test.go::TestAB", "a.py::t"]


def test_an_id_is_shown_as_a_shell_takes_it() -> None:
    assert shell_words("t/a.py::test_x", "src/a.py") == "t/a.py::test_x src/a.py"
    assert shell_words("t/a.ts::it's › so") == """'t/a.ts::it'"'"'s › so'"""
