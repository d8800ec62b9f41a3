"""What the three tools of Node have in common when they really run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from runners import test_node_jest, test_node_test, test_node_vitest
from support import receivers
from support.node_tools import NAMES, TWIN, Project, names_file, node_22, present, project
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.languages.node.test_ids import node_id
from verdigris.runners.node import Jest, NodeTest, Vitest
from verdigris.runners.protocol import Runner

pytestmark = pytest.mark.slow
_APPEND = 'const { appendFileSync } = require("node:fs");'


class Tool(NamedTuple):
    runner: Runner
    node: Callable[[], str]
    package: str | None
    """The newest version. Older ones are in the recordings."""
    like: str
    check: Callable[[TestReport], None]
    names: str
    """The first lines of a test file that appends to another file."""
    heading: str = ""
    """The first line of a test file."""


TOOLS = {
    "jest": Tool(Jest(), present, "jest@30", "jest", test_node_jest.check, _APPEND),
    "vitest": Tool(
        *(Vitest(), node_22, "vitest@5", "vitest", test_node_vitest.check),
        'import { it, describe } from "vitest"; import { appendFileSync } from "node:fs";',
        'import { expect, it } from "vitest";',
    ),
    "node": Tool(
        *(NodeTest(), node_22, None, "node", test_node_test.check),
        f'const {{ it, describe }} = require("node:test"); {_APPEND}',
        'const { it } = require("node:test"); const { equal } = require("node:assert");\n'
        "const expect = (value) => ({ toBe: (other) => equal(value, other) });",
    ),
}


@pytest.fixture(params=TOOLS)
def tool(request: pytest.FixtureRequest) -> Tool:
    return TOOLS[request.param]


def made(folder: Path, tool: Tool, like: str = "") -> Project:
    return project(folder, tool.runner, node=tool.node(), package=tool.package, like=like)


def test_a_live_run_says_the_same_and_writes_no_snapshot(tmp_path: Path, tool: Tool) -> None:
    live = made(tmp_path, tool, tool.like)
    before = {file: file.read_bytes() for file in live.root.rglob("*") if file.is_file()}
    tool.check(live.run())
    assert {file: file.read_bytes() for file in live.root.rglob("*") if file.is_file()} == before


def test_exactly_the_named_tests_run_whatever_their_names_hold(tmp_path: Path, tool: Tool) -> None:
    live, file = made(tmp_path, tool), "names.test.js" if tool.like == "vitest" else "names [x] $.test.js"
    live.write(file, names_file(tool.names))
    if tool.like == "jest":
        live.write("names [x] $.test.jsx", 'it("a b", () => { throw new Error("not asked for"); });')
    asked = {*((name,) for name in NAMES[1::2]), ("a", "(b)", "c")}
    report, ran = live.ran(file, *asked)
    if tool.like == "node":
        assert asked <= ran
        assert len(ran) < len(NAMES)  # node also runs what only one of the names on the way matches
    else:
        assert ran - {TWIN} == asked
        assert len(report.others) == len(NAMES) + 3 - len(asked)
    assert {result.native_id for result in report.results} == {node_id(file, each) for each in asked}
    assert all(result.status is Status.PASS for result in report.results)


@pytest.mark.parametrize("tool", ["jest", "vitest"], indirect=True)
def test_collecting_runs_nothing(tmp_path: Path, tool: Tool) -> None:
    live, file = made(tmp_path, tool), "collect/some.test.js"
    tests = 'describe("s", () => { it("x", () => { throw 1; }); }); it.each([1, 2])("n %i", () => {});'
    live.write(file, f"{tool.names}\n{tests}")
    report = live.run(file, collect_only=True)
    assert report.collected == tuple(f"{file}::{name}" for name in ("s › x", "n 1", "n 2"))
    assert (report.results, report.ended) == ((), RunEnd.FINISHED)


def test_a_project_object_that_lacks_something_is_a_red_whatever_the_receiver(
    tmp_path: Path, tool: Tool
) -> None:
    common = tool.like != "vitest"
    assert receivers.judged(made(tmp_path, tool), tool.heading, common=common) == receivers.EXPECTED
