from __future__ import annotations

from verdigris.storage.log.verification import LogFault, Verification


def test_a_log_with_nothing_but_a_torn_end_is_whole() -> None:
    torn, removed = LogFault(4, "torn", ""), LogFault(2, "removed", "")

    assert Verification((), 3).whole
    assert Verification((torn,), 3).whole
    assert not Verification((removed, torn), 3).whole
