"""What an audit says of changes that bring no new test, and of commits whose packages are not here."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.gitrepo import GitRepo, make_repo
from support.known_histories import missing_tools
from support.small_histories import ADD, PYPROJECT, TEST_ADD, add_commit, begin
from verdigris.drivers.audit.report import AuditOutcome, UnitReport
from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.units import Selection

pytestmark = [pytest.mark.timeout(400), pytest.mark.usefixtures("runs_once")]
STRICT = PYPROJECT + 'addopts = "--strict-markers"\n'
SWAPPED = ADD.replace("a + b", "b + a")


def judge_last(repo: GitRepo) -> UnitReport:
    (one,) = audit(repo.root, AuditRequest(Selection("HEAD"))).units
    return one


def test_other_settings_of_the_runner_alone_are_no_code(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "strict", {"pyproject.toml": STRICT})
    one = judge_last(repo)
    assert (one.outcome, one.why) == (
        AuditOutcome.NO_CODE,
        "only how the tests are run changed, and their results are the same.",
    )


def test_settings_of_the_runner_beside_source_are_no_tests_that_came_with_it(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "strict", {"pyproject.toml": STRICT, "calc.py": SWAPPED})
    assert judge_last(repo).outcome is AuditOutcome.REFACTOR


def test_of_a_change_without_source_no_concern_is_told_and_one_failing_test_fails(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    failing = "def test_never():\n    assert False\n"
    add_commit(repo, "failing", {"tests/test_never.py": failing})
    names = ("alphabet", "betatron", "gammaray")
    more = TEST_ADD + "".join(
        f"\n\ndef test_{n}():\n    assert str.lower('{n.upper()}') == '{n}'\n" for n in names
    )
    words = "".join(f'{n} = "{n}"\n' for n in names)
    add_commit(repo, "more", {"tests/test_add.py": more, "words.toml": words})
    one = judge_last(repo)
    assert (one.outcome, one.concerns) == (AuditOutcome.CHARACTERIZATION, ()), one.why
    assert one.notes == ("1 test fails before and after",)


@pytest.mark.parametrize(
    "tidied",
    [
        "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n",
        "from calc import add\n\n\ndef test_add():\n    result = add(1, 2)\n    assert result == 3\n",
    ],
)
def test_a_test_that_asks_what_it_asked_is_no_new_test(tmp_path: Path, tidied: str) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "tidy", {"tests/test_add.py": tidied, "calc.py": SWAPPED})
    one = judge_last(repo)
    assert one.outcome is AuditOutcome.REFACTOR, one.why


def test_a_test_that_asks_more_and_was_not_red_leaves_the_source_untested(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    more = TEST_ADD + "    assert add(2, 2) == 4\n"
    add_commit(repo, "more", {"tests/test_add.py": more, "calc.py": SWAPPED})
    one = judge_last(repo)
    assert (one.outcome, one.why) == (
        AuditOutcome.UNTESTED,
        "source changed, and its tests pass without the change: none of them was red before.",
    )


SKIPPED = """\
import os
import sys

import pytest

from calc import add

WINDOWS = os.name == "nt"
LINUX = os.name == "posix"


@pytest.mark.skipif({condition}, reason="not there")
def test_add():
    assert add(1, 2) == 3
"""


@pytest.mark.parametrize(
    ("condition", "outcome"), [("WINDOWS", AuditOutcome.CHARACTERIZATION), ("LINUX", AuditOutcome.WEAKENED)]
)
def test_a_skip_may_have_another_condition_where_its_tests_still_run(
    tmp_path: Path, condition: str, outcome: AuditOutcome
) -> None:
    repo = begin(tmp_path / "repo")
    add_commit(repo, "skip", {"tests/test_add.py": SKIPPED.format(condition='sys.platform == "win32"')})
    add_commit(repo, "other words", {"tests/test_add.py": SKIPPED.format(condition=condition)})
    one = judge_last(repo)
    assert one.outcome is outcome, one.why
    assert any("skipped: was" in note for note in one.notes) is (outcome is AuditOutcome.CHARACTERIZATION)


def test_of_lines_that_no_test_runs_blank_ones_are_not_told(tmp_path: Path) -> None:
    repo = begin(tmp_path / "repo")
    idle = "\n\ndef half(a):\n    b = a\n\n    return b / 2\n"
    add_commit(repo, "half", {"calc.py": ADD + idle})
    assert [place.what.strip() for place in judge_last(repo).uncovered] == ["b = a", "return b / 2"]


LIB = "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n"
TEST = "use calc::add;\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n"
CARGO = '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n'


@pytest.mark.skipif(bool(missing_tools("rust")), reason="cargo is not installed")
def test_where_the_packages_of_before_are_not_here_nothing_is_told(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    before = CARGO + '\n[dependencies]\nno-such-crate-anywhere = "1"\n'
    add_commit(repo, "one", {"Cargo.toml": before, "src/lib.rs": LIB, "tests/adds.rs": TEST})
    parent = repo.head()
    more = TEST + "\n#[test]\nfn adds_none() {\n    assert_eq!(add(0, 0), 0);\n}\n"
    source = LIB.replace("a + b", "b + a")
    add_commit(repo, "two", {"Cargo.toml": CARGO, "src/lib.rs": source, "tests/adds.rs": more})
    one = judge_last(repo)
    assert (one.outcome, one.reds) == (AuditOutcome.UNVERIFIED, ())
    assert f"the packages of {parent[:9]} are not on this machine" in one.why
    assert f"`git worktree add --detach ../packages {parent[:9]}`, there `cargo fetch`" in one.why
