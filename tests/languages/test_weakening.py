from __future__ import annotations

from verdigris.languages.findings import Weakening
from verdigris.languages.registry import UNREAD, language_named
from verdigris.languages.weakening import data_weakenings

GOLDEN = {"tests/golden/out.txt": "4\n"}
WORSE = {"tests/golden/out.txt": "5\n"}
CHANGED = Weakening("data", "tests/golden/out.txt", 1, "4\n", "5\n")


def test_contents_of_data_that_are_found_nowhere_any_more_are_told() -> None:
    assert data_weakenings(GOLDEN, WORSE, ()) == (CHANGED,)
    assert data_weakenings(GOLDEN, {"tests/data/out.txt": "4\n"}, ()) == ()
    assert data_weakenings(GOLDEN, WORSE, ["tests/golden/out.txt"]) == ()
    assert data_weakenings(GOLDEN, WORSE, ["tests/golden"]) == ()


def test_only_a_language_that_reads_no_tests_takes_them_for_data() -> None:
    assert UNREAD.tests.weakenings(GOLDEN, WORSE, ()) == (CHANGED,)
    assert language_named("python").tests.weakenings(GOLDEN, WORSE, ()) == ()
