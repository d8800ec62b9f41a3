"""Honest work passes at the first settlement, in the shapes that real projects have."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

import pytest

from support.shape import Shape, accepted, claim_these, group, read_shapes, reds, start, whole, write
from support.warm_runs import warm_runs
from verdigris.checks.acceptance import NOT_ASKED
from verdigris.checks.liveness.judgement import OWN_EQUALITY

pytestmark = pytest.mark.slow

LAYOUTS = (*read_shapes("layouts"), *read_shapes("naming"))
_OTHERS = "surroundings assertions frameworks installed running rewriting code state lookalikes"
SHAPES = [*LAYOUTS, *(shape for name in _OTHERS.split() for shape in read_shapes(name))]
GROUPS = group(SHAPES, most=6)


@pytest.mark.parametrize("shapes", GROUPS, ids=["; ".join(shape.name for shape in one) for one in GROUPS])
def test_honest_work_passes_at_the_first_settlement(shapes: tuple[Shape, ...], tmp_path: Path) -> None:
    """One shape alone that is no matter of layout is settled by forks: where it runs is no part of it."""
    alone = len(shapes) == 1 and shapes[0] not in LAYOUTS
    with warm_runs() if alone else nullcontext():
        settle_at_once(shapes, tmp_path)


def settle_at_once(shapes: tuple[Shape, ...], tmp_path: Path) -> None:
    first = shapes[0]
    cli = start(tmp_path / "repo", joined(shape.before for shape in shapes), first.stacks, first.env)
    write(cli, joined(shape.red for shape in shapes))
    found = reds(cli, first.env)
    for shape in shapes:
        mine = [test for test in found if test.partition("::")[0] in shape.files]
        claim_these(cli, mine, shape.claim, first.env)
    write(cli, joined(shape.edit for shape in shapes))
    every = accepted(cli.tdd("settle", "--json", env=first.env))
    concerns = [concern for concern in every if not _says_what_is_so(concern)]
    expected = [word for shape in shapes for word in shape.concerns]
    assert [c for c in concerns if not any(word in c for word in expected)] == []
    assert [word for word in expected if not any(word in c for c in concerns)] == []
    assert whole(cli)


def _says_what_is_so(concern: str) -> bool:
    """What was not asked in the time, a double of a service, a class that the test names and compares by."""
    return concern.startswith(NOT_ASKED) or "does not run the real one" in concern or OWN_EQUALITY in concern


def joined(texts: Iterable[str]) -> str:
    return "\n".join(text.strip() for text in texts)
