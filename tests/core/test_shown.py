from __future__ import annotations

from verdigris.core.test_ids import typed


def test_an_id_is_shown_as_a_shell_takes_it() -> None:
    assert typed("t/a.py::test_x", "src/a.py") == "t/a.py::test_x src/a.py"
    assert typed("t/a.ts::it's › so") == """'t/a.ts::it'"'"'s › so'"""
