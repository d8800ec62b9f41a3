from __future__ import annotations

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2]


@pytest.fixture
def scribe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The folders from which the made-up agent is found, as if a package of others were installed."""
    site = tmp_path / "site"
    about = site / "scribe-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: scribe\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[verdigris.clients]\nscribe = gates.clients.scribe:CLIENT\n")
    found = (str(site), str(TESTS))
    monkeypatch.setattr(sys, "path", [*sys.path, *found])
    return found
