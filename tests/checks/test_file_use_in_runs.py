"""What follows from the files that runs open and execute, with real runs."""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path

import pytest

from support.tool_worlds import make_tool_world
from support.turns import CALC, SUB, World, make_world
from verdigris.checks.file_use import EXPECTED
from verdigris.core.actions import Deny
from verdigris.core.verdict import Kind
from verdigris.sandbox import child

pytestmark = pytest.mark.skipif(not child.available().ok, reason="no sandbox can be made here")

READING = """
import json
import shutil
import pathlib

import calc

ROOT = pathlib.Path(__file__).parents[1]


def test_sub():
    assert calc.sub(5, 3) == json.loads((ROOT / "fixtures/expected.json").read_text())
"""


@pytest.fixture
def reading(tmp_path: Path) -> World:
    """A red whose expected value lies in a data file at the root."""
    files = {"fixtures/expected.json": "2\n", "fixtures/other.json": "9\n"}
    world = make_world(tmp_path / "repo", **files, **{"calc.py": CALC + SUB.replace("a - b", "0")})
    world.write("tests/test_sub.py", READING)
    return world


def test_what_test_code_read_is_frozen_from_the_claim_on(reading: World) -> None:
    reading.claimed()
    assert reading.state.turn is not None
    assert reading.state.turn.reads == ("fixtures/expected.json",)
    reading.write("calc.py", CALC + SUB.replace("a - b", "a + b"))
    reading.write("fixtures/expected.json", "8\n")
    verdict = reading.settle().verdict
    assert (verdict.kind, verdict.reasons) == (
        Kind.TAMPERED,
        ("fixtures/expected.json changed while it was frozen",),
    )
    reading.write("fixtures/expected.json", "2\n")
    reading.write("fixtures/other.json", "8\n")
    reading.write("calc.py", CALC + SUB)
    assert reading.settle().verdict.accepted
    assert reading.project.classify("fixtures/expected.json") == "other"


def test_what_a_red_did_not_come_to_read_is_no_fix_either(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo", **{"fixtures/expected.json": "2\n"})
    world.write("tests/test_sub.py", READING)
    world.claimed()
    assert world.state.turn is not None
    assert world.state.turn.reads == ()
    world.write("calc.py", CALC + SUB.replace("a - b", "a + b"))
    world.write("fixtures/expected.json", "8\n")
    verdict = world.settle().verdict
    assert (verdict.kind, verdict.reasons) == (Kind.HOLLOW, (f"fixtures/expected.json {EXPECTED}",))


def test_a_file_that_changed_between_red_and_claim_asks_for_a_new_red(reading: World) -> None:
    reading.test()
    reading.write("fixtures/expected.json", "8\n")
    denied = reading.claim("tests/test_sub.py::test_sub", "calc.py")
    assert isinstance(denied, Deny)
    assert "fixtures/expected.json" in denied.reason


def test_a_person_may_leave_out_what_is_tested_itself(tmp_path: Path) -> None:
    world = make_world(
        tmp_path / "repo", "oracle: {exclude: [fixtures/**]}\n", **{"fixtures/expected.json": "2\n"}
    )
    world.write("tests/test_sub.py", READING)
    world.claimed()
    assert world.state.turn is not None
    assert world.state.turn.reads == ()


FROM_SOURCE = """
import json
import shutil
import pathlib


def sub(a, b):
    rules = json.loads((pathlib.Path(__file__).parent / "rules.json").read_text())
    return a - b if rules["minus"] else 0
"""


def test_what_only_source_reads_may_be_the_fix_and_its_change_is_told(tmp_path: Path) -> None:
    files = {"rules.json": '{"minus": false}\n', "calc.py": CALC + FROM_SOURCE}
    world = make_world(tmp_path / "repo", **files)
    world.write("tests/test_sub.py", "import calc\n\n\ndef test_sub():\n    assert calc.sub(5, 3) == 2\n")
    world.claimed()
    world.write("rules.json", '{"minus": true}\n')
    done = world.settle()
    assert done.verdict.accepted, done.verdict
    assert "rules.json changed in this turn, and calc.py reads it" in done.verdict.concerns


WAYS = {
    "runpy": ('import runpy; SUB = runpy.run_path(str(HERE / "rules.dat"))["sub"]', ("rules.dat",)),
    "pickle": ('import pickle; SUB = pickle.loads((HERE / "m.pkl").read_bytes())', ("m.pkl",)),
    "archive": (
        'import sys; sys.path.insert(0, str(HERE / "d.bin")); import inner; SUB = inner.sub',
        ("d.bin",),
    ),
    "configuration": (
        "import json, logging.config; SUB = logging.config.dictConfig(json.load((HERE / 'l.json').open()))",
        ("rules.dat", "l.json"),
    ),
}


def lay(world: World, name: str) -> None:
    match name:
        case "m.pkl":
            # What it calls when it is loaded: exec, of a text.
            world.write(name, b"cbuiltins\nexec\n(S'import calc'\ntR.cbuiltins\nmax\n.")
        case "d.bin":
            import io
            import zipfile

            held = io.BytesIO()
            with zipfile.ZipFile(held, "w") as archive:
                archive.writestr("inner.py", "def sub(a, b):\n    return a - b\n")
            world.write(name, held.getvalue())
        case "l.json":
            factory = {"()": "runpy.run_path", "path_name": "rules.dat"}
            world.write(name, json.dumps({"version": 1, "formatters": {"f": factory}}))
        case _:
            world.write(name, "def sub(a, b):\n    return a - b\n")


@pytest.mark.parametrize("how", WAYS)
def test_code_out_of_a_data_file_of_this_turn_is_not_accepted(world: World, how: str) -> None:
    world.write("tests/test_sub.py", "import calc\n\n\ndef test_sub():\n    assert calc.sub(5, 3) == 2\n")
    world.claimed()
    load, files = WAYS[how]
    for name in files:
        lay(world, name)
    source = """
    import pathlib
    HERE = pathlib.Path(__file__).parent
    {}


    def sub(a, b):
        SUB
        return a - b
    """
    world.write("calc.py", CALC + textwrap.dedent(source).format(load))
    verdict = world.settle().verdict
    assert verdict.kind is Kind.HOLLOW, verdict
    assert any(name in reason for name in files for reason in verdict.reasons)


def test_code_that_no_snapshot_holds_is_broken(world: World) -> None:
    world.write(".gitignore", "*.dat\n")
    world.write("tests/test_sub.py", "import calc\n\n\ndef test_sub():\n    assert calc.sub(5, 3) == 2\n")
    world.claimed()
    lay(world, "rules.dat")
    world.write("calc.py", CALC + "\n\nimport runpy\n\nsub = runpy.run_path('rules.dat')['sub']\n")
    verdict = world.settle().verdict
    assert verdict.kind is Kind.BROKEN
    assert verdict.reasons[0].startswith("rules.dat is executed by the tests, but no snapshot holds it")


def test_what_was_executed_at_the_red_already_and_is_the_same_is_told(tmp_path: Path) -> None:
    text = "import runpy\n\nrunpy.run_path('rules.dat')\n\n\n" + CALC
    world = make_world(tmp_path / "repo", **{".gitignore": "*.dat\n", "calc.py": text})
    lay(world, "rules.dat")
    world.write("tests/test_sub.py", "import calc\n\n\ndef test_sub():\n    assert calc.sub(5, 3) == 2\n")
    world.claimed()
    world.write("calc.py", world.read("calc.py") + SUB)
    verdict = world.settle().verdict
    assert verdict.accepted, verdict
    assert any(note.startswith("rules.dat is executed") for note in verdict.concerns)


def test_honest_use_of_generated_code_in_the_library_is_no_matter(world: World) -> None:
    world.write("tests/test_sub.py", "import calc\n\n\ndef test_sub():\n    assert calc.sub(5, 3) == 2\n")
    world.claimed()
    types = (
        "import collections\nimport dataclasses\nimport enum\n\n\n@dataclasses.dataclass\nclass Pair:\n"
        "    a: int\n    b: int\n\n\nPoint = collections.namedtuple('Point', 'x y')\n\n\n"
    )
    world.write("calc.py", types + CALC + SUB)
    verdict = world.settle().verdict
    assert (verdict.kind, verdict.concerns) == (Kind.ACCEPTED, ())


NODE_TEST = """
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { sub } from "../src/calc.js";

test("subtracts", () => {
  assert.equal(sub(5, 3), JSON.parse(readFileSync("data/expected.json", "utf8")));
});
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on PATH")
def test_in_other_languages_what_tests_open_and_call_by_name_is_frozen(tmp_path: Path) -> None:
    files = {
        "package.json": '{"type": "module"}\n',
        "src/calc.js": "export function sub(a, b) {\n  return 0;\n}\n",
        "data/expected.json": "2\n",
        "data/unnamed.json": "2\n",
    }
    world = make_tool_world(
        tmp_path / "repo", "stacks:\n  - {root: ., language: node, runner: node-test}\n", files
    )
    world.write("test/calc.test.js", NODE_TEST)
    world.test()
    (red,) = world.state.reds
    world.claim(red, "src/calc.js")
    assert world.state.turn is not None
    assert world.state.turn.reads == ("data/expected.json",)
    assert world.project.classify("data/expected.json") == "test"
    world.write("data/expected.json", "8\n")
    assert world.settle().verdict.kind is Kind.TAMPERED
