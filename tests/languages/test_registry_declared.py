from __future__ import annotations

import pytest

from verdigris.languages.registry import language_named


@pytest.mark.parametrize(
    ("language", "written", "reported"),
    [
        ("node", "total › of nothing", "total › of nothing"),
        ("node", "total › adds %j to %d", "total › adds [1,2] to 3"),
        ("node", "adds $a.b to $b (#%#)", "adds 1 to 2 (#1)"),
        ("node", "total › `case ${n}.`", "total › case 1."),
        ("node", "group %s › in it", "group a › in it"),
        ("rust", "tests::adds", "tests::adds"),
        ("rust", "tests::adds", "item::price::tests::adds"),
        ("rust", "tests::adds", "tests::adds::case_1"),
        ("go", "TestTotal", "TestTotal"),
        ("go", "TestTotal", "TestTotal/two_items"),
        ("", "a", "a"),
    ],
)
def test_a_text_makes_the_tests_that_bear_its_name(language: str, written: str, reported: str) -> None:
    assert language_named(language).ids.makes(written, reported)


@pytest.mark.parametrize(
    ("language", "written", "reported"),
    [
        ("node", "total", "total › of nothing"),
        ("node", "adds", "adds/removes"),
        ("node", "case 1.", "case 10"),
        ("node", "`case ${n}.`", "case 1"),
        ("rust", "tests::adds", "tests::adds_more"),
        ("rust", "adds", "subadds"),
        ("go", "TestTotal", "TestTotals"),
        ("java", "a", "ab"),
    ],
)
def test_and_no_others(language: str, written: str, reported: str) -> None:
    assert not language_named(language).ids.makes(written, reported)
