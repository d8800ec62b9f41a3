from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.known_histories import LANGUAGES, make_history, missing_tools
from support.node_tools import installed
from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.units import Selection

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_known_answer_is_given(language: str, tmp_path: Path) -> None:
    if missing := missing_tools(language):
        pytest.skip(f"{', '.join(missing)} is not installed")
    root = tmp_path / "repo"
    answers = make_history(root, language)
    if language == "typescript":
        (root / "node_modules").symlink_to(installed("vitest") / "node_modules")
    found = audit(root, AuditRequest(Selection(f"{answers[0].commit}~..HEAD"))).units
    told = [
        (unit.commit.title, str(unit.outcome), tuple(sorted(red.id for red in unit.reds if red.valid)))
        for unit in found
    ]
    assert told == [(one.title, one.outcome, tuple(sorted(one.reds))) for one in answers]
