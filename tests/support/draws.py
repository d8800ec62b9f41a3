"""What a verdict draws at random, the same each time a test is run: its outcome is no matter of chance.

`SUITE_DRAWS=2 make test` draws otherwise. Whoever looks for a verdict that a weak draw turns tries several.
The examples of properties are the same as well: `--hypothesis-seed` in pyproject.toml, and another seed finds
others.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from random import Random, SystemRandom
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

DRAWS = "SUITE_DRAWS"


@contextmanager
def same_draws() -> Iterator[None]:
    """Forked commands have it too. Names of folders stay unique: they are made of the system's own bytes."""
    dice = Random(os.environ.get(DRAWS, "1"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SystemRandom, "random", lambda _: dice.random())
        patched.setattr(SystemRandom, "getrandbits", lambda _, bits: dice.getrandbits(bits))
        yield
