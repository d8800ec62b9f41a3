from __future__ import annotations

import textwrap

import pytest

from verdigris.languages.findings import Weakening
from verdigris.languages.python.weakening import weakenings

PATH = "tests/test_calc.py"
OLD = """\
import unittest
import pytest
from calc import add, parse, Money

CASES = [("1", 1), ("2", 2)]


@pytest.fixture
def rows():
    return [("a", 10), ("b", 20)]


def check_total(value):
    assert value == 4
    assert value != 5


@pytest.mark.parametrize("a, b", [(1, 2), (3, 4)])
def test_pairs(a, b):
    assert add(a, b) == a + b


@pytest.mark.parametrize("raw, expected", CASES)
def test_table(raw, expected):
    assert parse(raw) == expected


def test_add():
    total = add(2, 2)
    assert total == 4, "four"
    assert total != 5


def test_close():
    assert add(0.1, 0.2) == pytest.approx(0.3, abs=1e-9)


def test_raises():
    with pytest.raises(KeyError, match="no"):
        add("x", 1)


def test_rows(rows):
    for raw, expected in rows:
        assert parse(raw) == expected


def test_loop():
    for raw in ["x", "y"]:
        assert parse(raw) == 0


def test_helped():
    check_total(add(2, 2))


class TestMoney(unittest.TestCase):
    def test_cents(self):
        money = Money(1)
        self.assertEqual(money.cents, 100)
        self.assertIn("EUR", money.text)

    def test_mock(self):
        self.mock.assert_called_once_with(3)
"""


def changed(old: str, new: str, **more: object) -> tuple[Weakening, ...]:
    assert old in OLD
    return weakenings({PATH: OLD}, {PATH: OLD.replace(old, new)}, **more)  # type: ignore[arg-type]


def function(body: str) -> str:
    return "from m import f, g\n\ndef test_a():\n" + textwrap.indent(textwrap.dedent(body), "    ") + "\n"


def kinds(before: str, after: str) -> list[str]:
    return [found.kind for found in weakenings({PATH: function(before)}, {PATH: function(after)})]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("total", "result"),
        ("test_add", "test_addition"),
        ("TestMoney", "TestCash"),
        ("CASES", "TABLE"),
        ('"four"', '"it should be four"'),
        ("check_total", "check_sum"),
        ("def test_add", "def test_more():\n    assert add(0, 0) == 0\n\n\ndef test_add"),
        ("    assert total != 5\n", "    assert total != 5\n    assert total > 0\n"),
        ("(3, 4)", "(3, 4), (5, 6)"),
        ('("2", 2)', '("2", 2), ("3", 3)'),
        ('("b", 20)', '("b", 20), ("c", 30)'),
        ('"x", "y"', '"x", "y", "z"'),
        (
            '    total = add(2, 2)\n    assert total == 4, "four"\n    assert total != 5\n',
            "    assert add(2, 2) == 4\n    assert add(2, 2) != 5\n",
        ),
        ("abs=1e-9", "abs=1e-12"),
        ("total == 4", "4 == total"),
        ("self.assertEqual(money.cents, 100)", "assert money.cents == 100"),
        (
            '    assert total == 4, "four"\n    assert total != 5\n',
            "    assert total == 4 and total != 5\n",
        ),
        (
            "def test_add():\n    total = add(2, 2)\n",
            "@pytest.fixture\ndef total():\n    return add(2, 2)\n\n\ndef test_add(total):\n",
        ),
        ("from calc import add, parse, Money\n", "import calc\nfrom calc import add, parse, Money\n"),
        ("    def test_mock", "    def test_extra(self):\n        self.fail()\n\n    def test_mock"),
        ("    for raw in", "    # every one of them\n    for raw in"),
    ],
)
def test_moves_renames_and_additions_are_no_findings(old: str, new: str) -> None:
    assert changed(old, new) == ()


CLASS = """
class TestBounds:
    def test_all(self):
        assert all(name in calc.NAMES for name in ["add", "sub"])
    def test_add(self):
        assert calc.add(1, 2) == 3
    def test_sub(self):
        assert calc.sub(1, 2) == -1
"""


def test_a_class_that_is_renamed_keeps_its_tests_also_where_one_of_them_asks_for_more() -> None:
    more = CLASS.replace("TestBounds", "TestAllBounds").replace('"sub"]', '"sub", "mul"]')
    assert weakenings({PATH: CLASS}, {PATH: more}) == ()


def test_what_a_renamed_class_loses_is_told() -> None:
    less = CLASS.replace("TestBounds", "TestAllBounds").replace('["add", "sub"]', '["add"]')
    (found,) = weakenings({PATH: CLASS}, {PATH: less})
    assert (found.kind, found.line) == ("changed", 4)
    gone = CLASS.replace("TestBounds", "TestAllBounds").replace("test_sub", "_sub")
    assert [one.kind for one in weakenings({PATH: CLASS}, {PATH: gone})] == ["uncollected"]


HONEST = [
    ("assert f(1)", "assert f(1) == 5"),
    ("assert f(1) is not None", "assert f(1) == 5"),
    ("assert 2 in f(1)", "assert f(1) == [2]"),
    ("assert f(1) > 0", "assert f(1) == 5"),
    ("assert all(f(n) for n in (1, 2))", "assert all(f(n) for n in (1, 2, 3))"),
    ("assert isinstance(f(1), int)", "assert f(1) == 5"),
    ("assert f(1) == 1 or f(2) == 2", "assert f(1) == 1"),
    ("assert f(1) == 1", "x = f(1)\nassert x == 1"),
    ("assert f(1) == 1", "want = 1\nassert f(1) == want"),
    ("assert f(1) == 1\nassert g(2) == 2", "assert (f(1), g(2)) == (1, 2)"),
    ("assert f(1) == 1\nassert f(2) == 4", "for n, want in [(1, 1), (2, 4)]:\n    assert f(n) == want"),
    ("with pytest.raises(Exception):\n    f(1)", "with pytest.raises(ValueError):\n    f(1)"),
    ("with pytest.raises(ValueError):\n    f(1)", "with pytest.raises(ValueError, match='no'):\n    f(1)"),
    ("with raises((KeyError, ValueError)):\n    f(1)", "with raises(KeyError):\n    f(1)"),
    ("assert f(1) == approx(2, abs=0.1)", "assert f(1) == approx(2, abs=0.01)"),
    ("assert f(1) == approx(2)", "assert f(1) == 2"),
    ("if f(0):\n    assert f(1) == 1", "assert f(1) == 1"),
    ("try:\n    assert f(1) == 1\nexcept Exception:\n    pass", "assert f(1) == 1"),
    ("m.assert_called()", "m.assert_called_once_with(2)"),
    ("assert f(1) == 1", "x = g(1)\nassert f(1) == 1\nassert x"),
    ("assert len(f(1)) == 2", "assert f(1) == [1, 2]"),
    ("assert f(1).startswith('a')", "assert f(1) == 'abc'"),
    ("assert not f(1)", "assert f(1) is False"),
    ("assert f(1) >= 2", "assert f(1) > 2"),
    ("assert f(1) == 5", "if f(1) != 5:\n    raise AssertionError"),
    ("assert f(1) == 5\nassert f(2)", "if f(1) != 5:\n    raise AssertionError('one')\nassert f(2)"),
]


@pytest.mark.parametrize(("before", "after"), HONEST)
def test_stronger_and_equal_assertions_are_no_findings(before: str, after: str) -> None:
    assert kinds(before, after) == []


def test_tests_may_be_merged_into_a_table_and_split_again() -> None:
    apart = (
        "from m import f\n\ndef test_one():\n    assert f(1) == 'a'\n\n"
        "def test_two():\n    assert f(2) == 'b'\n"
    )
    table = (
        "import pytest\nfrom m import f\n\n@pytest.mark.parametrize('n, want', [(1, 'a'), (2, 'b')])\n"
        "def test_all(n, want):\n    assert f(n) == want\n"
    )
    assert weakenings({PATH: apart}, {PATH: table}) == ()
    assert weakenings({PATH: table}, {PATH: apart}) == ()
    found = weakenings({PATH: apart}, {PATH: table.replace(", (2, 'b')", "")})
    assert [(w.kind, w.before) for w in found] == [("removed", "test_two")]


def test_tests_may_move_between_files_and_assertions_into_helpers() -> None:
    head, _, tail = OLD.partition("def test_close")
    elsewhere = "import pytest\nimport unittest\nfrom calc import add, parse, Money\n"
    moved = {PATH: head, "tests/unit/test_more.py": elsewhere + "\ndef test_close" + tail}
    moved["tests/unit/test_more.py"] += "\nfrom tests.test_calc import check_total, rows\n"
    assert weakenings({PATH: OLD}, moved) == ()
    before = "from m import f\n\ndef test_a():\n    x = f(1)\n    assert x == 1\n"
    after = "from m import f\n\ndef check(x):\n    assert x == 1\n\ndef test_a():\n    check(f(1))\n"
    assert weakenings({PATH: before}, {PATH: after}) == ()


WEAKER = [
    ("assert f(1) == 5", "assert f(1)"),
    ("assert f(1) == 5", "assert f(1) is not None"),
    ("assert f(1) == 5", "assert f(1) in (5, 6)"),
    ("assert f(1) == 5", "assert isinstance(f(1), int)"),
    ("assert f(1) == 5", "assert f(1) >= 5"),
    ("assert f(1) == 5", "assert f(1) != 6"),
    ("assert f(1) == 5", "assert f(1) == 5 or True"),
    ("assert f(1) == 5", "assert f(1) == 5 or f(1) == 6"),
    ("assert f(1) == 5", "assert True"),
    ("assert f(1) == 5", "assert f(1) == f(1)"),
    ("assert f(1) == 5", "assert f(1) == ANY"),
    ("assert f(1) == 5", "assert f(1) == pytest.approx(5)"),
    ("assert f(1) == 'abc'", "assert f(1).startswith('a')"),
    ("assert f(1) == 'abc'", "assert len(f(1)) == 3"),
    ("assert f(1) == 'abc'", "assert re.match('a', f(1))"),
    ("assert f(1) == 'abc'", "assert f(1).lower() == 'abc'"),
    ("x = f(1)\nassert x == 5", "x = f(1)\nassert x"),
    ("assert f(1) == approx(2, abs=0.01)", "assert f(1) == approx(2, abs=0.1)"),
    ("assert f(1) == approx(2)", "assert f(1) == approx(2, rel=0.5)"),
    ("self.assertAlmostEqual(f(1), 2, places=5)", "self.assertAlmostEqual(f(1), 2, places=1)"),
    ("self.assertEqual(f(1), 2)", "self.assertTrue(f(1))"),
    ("assert f(1) > 2", "assert f(1) >= 2"),
    ("with pytest.raises(ValueError):\n    f(1)", "with pytest.raises(Exception):\n    f(1)"),
    ("with pytest.raises(KeyError):\n    f(1)", "with pytest.raises(LookupError):\n    f(1)"),
    ("with raises(KeyError):\n    f(1)", "with raises((KeyError, ValueError)):\n    f(1)"),
    ("with raises(KeyError, match='no'):\n    f(1)", "with raises(KeyError):\n    f(1)"),
    ("with raises(KeyError, match='no'):\n    f(1)", "with raises(KeyError, match='.*'):\n    f(1)"),
    ("with self.assertRaises(KeyError):\n    f(1)", "with self.assertRaises(Exception):\n    f(1)"),
    ("m.assert_called_once_with(2)", "m.assert_called_with(2)"),
    ("m.assert_called_once_with(2)", "m.assert_called()"),
    ("assert f(1) == 1 and g(1) == 2", "assert f(1) == 1"),
    ("if f(1) != 5:\n    raise AssertionError", "if f(1) < 5:\n    raise AssertionError"),
]


@pytest.mark.parametrize(("before", "after"), WEAKER)
def test_weaker_assertions_are_findings(before: str, after: str) -> None:
    assert [kind for kind in kinds(before, after) if kind in {"weaker", "dropped"}]


def test_a_test_that_a_condition_defines_is_read_too() -> None:
    before, after = (f"if f:\n    def test_a():\n        assert f(1){more}\n" for more in (" == 5", ""))
    assert [weakening.kind for weakening in weakenings({PATH: before}, {PATH: after})] == ["weaker"]


GUARDED = [
    "try:\n    assert f(1) == 5\nexcept Exception:\n    pass",
    "if f(2):\n    assert f(1) == 5",
    "with contextlib.suppress(AssertionError):\n    assert f(1) == 5",
    "if not f(2):\n    return\nassert f(1) == 5",
    "for n in f(2):\n    assert f(1) == 5",
    "while f(2):\n    assert f(1) == 5",
]


@pytest.mark.parametrize("after", GUARDED)
def test_what_may_no_longer_run_or_count_is_guarded(after: str) -> None:
    assert kinds("assert f(1) == 5", after) == ["guarded"]


DROPPED = [
    "return\nassert f(1) == 5",
    "pass",
    "x = f(1)",
    "def inner():\n    assert f(1) == 5",
    "lambda: f(1) == 5",
    "f(1) == 5",
    "assert (f(1) == 5, 'five')",
    "raise SystemExit\nassert f(1) == 5",
]


@pytest.mark.parametrize("after", DROPPED)
def test_what_no_longer_runs_at_all_is_dropped(after: str) -> None:
    assert kinds("assert f(1) == 5", after)[0] in {"dropped", "weaker"}


def test_a_changed_expectation_is_told_with_before_and_after() -> None:
    found = weakenings({PATH: function("assert f(1) == 5")}, {PATH: function("x = 1\nassert f(1) == 6")})
    assert found == (Weakening("changed", PATH, 4, "assert f(1) == 5", "assert f(1) == 6"),)
    assert kinds("assert f(1) == 5", "assert f(2) == 5") == ["changed"]
    assert kinds("assert f(1) == 5", "assert g(1) == 5") == ["changed"]
    assert kinds("assert f(1) == 5", "assert f(1) != 5") == ["weaker"]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("def test_add", "def _test_add", "uncollected"),
        ("def test_add", "def check_add", "uncollected"),
        ("class TestMoney(unittest.TestCase)", "class Money_", "uncollected"),
        ("(3, 4)", "", "cases"),
        ('("2", 2)', "", "cases"),
        ('("b", 20)', "", "cases"),
        ('"x", "y"', '"x"', "cases"),
        ("(1, 2), (3, 4)", "", "cases"),
        ("(3, 4)", "(3, 5)", "changed"),
        ("def test_add", "@pytest.mark.skip\ndef test_add", "skipped"),
        ("def test_add", "@pytest.mark.xfail(reason='x')\ndef test_add", "skipped"),
        ("    total = add(2, 2)\n", "    pytest.skip('later')\n    total = add(2, 2)\n", "skipped"),
        ("(3, 4)", "pytest.param(3, 4, marks=pytest.mark.skip)", "skipped"),
        ("CASES =", "pytestmark = pytest.mark.skipif(True)\nCASES =", "skipped"),
        ("CASES =", "calc = pytest.importorskip('calc')\nCASES =", "skipped"),
        ("CASES =", "from pytest import skip as later\nCASES =", "skipped"),
        ("import pytest\n", "import pytest\nimport pytest as pt\npt.skip('x')\n", "skipped"),
        ("class TestMoney", "@unittest.skip('x')\nclass TestMoney", "skipped"),
        ("    def test_cents", "    __test__ = False\n\n    def test_cents", "deselected"),
        ("CASES =", "__test__ = False\nCASES =", "deselected"),
        ("CASES =", "def pytest_collection_modifyitems(items):\n    items.clear()\nCASES =", "deselected"),
        ("    assert value != 5\n", "", "dropped"),
        ("    check_total(add(2, 2))", "    add(2, 2)", "dropped"),
        ("def test_add", "def test_add(", "unreadable"),
    ],
)
def test_what_the_suite_loses_is_found(old: str, new: str, kind: str) -> None:
    found = changed(old, new)
    assert kind in {weakening.kind for weakening in found}, found
    assert all(weakening.path == PATH and weakening.line > 0 for weakening in found)


@pytest.mark.parametrize(
    "after",
    [
        "def test_a():\n    assert f(1) == 1\n\ndef test_a():\n    pass\n",
        "def test_a():\n    assert f(1) == 1\n\ntest_a = None\n",
        "def test_a():\n    assert f(1) == 1\n\ndel test_a\n",
        "def test_a():\n    assert f(1) == 1\n\nfrom other import test_a\n",
        "def outer():\n    def test_a():\n        assert f(1) == 1\n",
        "if False:\n    def test_a():\n        assert f(1) == 1\n",
        "class Cases:\n    def test_a(self):\n        assert f(1) == 1\n",
        "class TestCases:\n    def __init__(self): ...\n    def test_a(self):\n        assert f(1) == 1\n",
        "def _unused():\n    assert f(1) == 1\n\ndef test_a():\n    pass\n",
        "@pytest.fixture\ndef test_a():\n    assert f(1) == 1\n",
        "",
    ],
)
def test_a_test_that_is_hidden_is_a_finding(after: str) -> None:
    before = "def test_a():\n    assert f(1) == 1\n"
    found = weakenings({PATH: before}, {PATH: after})
    assert {w.kind for w in found} & {"removed", "uncollected", "dropped"}


def test_a_file_that_is_renamed_away_is_a_finding() -> None:
    before = "def test_a():\n    assert f(1) == 1\n"
    found = weakenings({"tests/test_a.py": before}, {"tests/a_cases.py": before})
    assert [(w.kind, w.before) for w in found] == [("uncollected", "test_a")]
    assert weakenings({"tests/test_a.py": before}, {"tests/unit/a_test.py": before}) == ()
    assert weakenings({"checks/a.py": before}, {"checks/b.py": before}) == ()
    assert [w.kind for w in weakenings({"tests/test_a.py": before}, {})] == ["removed"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("collect_ignore = ['test_a.py']\n", "deselected"),
        ("def pytest_ignore_collect(path): return True\n", "deselected"),
        ("def pytest_runtest_makereport(item, call): ...\n", "hook"),
        ("def pytest_sessionfinish(session): session.exitstatus = 0\n", "hook"),
        ("pytest_plugins = ['pkg.testing']\n", "hook"),
    ],
)
def test_a_conftest_that_takes_over_is_a_finding(text: str, kind: str) -> None:
    assert [w.kind for w in weakenings({}, {"conftest.py": text})] == [kind]
    assert weakenings({"conftest.py": text}, {"conftest.py": text + "\nX = 1\n"}) == ()


def test_a_conftest_may_gain_fixtures_and_options() -> None:
    text = "import pytest\n\n@pytest.fixture\ndef db():\n    yield 1\n\ndef pytest_addoption(parser): ...\n"
    assert weakenings({}, {"tests/conftest.py": text}) == ()


def test_what_a_person_gave_up_is_no_finding() -> None:
    old, new = "    assert total != 5\n", ""
    assert changed(old, new) != ()
    assert changed(old, new, revised=[f"{PATH}::test_add"]) == ()
    assert changed(old, new, revised=[PATH]) == ()
    assert changed(old, new, revised=["tests"]) == ()
    assert changed(old, new, revised=[f"{PATH}::test_close"]) != ()
    assert changed("(3, 4)", "", revised=[f"{PATH}::test_pairs[3-4]"]) == ()
    assert changed("assertIn(", "assertTrue(", revised=[f"{PATH}::TestMoney"]) == ()
    assert weakenings({PATH: OLD}, {}, revised=[PATH]) == ()


def test_an_annotated_test_is_given_up_by_its_slug() -> None:
    before = "# @tdd-id: adds\ndef test_a():\n    assert f(1) == 1\n"
    assert weakenings({PATH: before}, {}, revised=["adds"]) == ()
    assert weakenings({PATH: before}, {}, revised=["other"]) != ()


def test_a_helper_in_another_file_that_asserts_less() -> None:
    before = {"tests/helpers.py": "def check(x):\n    assert x == 1\n"}
    after = {"tests/helpers.py": "def check(x):\n    assert x\n"}
    assert [w.kind for w in weakenings(before, after)] == ["weaker"]


def test_a_table_in_another_file_that_loses_a_row() -> None:
    test = (
        "import pytest\nfrom m import f\nfrom tests.cases import ROWS\n\n"
        "@pytest.mark.parametrize('a, b', ROWS)\ndef test_a(a, b):\n    assert f(a) == b\n"
    )
    before = {"tests/test_a.py": test, "tests/cases.py": "ROWS = [(1, 2), (3, 4)]\n"}
    fewer = {**before, "tests/cases.py": "ROWS = [(1, 2)]\n"}
    assert [(w.kind, w.before) for w in weakenings(before, fewer)] == [("cases", "(3, 4)")]
    more = {**before, "tests/cases.py": "ROWS = [(1, 2), (3, 4), (5, 6)]\n"}
    assert weakenings(before, more) == ()


def test_a_helper_is_judged_by_who_uses_it() -> None:
    test = "from m import f\nfrom tests.helpers import check\n\ndef test_a():\n    check(f(1))\n"
    before = {"tests/test_a.py": test, "tests/helpers.py": "def check(x):\n    assert x == 1\n"}
    renamed = {
        "tests/test_a.py": test.replace("check", "holds"),
        "tests/helpers.py": "def holds(y):\n    assert y == 1\n",
    }
    assert weakenings(before, renamed) == ()
    unused = {**before, "tests/test_a.py": test.replace("    check(f(1))", "    f(1)")}
    assert [w.kind for w in weakenings(before, unused)] == ["dropped"]


def test_a_new_test_may_be_skipped_and_an_old_one_that_moves_may_not() -> None:
    old = "from m import f\n\ndef test_a():\n    assert f(1) == 1\n"
    new = "import pytest\n\n@pytest.mark.skip\ndef test_b():\n    assert f(2) == 4\n"
    assert weakenings({PATH: old}, {PATH: old + new}) == ()
    assert (
        weakenings({PATH: old}, {PATH: old, "tests/test_b.py": "import pytest\npytest.skip('x')\n" + new})
        == ()
    )
    moved = "import pytest\n" + old.replace("def test_a", "pytestmark = pytest.mark.skip\n\ndef test_z")
    assert [w.kind for w in weakenings({PATH: old}, {"tests/test_b.py": moved})] == ["skipped"]


def test_the_finding_names_both_sides() -> None:
    (found,) = changed("assert total != 5", "assert total")
    assert found == Weakening("weaker", PATH, 31, "assert total != 5", "assert total")


def test_one_assertion_does_not_stand_for_two() -> None:
    before = "def test_a(x):\n    assert x == 1\n\ndef test_b(y):\n    assert y == 1\n"
    after = "def test_a(x):\n    assert x == 1\n\ndef test_b(y):\n    pass\n"
    assert [(w.kind, w.line) for w in weakenings({PATH: before}, {PATH: after})] == [("dropped", 5)]


def test_nothing_changed() -> None:
    assert weakenings({PATH: OLD}, {PATH: OLD}) == ()
    assert weakenings({}, {PATH: OLD}) == ()


def test_texts_with_values_in_them_are_read_too() -> None:
    before = function("""x = 'a\\n'\nassert f(f'{x!r:>{3}}') == f"{x}!" """)
    assert weakenings({PATH: before}, {PATH: before.replace("'!'", "'?'") + "\n"}) == ()
    assert kinds("x = 'a'\nassert f(1) == f'{x}!'", "x = 'a'\nassert f(1) == f'{x}?'") == ["changed"]


def test_a_new_file_that_does_not_parse_loses_nothing() -> None:
    """Tests of parsers and linters have such files for data."""
    cases = {"tests/files/bad.py": "def broken(:\n"}
    assert weakenings({PATH: CLASS}, {PATH: CLASS, **cases}) == ()
    assert [w.kind for w in weakenings({PATH: CLASS}, {PATH: "def broken(:\n"})] == ["unreadable"]


def test_what_is_nested_too_deeply_is_unreadable() -> None:
    deep = "def test_a():\n    assert f(1) == " + "1 + " * 3000 + "1\n"
    found = weakenings({PATH: "def test_a():\n    assert f(1) == 1\n"}, {PATH: deep})
    assert [w.kind for w in found] == ["unreadable"]


UNTIL = "def until(happened):\n    while not happened():\n        assert clock() < deadline\n\n\n"
OTHER = {"tests/test_other.py": UNTIL + "def test_b():\n    until(done)\n"}
OTHER_NOW = {"tests/test_other.py": OTHER["tests/test_other.py"] + "\n\ndef test_c():\n    assert f() == 1\n"}
"""Files that changed are compared, whatever they have to do with each other."""


def test_a_function_of_the_same_name_in_another_file_is_not_the_method_that_a_test_calls() -> None:
    text = "def test_a(screen):\n    screen.until('ready')\n    assert screen.text == 'ready'\n"
    now = text.replace("    screen.until('ready')\n", "")
    assert weakenings({**OTHER, PATH: text}, {**OTHER_NOW, PATH: now}) == ()


def test_nor_is_it_the_function_that_a_test_imports_from_elsewhere() -> None:
    text = "from waiting import until\n\n\ndef test_a():\n    until(ready)\n    assert text() == 'ready'\n"
    now = text.replace("    until(ready)\n", "")
    assert weakenings({**OTHER, PATH: text}, {**OTHER_NOW, PATH: now}) == ()


@pytest.mark.parametrize(
    ("imported", "call"),
    [
        ("from waiting import until", "until"),
        ("from tests.waiting import until as wait", "wait"),
        ("from .waiting import until", "until"),
        ("from . import waiting", "waiting.until"),
        ("import waiting", "waiting.until"),
        ("import tests.waiting as waiting", "waiting.until"),
        ("from tests.handed_on import until", "until"),
        ("from waiting import *", "until"),
    ],
)
def test_what_a_test_asserts_by_an_imported_helper_is_found_by_the_import(imported: str, call: str) -> None:
    suite = {"tests/waiting.py": UNTIL, "tests/handed_on.py": "from tests.waiting import until\n"}
    text = f"{imported}\n\n\ndef test_a():\n    {call}(ready)\n    assert text() == 'ready'\n"
    before, after = {**suite, PATH: text}, {**suite, PATH: text.replace(f"    {call}(ready)\n", "")}
    before, after = before | OTHER, after | OTHER_NOW
    assert [(one.kind, one.path) for one in weakenings(before, after)] == [("dropped", "tests/waiting.py")]


CHECK = "def check(answer):\n    assert answer == 3\n    assert answer > 0\n"
CHECKER = (
    "class Checker:\n    def check(self, answer):\n        assert answer == 3\n        assert answer > 0\n"
)


@pytest.mark.parametrize(
    ("helpers", "test"),
    [
        (CHECK, "m = __import__('importlib').import_module('helpers')\ndef test_a():\n    m.check(f())\n"),
        (CHECK, "def test_a():\n    __import__('helpers').check(f())\n"),
        (CHECK, "import helpers\n\n\ndef test_a():\n    getattr(helpers, 'check')(f())\n"),
        (CHECKER, "from helpers import Checker\n\n\ndef test_a():\n    Checker().check(f())\n"),
        (
            CHECKER,
            "from helpers import Checker\nclass TestA(Checker):\n    def test_a(self): self.check(f())\n",
        ),
    ],
)
def test_a_helper_that_no_import_leads_to_is_compared_by_itself(helpers: str, test: str) -> None:
    before = {"tests/helpers.py": helpers, PATH: test}
    weaker = {**before, "tests/helpers.py": helpers.replace("assert answer == 3", "pass")}
    assert [(one.kind, one.path) for one in weakenings(before, weaker)] == [("dropped", "tests/helpers.py")]
    renamed = {path: text.replace("check", "examine") for path, text in before.items()}
    assert weakenings(before, renamed) == ()


POLLING = """\
import time


def until(true, what):
    assert callable(true)
    end = time.monotonic() + 9
    while not true():
        assert time.monotonic() < end, what
"""
POLLS = "from polling import until\n\n\ndef test_a():\n    until({predicate}, 'late')\n"


def polls(body: str, predicate: str) -> dict[str, str]:
    inner = textwrap.indent(body, "    ")
    text = POLLS.format(predicate=predicate).replace("    until", f"{inner}    until")
    return {"tests/polling.py": POLLING, PATH: text}


@pytest.mark.parametrize(
    ("body", "predicate"),
    [
        ("def is_done():\n    return f() == 3\n", "is_done"),
        ('def is_done() -> bool:\n    """Told."""\n    return f() == 3\n', "is_done"),
        ("done = lambda: f() == 3\n", "done"),
    ],
)
def test_a_lambda_may_become_a_function_that_returns_the_same(body: str, predicate: str) -> None:
    before, after = polls("", "lambda: f() == 3"), polls(body, predicate)
    assert weakenings(before, after) == ()
    assert weakenings(after, before) == ()


@pytest.mark.parametrize(
    "body",
    [
        "def is_done():\n    return True\n",
        "def is_done():\n    return f() == 4\n",
        "def is_done():\n    if f():\n        return True\n    return f() == 3\n",
        "@always\ndef is_done():\n    return f() == 3\n",
        "def is_done():\n    return f() == 3\nis_done = bool\n",
        "def is_done():\n    return f() == 3\ndef is_done():\n    return True\n",
        "def is_done():\n    yield f() == 3\n",
        "async def is_done():\n    return f() == 3\n",
    ],
)
def test_a_function_that_returns_something_else_is_not_that_lambda(body: str) -> None:
    found = weakenings(polls("", "lambda: f() == 3"), polls(body, "is_done"))
    assert "guarded" in {one.kind for one in found}
