"""Which tests a change may have hollowed out: those that ran it, however slow or far away they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.turns import World, make_live_world
from verdigris.checks.test_reach import find_affected
from verdigris.core.report import RunUses, TestUse
from verdigris.core.verdict import Kind
from verdigris.sandbox import child

if TYPE_CHECKING:
    from pathlib import Path

needs_sandbox = pytest.mark.skipif(not child.available().ok, reason="no sandbox can be made here")

OLD = "LIMIT = 3\n\n\ndef f(n):\n    return n\n\n\ndef g(n):\n    return n\n"
F, G = 0, 1
USES = RunUses(
    places=(("m.py", 4), ("m.py", 8)),
    sets=((), (F,), (G,), (F, G)),
    tests={
        "t.py::test_f": TestUse(1),
        "t.py::test_g": TestUse(2),
        "t.py::test_both[1]": TestUse(3),
        "t.py::test_kept": TestUse(0, hits=(F,)),
        "t.py::test_child": TestUse(0, unsure=True),
        "t.py::test_none": TestUse(0),
    },
    common={"": 0},
)
OF_F = ("t.py::test_f", "t.py::test_both", "t.py::test_kept", "t.py::test_child")
EVERY = ("t.py::test_f", "t.py::test_g", *OF_F[1:])


def affected(new: str, uses: RunUses | None = USES, old: str | None = OLD) -> tuple[str, ...] | None:
    return find_affected(uses, {"m.py": old}, {"m.py": new}, list(USES.tests))


def test_a_test_is_affected_if_it_ran_a_function_that_changed() -> None:
    assert affected(OLD.replace("return n", "return n + 0", 1)) == OF_F


def test_a_new_function_that_nothing_named_before_affects_no_test() -> None:
    new = OLD.replace("return n", "return n + 0", 1) + "\n\ndef h(n):\n    return n\n"
    assert affected(new) == OF_F


@pytest.mark.parametrize(
    "new",
    [
        OLD.replace("LIMIT = 3", "LIMIT = 4"),
        OLD.replace("LIMIT = 3", "def n():\n    return 3\n\n\nLIMIT = 3"),
        OLD.replace("LIMIT", "print()\nLIMIT"),
    ],
    ids=["a constant", "a name that was said before", "what runs at import"],
)
def test_where_more_changed_than_functions_all_of_the_file_count(new: str) -> None:
    assert affected(new) == EVERY


def test_a_function_that_runs_at_import_counts_as_the_whole_file() -> None:
    early = RunUses(USES.places, (*USES.sets, (F,)), USES.tests, {"": 4})
    new = OLD.replace("return n", "return n + 0", 1)
    assert affected(new, early) == ("t.py::test_g", "t.py::test_both", "t.py::test_child")


@pytest.mark.parametrize(
    "uses", [None, RunUses((), (), {}, {}, problem="tests run in an order of their own")]
)
def test_without_a_record_nobody_knows(uses: RunUses | None) -> None:
    assert affected(OLD, uses) is None


HOLLOW = """

class Loose(int):
    __hash__ = int.__hash__

    def __eq__(self, other):
        return bool(self)
"""
DOUBLE = "\n\ndef double(n):\n    return {}\n"


def settle_hollowed(world: World, tests: str, double: str) -> Kind:
    world.write("core.py", DOUBLE.format("n * 2"))
    world.write("shop.py", "import core\n\n\ndef price(n):\n    return core.double(n)\n")
    world.write("tests/test_shop.py", tests)
    world.repo.commit("shop")
    world.write(
        "tests/test_version.py", "import core\n\n\ndef test_version():\n    assert core.version(1) == 2\n"
    )
    world.claimed("tests/test_version.py::test_version", "core.py")
    version = "\n\ndef version(n):\n    return n + 1\n"
    world.write("core.py", HOLLOW + DOUBLE.format(double) + version)
    done = world.settle()
    assert any("tests/test_shop.py" in reason for reason in done.verdict.reasons), done.verdict
    return done.verdict.kind


@needs_sandbox
def test_a_slow_test_behind_a_facade_is_asked_too(tmp_path: Path) -> None:
    case = "\n\ndef test_price():\n    time.sleep(0.5)\n    assert shop.price(4) == 8\n"
    tests = f"import time\n\nimport shop\n{case}"
    assert settle_hollowed(make_live_world(tmp_path), tests, "Loose(n)") is Kind.HOLLOW


@needs_sandbox
def test_one_of_many_is_asked_too(tmp_path: Path) -> None:
    case = "\n\ndef test_price_{0}():\n    time.sleep(0.01)\n    assert shop.price({0}) == {1}\n"
    tests = "import time\n\nimport shop\n" + "".join(case.format(n, n * 2) for n in range(1, 61))
    double = "Loose(n) if n == 33 else n * 2"
    assert settle_hollowed(make_live_world(tmp_path), tests, double) is Kind.HOLLOW
