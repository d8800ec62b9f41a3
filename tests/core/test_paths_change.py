from __future__ import annotations

from verdigris.core.paths import EXECUTABLE, FILE, Change


def test_a_change_is_an_addition_a_deletion_or_neither() -> None:
    added = Change("a.py", None, None, FILE, "1")
    deleted = Change("a.py", FILE, "1", None, None)
    edited = Change("a.py", FILE, "1", EXECUTABLE, "1")

    assert (added.added, added.deleted) == (True, False)
    assert (deleted.added, deleted.deleted) == (False, True)
    assert (edited.added, edited.deleted) == (False, False)
