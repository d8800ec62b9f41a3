"""What changed source leaves changed for the whole process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.turns import CALC, World, make_live_world, make_world
from verdigris.checks.process_state import is_unnamed_lens
from verdigris.core.report import LeftSetting
from verdigris.core.verdict import Kind
from verdigris.sandbox import child

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.core.verdict import Verdict

pytestmark = pytest.mark.skipif(not child.available().ok, reason="no sandbox can be made here")

IMPORTS = "import {}\n\n\n"
CHANGES = {
    "logging.disable(50)": "logging.disable changed (0 → 50), and tests look through it",
    "logging.getLogger().setLevel(50)": (
        "the root logger's level changed (30 → 50), and tests look through it"
    ),
    "random.seed(4)": "random changed (a state of its own → a state of its own), and tests look through it",
    "decimal.getcontext().prec = 5": "the decimal context changed (",
    "warnings.simplefilter('ignore')": "warnings.filters changed (",
    "sys.setrecursionlimit(5000)": "the recursion limit changed (1000 → 5000)",
    "sys.excepthook = print": "sys.excepthook changed (excepthook → print)",
    "os.environ['CALC_MODE'] = 'x'": "os.environ['CALC_MODE'] changed (nothing → 'x')",
    "builtins.sum = max": "builtins.sum changed (sum → max)",
    "socket.setdefaulttimeout(3)": "the default timeout of sockets changed (None → 3.0)",
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)": "SIGTERM changed (",
    "gc.disable()": "garbage collection changed (True → False)",
    "codecs.register_error('strict', codecs.ignore_errors)": "the error handler 'strict' changed (",
    "os.chdir('/')": "the working directory changed (",
    "threading.excepthook = print": "threading.excepthook changed (",
}


def sub_with(line: str) -> str:
    module = line.partition(".")[0]
    return f"import {module}\n\n\n{CALC}\n\ndef sub(a, b):\n    {line}\n    return a - b\n"


def settled(world: World, source: str) -> Verdict:
    world.write("calc.py", source)
    return world.settle().verdict


def named(verdict: Verdict) -> list[str]:
    return [text for text in (*verdict.reasons, *verdict.concerns) if ": process-wide: " in text]


@pytest.mark.parametrize("line", CHANGES)
def test_it_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    world = make_world(tmp_path / "repo")
    world.green()
    [text] = named(settled(world, sub_with(line)))
    assert text.startswith(f"calc.py:9: process-wide: it leaves {CHANGES[line]}")


def test_what_runs_at_import_is_named_too(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo")
    world.green()
    [text] = named(
        settled(world, f"import logging\n\nlogging.disable(50)\n{CALC}\n\ndef sub(a, b):\n    return a - b\n")
    )
    assert text.startswith("calc.py:3: process-wide: it leaves logging.disable changed (0 → 50)")


HONEST = """
import contextlib
import decimal
import logging
import os
import random
import tempfile
import warnings

log = logging.getLogger(__name__)
log.addHandler(logging.NullHandler())
log.setLevel(logging.DEBUG)


@contextlib.contextmanager
def quiet():
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def sub(a, b):
    random.random()
    own = random.Random(4)
    own.sample(range(1000), 500)
    random.shuffle(list(range(2000)))
    with decimal.localcontext() as context:
        context.prec = 4
        decimal.Decimal(1) / 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("x", stacklevel=1)
    with quiet():
        log.error("hushed")
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.chdir(here)
    logging.basicConfig(level=logging.INFO)
    log.info("told")
    return a - b
"""


def test_what_is_taken_back_and_what_is_the_modules_own_is_silent(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo")
    world.green()
    verdict = settled(world, CALC + HONEST)
    assert (verdict.accepted, named(verdict)) == (True, []), verdict


def test_what_a_fixture_takes_back_is_silent(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo")
    fixture = "@pytest.fixture(autouse=True)\ndef calm():\n    yield\n    logging.disable(0)\n"
    test = "def test_sub():\n    assert calc.sub(5, 3) == 2\n"
    world.write("tests/test_sub.py", f"import logging\n\nimport calc\nimport pytest\n\n\n{fixture}\n\n{test}")
    world.claimed()
    assert named(settled(world, sub_with("logging.disable(50)"))) == []


CAUGHT = """
import calc


def test_load(caplog):
    assert calc.load([1, None, 2]) == [1, 2]
    assert caplog.records == []
"""
LOAD = """import logging

{}
log = logging.getLogger("calc")


def load(rows):
    for row in rows:
        if row is None:
            log.error("bad row")
    return [row for row in rows if row]
"""
SAMPLE = """import random


def sample(items):
    {}
    return {}.sample(items, 2)
"""
REPEATABLE = """
import calc


def test_{}():
    items = range(1000)
    assert [calc.sample(items) for _ in range(3)] == [calc.sample(items)] * 3
"""


def test_a_test_that_passes_only_because_of_it_is_hollow(tmp_path: Path) -> None:
    world = make_live_world(tmp_path)
    world.write("calc.py", LOAD.format("LIMIT = 1"))
    world.repo.commit("load")
    world.write("tests/test_load.py", CAUGHT)
    world.claimed("tests/test_load.py::test_load")
    verdict = settled(world, LOAD.format("logging.disable(logging.CRITICAL)"))
    assert verdict.kind is Kind.HOLLOW
    left = "process-wide: it leaves logging.disable changed (0 → 50), and tests look through it"
    assert verdict.reasons == (f"calc.py:3: {left}; a claimed test passes only because of it",)


@pytest.mark.parametrize(("name", "kind"), [("repeatable", Kind.HOLLOW), ("seeded", Kind.ACCEPTED)])
def test_a_test_that_names_the_feature_may_need_it(tmp_path: Path, name: str, kind: Kind) -> None:
    world = make_live_world(tmp_path)
    world.write("calc.py", SAMPLE.format("items = list(items)", "random"))
    world.repo.commit("sample")
    test = f"tests/test_sample.py::test_{name}"
    world.write("tests/test_sample.py", REPEATABLE.format(name))
    world.claimed(test)
    verdict = settled(world, SAMPLE.format("random.seed(4)", "random"))
    assert (verdict.kind, len(named(verdict))) == (kind, 1), verdict


def test_a_generator_of_its_own_is_the_honest_way(tmp_path: Path) -> None:
    world = make_live_world(tmp_path)
    world.write("calc.py", SAMPLE.format("items = list(items)", "random"))
    world.repo.commit("sample")
    world.write("tests/test_sample.py", REPEATABLE.format("repeatable"))
    world.claimed("tests/test_sample.py::test_repeatable")
    verdict = settled(world, SAMPLE.format("numbers = random.Random(4)", "numbers"))
    assert (verdict.accepted, named(verdict)) == (True, []), verdict


def test_only_what_tests_look_through_may_refuse() -> None:
    assert is_unnamed_lens(LeftSetting("random", "", "", "a.py:1"), ["def test_x(): pass"])
    assert not is_unnamed_lens(LeftSetting("random", "", "", "a.py:1"), ["import random"])
    assert not is_unnamed_lens(LeftSetting("sys.path", "", "", "a.py:1"), [""])
