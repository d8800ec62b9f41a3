"""Makes a verdict's random choices the same each time a test runs, so that its outcome does not depend on
chance.

`SUITE_DRAWS=2 make test` makes other choices. To find a verdict that depends on them, try several values. The
examples of properties are fixed as well: by `--hypothesis-seed` in pyproject.toml.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random, SystemRandom

import pytest

DRAWS = "SUITE_DRAWS"


@contextmanager
def same_draws() -> Iterator[None]:
    """Forked commands use the same choices. Names of folders stay unique: they come from the system's own
    bytes.
    """
    dice = Random(os.environ.get(DRAWS, "1"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SystemRandom, "random", lambda _: dice.random())
        patched.setattr(SystemRandom, "getrandbits", lambda _, bits: dice.getrandbits(bits))
        yield
