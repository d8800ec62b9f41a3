from __future__ import annotations

from pathlib import Path

import pytest

from support.small_histories import ADD, SUB, TEST_SUB, add_commit, begin
from verdigris.drivers.audit.report import AuditOutcome, AuditReport
from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.units import Selection

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow]
YES = """

class Yes:
    def __eq__(self, other):
        return True


def sub(a, b):
    return Yes()
"""


def judged(root: Path, source: str, *, deep: bool) -> AuditReport:
    repo = begin(root)
    add_commit(repo, "sub", {"calc.py": ADD + source, "tests/test_sub.py": TEST_SUB})
    return audit(repo.root, AuditRequest(Selection("HEAD"), deep=deep))


def test_honest_code_is_test_driven_by_a_deep_look_too(tmp_path: Path) -> None:
    (one,) = judged(tmp_path / "repo", SUB, deep=True).units
    assert (one.outcome, one.hollow) == (AuditOutcome.TEST_DRIVEN, ())


def test_code_that_passes_whatever_is_asserted_is_hollow(tmp_path: Path) -> None:
    (one,) = judged(tmp_path / "repo", YES, deep=True).units
    assert one.outcome is AuditOutcome.HOLLOW
    assert any("tests/test_sub.py" in text for text in one.hollow)
