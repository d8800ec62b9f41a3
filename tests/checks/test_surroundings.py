"""What passes only in the surroundings of the suite's run is hollow, and the verdict names them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from support.turns import CALC, TEST_SUB, World, make_live_world
from verdigris.checks.surroundings import (
    OtherSurroundings,
    describe_dependences,
    find_dependences,
)
from verdigris.core.report import Failure, RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.core.surroundings import PARTS, Part
from verdigris.core.verdict import Kind
from verdigris.execution.room import Layer
from verdigris.execution.rooms import possible
from verdigris.sandbox import child
from verdigris.turns.settle import Settlement

needs_sandbox = pytest.mark.skipif(not child.available().ok, reason="no sandbox can be made here")

RIGHT = "def sub(a, b):\n    return a - b if {} else 0\n"
HONEST = '''
import logging
import os
import tempfile
from datetime import datetime, timezone
from pathlib import Path

log = logging.getLogger(__name__)
SEEN = {"a", "b", "c"}


def sub(a, b):
    """Notes where it was, as programs do."""
    # a comment
    assert isinstance(a, int), "numbers only"
    with tempfile.NamedTemporaryFile(dir=tempfile.gettempdir()) as file:
        file.write(os.environ.get("USER", "").encode())
    Path.home().joinpath(".calc").write_text(datetime.now(timezone.utc).isoformat())
    log.info("columns: %s, %s", os.get_terminal_size, sorted(SEEN))
    return a - b
'''


def settled(tmp_path: Path, source: str, configuration: str = "", test: str = TEST_SUB) -> Settlement:
    world = make_live_world(tmp_path / "repo", configuration)
    world.write("tests/test_sub.py", test)
    world.claimed()
    world.write("calc.py", source)
    return world.settle()


@needs_sandbox
@pytest.mark.parametrize(
    ("condition", "imports", "named"),
    [
        ("os.environ.get('COLUMNS') == '97'", "import os", "terminal"),
        ("tempfile.gettempdir() != '/tmp'", "import tempfile", "home"),
        ("os.path.exists('{outside}')", "import os", "files"),
        ("__debug__", "", "asserts"),
        ("'# ' + 'here' in open(__file__).read()  # here", "", "layout"),
    ],
)
def test_what_holds_in_one_place_only_is_hollow_by_the_name_of_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, condition: str, imports: str, named: Part
) -> None:
    monkeypatch.setenv("COLUMNS", "97")
    outside = tmp_path / "answers"
    outside.write_text("2")
    right = f"    right = {condition.format(outside=outside)}\n    return a - b if right else 0\n"
    done = settled(tmp_path, f"{imports}\n\n\n{CALC}\n\ndef sub(a, b):\n{right}")
    assert done.verdict.kind is Kind.HOLLOW
    [reason] = done.verdict.reasons
    assert f"room: {{same: [{named}]}}" in reason
    assert reason.startswith("tests/test_sub.py::test_sub passes only with ")


@needs_sandbox
def test_what_a_project_says_it_needs_stays_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "97")
    source = "import os\n\n\n" + CALC + "\n\n" + RIGHT.format("os.environ.get('COLUMNS') == '97'")
    done = settled(tmp_path, source, "room: {same: [terminal]}\n")
    assert done.verdict.kind is Kind.ACCEPTED


@needs_sandbox
def test_honest_code_that_uses_its_surroundings_is_accepted(tmp_path: Path) -> None:
    done = settled(tmp_path, CALC + HONEST)
    assert (done.verdict.kind, done.verdict.reasons) == (Kind.ACCEPTED, ())


@needs_sandbox
def test_a_test_that_awaits_an_assertion_of_the_source_is_only_noted(tmp_path: Path) -> None:
    test = (
        TEST_SUB
        + "\n\ndef test_numbers_only():\n"
        + "    with pytest.raises(AssertionError):\n        calc.sub('5', '3')\n"
    )
    source = CALC + "\n\ndef sub(a, b):\n    assert isinstance(a, int)\n    return (a or 0) - (b or 0)\n"
    source = source.replace("(a or 0) - (b or 0)", "a if isinstance(a, str) else a - b")
    done = settled(tmp_path, source, test=f"import pytest\n{test}")
    assert done.verdict.kind is Kind.ACCEPTED, done.verdict
    assert any("test_numbers_only passes only with `assert`" in concern for concern in done.verdict.concerns)


def report(failing: Collection[str], *, kind: str = "AssertionError", message: str = "") -> TestReport:
    results = tuple(
        TestResult(
            name,
            name,
            "native",
            Status.FAIL if name in failing else Status.PASS,
            RunPhase.CALL,
            1,
            Failure(kind, assertion=True, message=message) if name in failing else None,
        )
        for name in ("t.py::a", "t.py::b")
    )
    return TestReport("pytest", RunEnd.FINISHED, 1, 1, results=results)


def test_a_test_that_fails_in_usual_surroundings_too_depends_on_something_else() -> None:
    assert find_dependences(["t.py::a"], ["zone"], lambda _: report(["t.py::a"])) == {}


@pytest.mark.parametrize("named", PARTS)
def test_the_part_that_a_test_takes_is_found_in_few_runs(named: Part) -> None:
    tried: list[Collection[Part]] = []

    def run(parts: Collection[Part]) -> TestReport:
        tried.append(parts)
        return report(["t.py::a"] if named in parts else [])

    found = find_dependences(["t.py::a"], PARTS, run)
    assert {test: part for test, (part, _) in found.items()} == {"t.py::a": named}
    assert len(tried) <= 6


def test_tests_that_take_different_parts_are_told_apart() -> None:
    def run(parts: Collection[Part]) -> TestReport:
        takes: dict[str, Part] = {"t.py::a": "zone", "t.py::b": "layout"}
        return report([test for test, part in takes.items() if part in parts])

    found = find_dependences(["t.py::a", "t.py::b"], PARTS, run)
    assert {test: part for test, (part, _) in found.items()} == {"t.py::a": "zone", "t.py::b": "layout"}


def test_a_module_that_is_not_found_says_nothing() -> None:
    def run(parts: Collection[Part]) -> TestReport:
        return report(["t.py::a"] if parts else [], kind="ModuleNotFoundError")

    assert find_dependences(["t.py::a"], ["files"], run) == {}


def test_what_was_so_before_is_noted() -> None:
    named = describe_dependences({"t.py::a": ("zone", None)}, ["t.py::a"])
    assert (len(named.hollow), len(named.noted)) == (0, 1)


@needs_sandbox
def test_the_same_tree_has_the_same_surroundings(world: World) -> None:
    if not possible(world.project).ok:
        pytest.skip("no sandbox can be made here")
    tree = world.project.workspace.snapshot()
    one, two = (OtherSurroundings(world.project, Layer(tree, tree), [], traced=True) for _ in range(2))
    assert one.drawn == two.drawn
