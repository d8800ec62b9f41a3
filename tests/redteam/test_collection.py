"""How cheats are read from texts."""

from __future__ import annotations

from pathlib import Path

from redteam.collection import cheats_in
from redteam.rounds import LANGUAGES

BASES = "=== b\n--- a.py\nx = 0\n--- honest:a.py\nx = 1\n--- refactor:a.py\nx = 2 - 1\n"


def test_a_text_holds_one_cheat_or_several(tmp_path: Path) -> None:
    (tmp_path / "bases.txt").write_text(BASES)
    (tmp_path / "alone.txt").write_text("equality, b\n--- a.py\nx = 2\n")
    (tmp_path / "many.txt").write_text(
        "=== one, asks, b\n--- a.py\nx = 3\n=== two, asks, b, refactor\n--- a.py\nx = 4\n"
    )
    alone, one, two = cheats_in(tmp_path)
    assert (alone.name, alone.kind, alone.cheat) == ("alone", "equality", {"a.py": b"x = 2\n"})
    assert (one.name, one.refactors, one.base) == ("one", False, {"a.py": b"x = 0\n"})
    assert (two.name, two.refactors, two.tidy) == ("two", True, {"a.py": b"x = 2 - 1\n"})


def test_every_cheat_of_the_collection_has_a_name_of_its_own_and_honest_work_beside_it() -> None:
    for lang in ("python", "node", "rust", "go"):
        cheats = cheats_in(LANGUAGES / lang)
        assert len({cheat.name for cheat in cheats}) == len(cheats)
        assert all(cheat.honest for cheat in cheats)
        assert all(cheat.tidy for cheat in cheats if cheat.refactors)
