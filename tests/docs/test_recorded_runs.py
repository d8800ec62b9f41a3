"""Each recorded run belongs to a test. Without its recording a test would silently run the real tool."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

TESTS = Path(__file__).resolve().parents[1]


def test_each_recording_is_named_after_a_test_and_its_file() -> None:
    recordings = sorted((TESTS / "support" / "runs").glob("*.json"))
    assert recordings
    unused = []
    for recording in recordings:
        stem, _, test = recording.stem.partition(".")
        function = f"def {test.partition('[')[0]}("
        if not any(function in path.read_text("utf-8") for path in TESTS.rglob(f"{stem}.py")):
            unused.append(recording.name)
    assert unused == [], "rename them with their tests"
