from __future__ import annotations

import pytest

from verdigris.cli import when_stuck
from verdigris.turns.test_bug import Reported

pytestmark = pytest.mark.quick


def test_a_test_bug_tells_where_the_edits_went() -> None:
    told = when_stuck.reported_lines(Reported("b1", ("t.py:3",), "a1", ("calc.py",)), "go on")
    assert "b1" in told[0].text
    assert "set aside as a1" in told[1].text
