"""Which tests an audit calls red: those that fail over the source of before, whatever their text was then."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.gitrepo import GitRepo
from support.small_histories import ADD, SUB, TEST_ADD, TEST_MUL, TEST_SUB, add_commit, begin
from verdigris.drivers.audit.report import AuditOutcome, UnitReport
from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.units import Selection

pytestmark = [pytest.mark.timeout(400), pytest.mark.usefixtures("runs_once")]

COUNTS = "def counts(words):\n    return {}\n"
COUNTED = "def counts(words):\n    return {word: words.count(word) for word in words}\n"
BY_KEY = 'from words import counts\n\n\ndef test_counts():\n    assert counts(["a"])["a"] == 1\n'
BY_LIBRARY = (
    "import json\n\nfrom words import counts\n\n\n"
    'def test_counts():\n    text = json.dumps(counts(["a"]))[6:-1]\n    assert json.loads(text) == 1\n'
)
IN_FIXTURE = (
    "import pytest\n\nfrom words import counts\n\n\n"
    '@pytest.fixture\ndef count():\n    return counts(["a"])["a"]\n\n\n'
    "def test_counts(count):\n    assert count == 1\n"
)
AT_END = (
    "import pytest\n\nfrom words import counts\n\n\n"
    '@pytest.fixture\ndef words():\n    yield ["a"]\n    assert counts(["a"])\n\n\n'
    "def test_counts(words):\n    assert counts(words) is not None\n"
)
BY_EXIT = (
    "import os\n\nfrom words import counts\n\n\n"
    'def test_counts():\n    found = counts(["a"])\n    found or os._exit(3)\n    assert found == {"a": 1}\n'
)


def judge_last(repo: GitRepo) -> UnitReport:
    (one,) = audit(repo.root, AuditRequest(Selection("HEAD"))).units
    return one


@pytest.mark.parametrize(
    ("test", "why"),
    [
        pytest.param(BY_KEY, "exception", id="the test looks up what source did not give"),
        pytest.param(BY_LIBRARY, "exception", id="a library refuses what source gave"),
        pytest.param(IN_FIXTURE, "exception", id="in a fixture"),
        pytest.param(AT_END, "assertion", id="in a teardown"),
        pytest.param(BY_EXIT, "crash", id="the process ends"),
    ],
)
def test_a_failure_outside_of_source_is_behaviour_where_source_alone_mended_it(
    tmp_path: Path, test: str, why: str
) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "stub", {"words.py": COUNTS})
    add_commit(repo, "both", {"words.py": COUNTED, "tests/test_words.py": test})
    one = judge_last(repo)
    assert (one.outcome, [(red.why, red.valid) for red in one.reds]) == (
        AuditOutcome.TEST_DRIVEN,
        [(why, True)],
    ), one.why


def test_a_wrong_test_that_is_corrected_alone_was_no_red(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "wrong", {"calc.py": ADD + SUB, "tests/test_sub.py": TEST_SUB.replace("== 1", "== 5")})
    add_commit(repo, "corrected", {"tests/test_sub.py": TEST_SUB})
    one = judge_last(repo)
    assert (one.outcome, one.reds) == (AuditOutcome.CHARACTERIZATION, ()), one.why


def test_a_wrong_test_that_is_corrected_beside_an_unrelated_change_was_no_red(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "wrong", {"calc.py": ADD + SUB, "tests/test_sub.py": TEST_SUB.replace("== 1", "== 5")})
    source = ADD.replace("a + b", "b + a") + SUB
    add_commit(repo, "corrected", {"calc.py": source, "tests/test_sub.py": TEST_SUB})
    one = judge_last(repo)
    assert (one.outcome, one.reds) == (AuditOutcome.UNTESTED, ()), one.why


def test_a_red_that_stood_in_the_suite_counts_beside_other_tests(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "red", {"tests/test_sub.py": TEST_MUL.replace("mul(2, 3) == 6", "sub(3, 2) == 1")})
    more = TEST_ADD + "\n\ndef test_add_nothing():\n    assert add(0, 0) == 0\n"
    add_commit(repo, "green", {"calc.py": ADD + SUB, "tests/test_add.py": more})
    one = judge_last(repo)
    assert (one.outcome, [red.id for red in one.reds]) == (
        AuditOutcome.TEST_DRIVEN,
        ["tests/test_sub.py::test_mul"],
    ), one.why
