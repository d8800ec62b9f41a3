from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.code_sessions import Bench, make_bench


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[Bench]:
    with make_bench(tmp_path / "repo") as bench:
        yield bench
