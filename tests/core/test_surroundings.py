from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from verdigris.core.surroundings import (
    PARTS,
    Caller,
    Part,
    Surroundings,
    draw_surroundings,
    merge_surroundings,
)
from verdigris.core.value import replace

CALLER = Caller({"USER": "mira", "TZ": "UTC"}, day=7, zones={"East": 8, "West": 7}, locales=("C.UTF-8",))


def drawn(caller: Caller = CALLER, seed: int = 1) -> dict[Part, Surroundings]:
    return draw_surroundings(Random(seed), caller, PARTS)


@pytest.mark.parametrize("seed", range(20))
def test_no_part_is_as_the_caller_has_it(seed: int) -> None:
    other = drawn(seed=seed)
    assert other["user"].env["USER"] != "mira"
    assert other["zone"].env == {"TZ": "East"}, "there it is another day"
    assert other["home"].home.startswith("/tmp/")


def test_other_lots_have_other_hash_seeds() -> None:
    assert len({drawn(seed=seed)["hash-seed"].env["PYTHONHASHSEED"] for seed in range(20)}) > 10


@pytest.mark.parametrize(
    ("environ", "name", "expected"),
    [
        ({}, "USER", None),
        ({}, "COLUMNS", None),
        ({"COLUMNS": "97"}, "COLUMNS", None),
        ({"TERM": "xterm-256color"}, "TERM", "vt100"),
        ({"TERM": "vt100"}, "TERM", "xterm"),
        ({}, "TERM", None),
        ({"LC_TIME": "de_DE.UTF-8"}, "LC_TIME", None),
        ({"LANG": "de_DE.UTF-8"}, "LANG", "C.UTF-8"),
        ({"LANG": "C.UTF-8"}, "LANG", None),
        ({"PATH": "/bin"}, "PATH", "/bin"),
    ],
)
def test_what_is_not_set_stays_so(environ: Mapping[str, str], name: str, expected: str | None) -> None:
    other = merge_surroundings(drawn(replace(CALLER, environ=environ)).values())
    assert other.apply(environ, ()).get(name) == expected


def test_what_the_project_gives_stays() -> None:
    other = merge_surroundings(drawn().values())
    given = {"TZ": "UTC", "COLUMNS": "80"}
    assert other.apply(given, ("TZ=UTC", "COLUMNS")).items() >= given.items()


def test_only_the_parts_that_are_asked_for_differ() -> None:
    assert [*draw_surroundings(Random(1), CALLER, ["zone"])] == ["zone"]
