"""Model clients that retry without waiting, for tests about the retry itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from verdigris.models.remote import RemoteModel


@contextmanager
def no_pauses() -> Iterator[None]:
    """Retry at once, in this process and in its forks."""
    defaults = RemoteModel.__init__.__kwdefaults__
    assert defaults is not None
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(defaults, "sleep", lambda _: None)
        yield
