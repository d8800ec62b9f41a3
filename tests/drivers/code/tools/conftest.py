from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.code_sessions import Bench, make_bench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[Bench]:
    with make_bench(tmp_path / "repo") as bench:
        yield bench
