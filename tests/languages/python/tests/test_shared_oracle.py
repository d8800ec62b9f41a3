"""Source that tests assert with, or take what they expect from."""

from __future__ import annotations

import pytest

from verdigris.languages.python.tests.shared_oracle import find_shared
from verdigris.languages.python.weakening.shared_losses import idle_assertions, judge_shared
from verdigris.languages.tracing import SharedLosses, SharedOracle

CHECKS = 'def assert_sound(bill):\n    assert bill["gross"] == 6\n\n\nRATES = {"at": 20, "ch": 8}\n'
TEST = "from pkg.checks import RATES, assert_sound\nfrom pkg.bill import bill, rate\n\n\n"
SOUND = f"{TEST}def test_it():\n    assert_sound(bill(5))\n"
RATE = f'{TEST}def test_it():\n    assert rate("at") == RATES["at"]\n'
CLAIMED = ("tests/test_it.py::test_it",)
HELPER = SharedOracle("pkg/checks.py", "assert_sound", 1, "assertion", CLAIMED[0])
TABLE = SharedOracle("pkg/checks.py", "RATES", 5, "expectation", CLAIMED[0])


def shared(test: str, sources: dict[str, str], **tests: str) -> tuple[SharedOracle, ...]:
    more = {f"tests/{name}.py": text for name, text in tests.items()}
    return find_shared({"tests/test_it.py": test, **more}, sources, CLAIMED)


@pytest.mark.parametrize(
    "test",
    [
        SOUND,
        "import pkg.checks\n\n\ndef test_it():\n    pkg.checks.assert_sound({})\n",
        "from pkg import checks as c\n\n\ndef test_it():\n    for n in [1]:\n        c.assert_sound({})\n",
        "from pkg.checks import assert_sound as ok\n\n\ndef test_it():\n    ok({})\n",
        "from pkg.checks import *\n\n\ndef test_it():\n    assert_sound({})\n    assert 1\n",
        "import pkg\n\n\ndef test_it():\n    pkg.checks.assert_sound({})\n",
        "from ..pkg import checks\n\n\ndef test_it():\n    checks.assert_sound({})\n",
    ],
)
def test_a_function_of_source_that_a_test_asserts_with_is_shared(test: str) -> None:
    assert shared(test, {"pkg/checks.py": CHECKS}) == (HELPER,)


def test_it_is_found_through_helpers_of_the_tests_and_through_what_a_package_hands_on() -> None:
    test = "from helpers import look\n\n\ndef test_it():\n    look({})\n"
    helper = "from pkg import assert_sound\n\n\ndef look(bill):\n    assert_sound(bill)\n"
    package = "from .checks import assert_sound\n"
    found = shared(test, {"pkg/__init__.py": package, "pkg/checks.py": CHECKS}, helpers=helper)
    assert found == (HELPER,)


@pytest.mark.parametrize(
    "use", ["Checked().check({})", "c = Checked()\n    c.check({})", "Checked.check(None, {})"]
)
def test_a_method_that_raises_the_error_of_assertions_is_shared(use: str) -> None:
    text = (
        "class Checked:\n    def check(self, bill):\n        if not bill:\n            raise AssertionError\n"
    )
    test = f"from pkg.checks import Checked\n\n\ndef test_it():\n    {use}\n"
    (found,) = shared(test, {"pkg/checks.py": text})
    assert (found.name, found.line) == ("Checked::check", 2)


def test_a_base_class_in_source_that_asserts_is_shared() -> None:
    text = "class Base:\n    def same(self, a, b):\n        assert a == b\n"
    head = "from pkg.checks import Base\n\n\nclass TestIt(Base):\n"
    test = f"{head}    def test_it(self):\n        self.same(1, 2)\n"
    found = find_shared(
        {"tests/test_it.py": test}, {"pkg/checks.py": text}, ["tests/test_it.py::TestIt::test_it"]
    )
    assert [one.name for one in found] == ["Base::same"]


@pytest.mark.parametrize(
    "test",
    [
        "from pkg.checks import parse\n\n\ndef test_it():\n    assert parse('a') == 1\n",
        "from pkg.checks import parse\n\n\ndef test_it():\n    parse('a')\n    assert parse('b') == 2\n",
        (
            "from pytest import raises\nfrom pkg.checks import parse\n\n\n"
            "def test_it():\n    with raises(AssertionError):\n        parse('')\n"
        ),
    ],
)
def test_code_under_test_that_asserts_what_it_needs_is_not(test: str) -> None:
    assert shared(test, {"pkg/checks.py": "def parse(text):\n    assert text\n    return 1\n"}) == ()


@pytest.mark.parametrize(
    "test",
    [
        RATE,
        f"{TEST}def test_it():\n    for name, want in RATES.items():\n        assert rate(name) == want\n",
        f"{TEST}@pytest.mark.parametrize('case', RATES)\ndef test_it(case):\n    assert rate(case)\n",
    ],
)
def test_a_table_of_source_that_holds_what_a_test_expects_is_shared(test: str) -> None:
    assert shared(test, {"pkg/checks.py": CHECKS}) == (TABLE,)


def test_a_constant_that_is_itself_under_test_is_not() -> None:
    test = f"{TEST}def test_it():\n    assert RATES == {{'at': 20}}\n"
    assert shared(test, {"pkg/checks.py": CHECKS}) == ()


def test_an_assertion_that_asks_for_less_is_a_loss() -> None:
    after = 'def assert_sound(bill):\n    if "gross" in bill:\n        assert bill["gross"] == 6\n'
    found = judge_shared({"pkg/checks.py": CHECKS}, {"pkg/checks.py": after}, [HELPER])
    assert len(found.blocking) == 1
    assert found.blocking[0].startswith("pkg/checks.py:2: guarded: was `assert bill['gross'] == 6`")


def test_an_error_that_is_no_longer_raised_is_a_loss() -> None:
    before = "def check(bill):\n    if bill != 6:\n        raise AssertionError('no')\n"
    after = "def check(bill):\n    if bill == 7:\n        raise AssertionError('no')\n"
    one = SharedOracle("pkg/checks.py", "check", 1, "assertion", "t")
    assert judge_shared({"pkg/checks.py": before}, {"pkg/checks.py": after}, [one]).blocking
    assert (
        judge_shared({"pkg/checks.py": before}, {"pkg/checks.py": before + "\n\nX = 1\n"}, [one])
        == SharedLosses()
    )


def test_what_such_a_function_calls_in_source_counts_and_what_stands_beside_it_does_not() -> None:
    same = "def _same(a, b):\n    assert a == b\n\n\ndef parse(t):\n    assert t\n"
    before = f"def assert_sound(b):\n    _same(b, 6)\n\n\n{same}"
    weaker = before.replace("assert a == b", "assert a")
    beside = before.replace("    assert t\n", "    return 1\n")
    assert judge_shared({"pkg/checks.py": before}, {"pkg/checks.py": weaker}, [HELPER]).blocking
    assert judge_shared({"pkg/checks.py": before}, {"pkg/checks.py": beside}, [HELPER]) == SharedLosses()


def test_a_helper_that_moves_and_keeps_its_assertions_loses_nothing() -> None:
    helper = CHECKS.partition("\n\n\n")[0] + "\n"
    after = {"pkg/checks.py": "from pkg.sound import assert_sound\n", "pkg/sound.py": helper}
    assert judge_shared({"pkg/checks.py": helper}, after, [HELPER]).blocking == ()


@pytest.mark.parametrize(
    ("after", "blocks"),
    [('{"at": 0, "ch": 8}', True), ('{"at": 20}', True), ('{"at": 20, "ch": 8, "de": 19}', False)],
)
def test_an_expected_value_that_changes_blocks_and_one_that_is_added_is_told(
    after: str, blocks: bool
) -> None:
    text = CHECKS.replace('{"at": 20, "ch": 8}', after)
    found = judge_shared({"pkg/checks.py": CHECKS}, {"pkg/checks.py": text}, [TABLE])
    assert bool(found.blocking) is blocks
    assert bool(found.noted) is not blocks


@pytest.mark.parametrize("stub", ["RATES = None  # STUB:TDD\n", "# STUB:TDD\nRATES = None\n"])
@pytest.mark.parametrize("after", ["def RATES():\n    return 1\n", "RATES = 3\n"])
def test_a_stub_holds_nothing_that_a_test_could_lose(stub: str, after: str) -> None:
    """It was written so that the test loads; what takes its place is told."""
    found = judge_shared({"pkg/checks.py": stub}, {"pkg/checks.py": after}, [TABLE])
    assert found.blocking == ()
    assert len(found.noted) == 1
    plain = {"pkg/checks.py": stub.replace("STUB:TDD", "yes")}
    assert judge_shared(plain, {"pkg/checks.py": after}, [TABLE]).blocking


@pytest.mark.parametrize(
    ("after", "blocks"),
    [
        ("import weakref\nRATES = weakref.WeakKeyDictionary()\n", False),
        ("from collections import OrderedDict as O\nRATES = O()\n", False),
        ("RATES = dict()\n", False),
        ("from pkg.any import Anything\nRATES = Anything()\n", True),
        ("from unittest.mock import MagicMock\nRATES = MagicMock()\n", True),
        ("from collections import Counter\nRATES = Counter('ab')\n", True),
    ],
)
def test_an_empty_table_loses_nothing_to_another_empty_one(after: str, blocks: bool) -> None:
    """It is what source keeps at run time, not what a test expects of it."""
    found = judge_shared({"pkg/checks.py": "RATES = {}\n"}, {"pkg/checks.py": after}, [TABLE])
    assert (bool(found.blocking), bool(found.noted)) == (blocks, not blocks)


BRANCHES = "if rich:\n    RATES = shiny\nelse:\n    RATES = plain\n"


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (BRANCHES.replace("RATES = plain", "RATES = OTHERS = plain"), []),
        (BRANCHES.replace("shiny", "dull"), ["was `shiny`, is `dull`"]),
        (BRANCHES + "RATES = dull\n", ["had no value in this branch, is `dull`"]),
        ("RATES = plain\n", ["was `shiny`, is `plain`"]),
        ("if rich:\n    RATES = shiny\n", ["was `plain`, it is gone"]),
    ],
)
def test_an_expected_value_with_branches_is_compared_in_each_of_them(after: str, told: list[str]) -> None:
    found = judge_shared({"pkg/checks.py": BRANCHES}, {"pkg/checks.py": after}, [TABLE])
    assert [text.partition("RATES ")[2].partition(";")[0] for text in found.blocking] == told


@pytest.mark.parametrize(("ran", "idle"), [({1, 2}, 0), ({1}, 1), (set(), 1)])
def test_a_function_that_tests_assert_with_must_be_seen_to_assert(ran: set[int], idle: int) -> None:
    found = idle_assertions({"pkg/checks.py": CHECKS}, [HELPER], {"pkg/checks.py": frozenset(ran)})
    assert len(found) == idle


def test_the_assertions_of_what_it_calls_elsewhere_count() -> None:
    sources = {
        "pkg/checks.py": "from pkg.same import same\n\n\ndef assert_sound(b):\n    same(b, 6)\n",
        "pkg/same.py": "def same(a, b):\n    if a != b:\n        raise AssertionError(a)\n",
    }
    assert idle_assertions(sources, [HELPER], {"pkg/same.py": frozenset({2})}) == ()
    assert idle_assertions(sources, [HELPER], {"pkg/same.py": frozenset({1})}) != ()


CLI = "def show(a):\n    return a\n"
LISTED = "import cli\n\nRATES = [cli.show, 5]\n"
LISTING = {"pkg/cli.py": CLI, "pkg/checks.py": f"{LISTED}show = 1\n"}


@pytest.mark.parametrize(
    "after",
    [
        {"pkg/cli.py": CLI.replace("show", "tell"), "pkg/checks.py": LISTED.replace("show", "tell")},
        {"pkg/cli.py": "", "pkg/ui.py": CLI, "pkg/checks.py": LISTED.replace("cli", "pkg.ui")},
        {"pkg/cli.py": "", "pkg/ui.py": CLI, "pkg/checks.py": LISTED.replace("cli.show", "show")},
        {
            "pkg/cli.py": CLI.replace("show", "tell"),
            "pkg/checks.py": f"{LISTED.replace('show', 'tell')}show = 1\n",
        },
    ],
    ids=["renamed", "moved", "moved, and imported by its name", "renamed, and the old name kept elsewhere"],
)
def test_a_table_whose_names_follow_a_rename_or_a_move_holds_the_same(after: dict[str, str]) -> None:
    assert judge_shared(LISTING, after, [TABLE]) == SharedLosses()
    other = after | {"pkg/checks.py": after["pkg/checks.py"].replace("5", "6")}
    assert judge_shared(LISTING, other, [TABLE]).blocking


def test_a_table_that_holds_another_function_is_another() -> None:
    more = CLI + "\n\ndef tell(a):\n    return None\n"
    other = LISTED.replace("show", "tell")
    before = LISTING | {"pkg/cli.py": more}
    for cli in (CLI, more):
        after = {"pkg/cli.py": more, "pkg/checks.py": other}
        assert judge_shared(LISTING | {"pkg/cli.py": cli}, after, [TABLE]).blocking
    assert judge_shared(
        before, before | {"pkg/checks.py": LISTED.replace("cli.show", "None")}, [TABLE]
    ).blocking
