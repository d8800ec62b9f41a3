from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verdigris.core.verdict import LostAssertion
from verdigris.languages.assertion_matching import find_losses
from verdigris.languages.python.tests import read

PATH = "tests/test_calc.py"
OLD = """\
import pytest
from calc import add, Money


@pytest.mark.parametrize("a, b", [(1, 2), (3, 4)])
def test_pairs(a, b):
    assert add(a, b) == a + b


def test_add():
    total = add(2, 2)
    assert total == 4, "four"
    assert total != 5


def test_raises():
    with pytest.raises(ValueError, match="no"):
        add("x", 1)


class TestMoney:
    def test_cents(self, mock):
        money = Money(1)
        self.assertEqual(money.cents, 100)
        mock.assert_called_once_with(money)
"""


def changed(old: str, new: str) -> tuple[LostAssertion, ...]:
    assert old in OLD
    return find_losses({PATH: OLD}, {PATH: OLD.replace(old, new)})


def test_every_kind_of_assertion_is_seen() -> None:
    kinds = [found.what for found in read(OLD).assertions]
    assert kinds == [
        "parametrize (1, 2)",
        "parametrize (3, 4)",
        "assert add(a, b) == a + b",
        "assert total == 4",
        "assert total != 5",
        "with pytest.raises(ValueError, match='no')",
        "self.assertEqual(money.cents, 100)",
        "mock.assert_called_once_with(money)",
    ]
    assert [found.line for found in read(OLD).assertions] == [5, 5, 7, 12, 13, 17, 24, 25]


def test_nothing_changed() -> None:
    assert find_losses({PATH: OLD}, {PATH: OLD}) == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("total", "result"),
        ("add", "plus"),
        ("Money", "Cash"),
        ("cents", "pennies"),
        ("test_add", "test_addition"),
        ("TestMoney", "TestCash"),
        ('"four"', '"it should be four"'),
        ("def test_add", "def test_more():\n    assert add(0, 0) == 0\n\n\ndef test_add"),
        ("    assert total != 5\n", "    assert total != 5\n    assert total > 0\n"),
        ("    money = Money(1)\n", "    money = make_money()\n"),
        ('"a, b"', '("a", "b")'),
    ],
)
def test_renaming_moving_and_adding_keep_every_assertion(old: str, new: str) -> None:
    assert changed(old, new) == ()


def test_a_local_name_may_change_in_one_test_alone() -> None:
    before = (
        "def test_a():\n    x = f()\n    assert x == 1\n\ndef test_b():\n    x = f()\n    assert x == 2\n"
    )
    after = before.replace("x = f()\n    assert x == 1", "y = f()\n    assert y == 1")
    assert find_losses({PATH: before}, {PATH: after}) == ()


def test_parameters_may_be_renamed() -> None:
    after = OLD.replace('"a, b"', '"x, y"').replace("def test_pairs(a, b)", "def test_pairs(x, y)")
    assert find_losses({PATH: OLD}, {PATH: after.replace("add(a, b) == a + b", "add(x, y) == x + y")}) == ()


def test_tests_may_move_between_files() -> None:
    head, _, tail = OLD.partition("def test_raises")
    after = {PATH: head, "tests/unit/test_more.py": "import pytest\n\ndef test_raises" + tail}
    assert find_losses({PATH: OLD}, after) == ()


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("    assert total != 5\n", "", "assert total != 5"),
        ("total == 4", "total == 5", "assert total == 4"),
        ("total == 4", "total >= 4", "assert total == 4"),
        ("total == 4", "total == 4 or True", "assert total == 4"),
        ("total == 4", "True", "assert total == 4"),
        ("a + b", "a - b", "a + b"),
        ("(3, 4)", "", "parametrize (3, 4)"),
        ("(1, 2), (3, 4)", "", "parametrize"),
        ("(3, 4)", "(3, 5)", "parametrize (3, 4)"),
        ('match="no"', 'match=""', "raises"),
        ("ValueError", "Exception, ValueError", "raises"),
        ('add("x", 1)', "raise ValueError('no')", "raises"),
        ("assertEqual(money.cents, 100)", "assertTrue(money.cents)", "assertEqual"),
        ("assert_called_once_with(money)", "assert_called()", "assert_called_once_with"),
        ("    assert total == 4", "    if total:\n        assert total == 4", "assert total == 4"),
        ("    total = add(2, 2)\n", "    return\n    total = add(2, 2)\n", "assert total == 4"),
        ("    total = add(2, 2)\n", "    total = add(2, 2)\n    if total: return\n", "assert total == 4"),
        (
            "    assert total == 4",
            "    with suppress(AssertionError):\n        assert total == 4",
            "assert total == 4",
        ),
        ("ValueError", "Exception", "raises"),
        ("assert_called_once_with", "assert_called_with", "assert_called_once_with"),
        ("def test_add", "@pytest.mark.skip\ndef test_add", "skip"),
        ("def test_add", "@pytest.mark.xfail(reason='x')\ndef test_add", "xfail"),
        ("    total = add(2, 2)\n", "    pytest.skip('later')\n    total = add(2, 2)\n", "skip"),
        ("(3, 4)", "pytest.param(3, 4, marks=pytest.mark.skip)", "skip"),
        ("class TestMoney", "pytestmark = pytest.mark.skipif(True)\n\nclass TestMoney", "skipif"),
        ("class TestMoney", "@unittest.skip('x')\nclass TestMoney", "skip"),
        ("def test_add", "def check_add", "test_add"),
        ("class TestMoney", "class Money_", "test_cents"),
        ("def test_add", "def test_add(", "parse"),
    ],
)
def test_what_is_lost_is_found(old: str, new: str, what: str) -> None:
    found = changed(old, new)
    assert found
    assert any(what in finding.what for finding in found), found
    assert all(finding.path == PATH and finding.line > 0 for finding in found)


def test_a_rename_must_be_one_to_one() -> None:
    before = "def test_a():\n    assert f(1) == 1\n    assert g(1) == 2\n"
    assert find_losses({PATH: before}, {PATH: before.replace("g(", "f(")}) != ()
    swapped = before.replace("f(", "h(").replace("g(", "f(").replace("h(", "g(")
    assert find_losses({PATH: before}, {PATH: swapped}) == ()


def test_a_name_still_in_use_is_not_renamed() -> None:
    before = "def test_a():\n    assert f(1) == 1\n\ndef test_b():\n    assert f(2) == 1\n"
    assert find_losses({PATH: before}, {PATH: before.replace("f(2)", "g(2)")}) != ()


def test_the_finding_names_the_test_that_changed() -> None:
    before = "".join(f"def test_{n}():\n    x = f({n})\n    assert x == 1\n" for n in range(4))
    after = before.replace("x", "y").replace("y == 1", "y == 2", 1)
    assert [finding.line for finding in find_losses({PATH: before}, {PATH: after})] == [3]


def test_one_assertion_does_not_stand_for_two() -> None:
    before = "def test_a():\n    assert f(1) == 1\n    assert f(1) == 1\n"
    after = "def test_a():\n    assert f(1) == 1\n"
    assert len(find_losses({PATH: before}, {PATH: after})) == 1


def test_a_test_without_assertions_counts_too() -> None:
    before = "def test_a():\n    f()\n\ndef test_b():\n    f()\n"
    assert find_losses({PATH: before}, {PATH: before.replace("test_a", "test_c")}) == ()
    assert find_losses({PATH: before}, {PATH: "def test_b():\n    f()\n"}) == (
        LostAssertion(PATH, 1, "test_a is gone"),
    )


def test_a_new_test_of_something_else_is_no_heir() -> None:
    before = "def test_a():\n    assert f(1) == 1\n\ndef test_b():\n    f()\n"
    after = "def test_b():\n    assert f(1) == 1\n\ndef test_c():\n    assert f(1) < 2\n"
    assert find_losses({PATH: before}, {PATH: after}) == (LostAssertion(PATH, 1, "test_a is gone"),)


def test_a_duplicate_hides_the_first_of_its_name() -> None:
    before = "def test_a():\n    assert f(1) == 1\n"
    assert find_losses({PATH: before}, {PATH: before + "\ndef test_a():\n    pass\n"}) != ()


def test_a_deleted_file() -> None:
    found = find_losses({PATH: OLD}, {})
    assert {finding.path for finding in found} == {PATH}
    assert len(found) == 8 + 4


def test_data_keeps_its_content_wherever_it_moves() -> None:
    golden = {"tests/golden/out.txt": "4\n"}
    assert find_losses(golden, {"tests/data/out.txt": "4\n"}) == ()
    assert find_losses(golden, {"tests/golden/out.txt": "5\n"}) == (
        LostAssertion("tests/golden/out.txt", 1, "its content changed"),
    )
    assert find_losses(golden, {}) == (LostAssertion("tests/golden/out.txt", 1, "its content changed"),)


def test_a_file_that_did_not_parse_had_no_assertions() -> None:
    assert find_losses({PATH: "def ("}, {PATH: "def test_a(): pass\n"}) == ()


CHECKS = st.lists(
    st.tuples(st.sampled_from(["f", "g", "h"]), st.integers(0, 3), st.sampled_from(["==", "!=", "<"])),
    min_size=1,
    max_size=6,
)


def text_of(checks: list[tuple[str, int, str]], names: dict[str, str] | None = None) -> str:
    lines = (f"    assert {(names or {}).get(name, name)}({n}) {op} {n}" for name, n, op in checks)
    return "def test_a():\n" + "\n".join(lines) + "\n"


@given(CHECKS, st.permutations(["f", "g", "h"]), st.randoms())
def test_any_bijection_and_any_order_is_kept(
    checks: list[tuple[str, int, str]], to: list[str], rng: object
) -> None:
    renamed = text_of(checks, dict(zip("fgh", to, strict=True)))
    assert find_losses({PATH: text_of(checks)}, {PATH: renamed}) == ()


@settings(deadline=None)
@given(CHECKS, st.data())
def test_leaving_any_one_out_is_found(checks: list[tuple[str, int, str]], data: st.DataObject) -> None:
    out = data.draw(st.integers(0, len(checks) - 1))
    fewer = checks[:out] + checks[out + 1 :]
    after = text_of(fewer) if fewer else "def test_a():\n    pass\n"
    assert find_losses({PATH: text_of(checks)}, {PATH: after}) != ()
