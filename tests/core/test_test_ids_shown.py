from __future__ import annotations

from verdigris.core.test_ids import shell_words


def test_an_id_is_shown_as_a_shell_takes_it() -> None:
    assert shell_words("t/a.py::test_x", "src/a.py") == "t/a.py::test_x src/a.py"
    assert shell_words("t/a.ts::it's › so") == """'t/a.ts::it'"'"'s › so'"""
