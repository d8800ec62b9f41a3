"""Honest work passes at the first settlement, in the shapes that real projects have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.shape import Shape, accepted, claim, start, whole, write
from support.shapes import (
    assertions,
    code,
    frameworks,
    installed,
    layouts,
    lookalikes,
    naming,
    rewriting,
    running,
    state,
    surroundings,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

MODULES = (
    *(layouts, naming, surroundings, assertions, frameworks, installed),
    *(running, rewriting, code, state, lookalikes),
)
SHAPES = [shape for module in MODULES for shape in module.SHAPES]


@pytest.mark.parametrize("shape", SHAPES, ids=[shape.name for shape in SHAPES])
def test_honest_work_passes_at_the_first_settlement(shape: Shape, tmp_path: Path) -> None:
    cli = start(tmp_path / "repo", shape.before, shape.stacks, shape.env)
    write(cli, shape.red)
    claim(cli, shape.claim, shape.env)
    write(cli, shape.edit)
    concerns = accepted(cli.tdd("settle", "--json", env=shape.env))
    assert [c for c in concerns if not any(word in c for word in shape.concerns)] == []
    assert [word for word in shape.concerns if not any(word in c for c in concerns)] == []
    assert whole(cli)
