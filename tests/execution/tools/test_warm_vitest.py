"""The resident vitest: it tells what a cold run tells, sees the tree as it is, and keeps nothing of a run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from support.node_tools import RECORDED, installed, node_22, present
from support.tool_worlds import NODE_CONFIG, make_tool_world
from support.turns import World
from support.warming import ended, folders, until
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.execution.resident import borrowed_child, resident
from verdigris.execution.test_run import run_request
from verdigris.execution.tools import warm_vitest
from verdigris.execution.tools.warm_vitest import run_in_resident
from verdigris.runners.protocol import TestRequest
from verdigris.sandbox import child

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not borrowed_child.is_possible(child.available().way), reason="no room to walk into can be made here"
    ),
]

FILES = {
    ".gitignore": "node_modules\n",
    "package.json": '{ "private": true, "type": "module" }\n',
    "src/calc.ts": "export const add = (a: number, b: number) => a + b;\n",
    "test/add.test.ts": """\
import { expect, it } from "vitest";
import { add } from "../src/calc";
it("adds", () => { expect(add(1, 2)).toBe(3); });
""",
}
ADDS = "test/add.test.ts::adds"


class Warmth:
    """Which runs were made by the resident."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken: list[bool] = []

        def noted(*arguments: object) -> object:
            found = run_in_resident(*arguments)  # type: ignore[arg-type]  # as they come
            self.taken.append(found is not None)
            return found

        monkeypatch.setattr(warm_vitest, "run_in_resident", noted)


@pytest.fixture
def warmth(monkeypatch: pytest.MonkeyPatch) -> Warmth:
    monkeypatch.setenv("VERDIGRIS_WARM", "1")
    present()
    return Warmth(monkeypatch)


@pytest.fixture(autouse=True)
def homeless(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """One home for all tests: some of the variables of a run are made of it."""
    monkeypatch.setenv("HOME", str(tmp_path_factory.getbasetemp()))


@pytest.fixture(scope="module")
def newest() -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATH", f"{Path(node_22()).parent}:{os.environ['PATH']}")
        yield installed("vitest@5")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, newest: Path) -> Iterator[World]:
    made = make_tool_world(tmp_path_factory.mktemp("shared") / "demo", NODE_CONFIG, FILES, newest)
    with ended(made):
        yield made


@pytest.fixture
def world(shared: World, warmth: Warmth) -> World:
    """As it was made, and its resident is ready."""
    shared.repo.git("checkout", "-q", "--", ".")
    shared.repo.git("clean", "-qfd")
    ask(shared)
    warmth.taken.clear()
    return shared


class Asked(Exception):
    """A run has asked for a resident, and goes no further."""


def ask(world: World) -> None:
    """For a resident, by a run that ends there: one that took a resident and had no time would end it."""
    wanted: list[resident.Resident] = []

    def note(asked: resident.Resident) -> None:
        wanted.append(asked)
        ensure(asked)
        raise Asked

    def is_ready() -> bool:
        told = resident.read_note(wanted[-1].folder)
        if not resident.is_running(wanted[-1].folder):
            ensure(wanted[-1])
        elif told.get("key") == wanted[-1].key:
            return bool(told.get("ready"))
        return False

    ensure = resident.ensure
    with pytest.MonkeyPatch.context() as patched, suppress(Asked):
        patched.setattr(warm_vitest, "_connect", lambda *_: None)
        patched.setattr(resident, "ensure", note)
        called(world)
    until(is_ready, "not ready")


def called(world: World, *names: str, timeout: float | None = None) -> TestReport:
    project = world.project
    (stack,) = project.settings.stacks
    return run_request(project, stack, TestRequest(names, timeout=timeout))


def cold(world: World, *names: str) -> TestReport:
    os.environ["VERDIGRIS_WARM"] = "0"
    try:
        return called(world, *names)
    finally:
        os.environ["VERDIGRIS_WARM"] = "1"


def warm(world: World, warmth: Warmth, *names: str) -> TestReport:
    """A run that finds no resident asks for one, so it is repeated until the resident makes it."""
    deadline = time.monotonic() + 60
    found = called(world, *names)
    while not warmth.taken[-1]:
        assert time.monotonic() < deadline, "it was made cold"
        found = called(world, *names)
    return found


def shown(report: TestReport) -> object:
    results = sorted(
        (r.native_id, r.status, r.phase, repr(r.failure), r.line, r.note) for r in report.results
    )
    errors = sorted((e.path, e.kind) for e in report.errors)
    return (
        report.ended,
        report.exit_code,
        results,
        sorted(report.collected),
        errors,
        report.wrote,
        report.sandbox,
    )


def outcome(report: TestReport) -> list[Status]:
    return [result.status for result in report.results]


def recorded(folder: Path, packages: Path) -> World:
    project = RECORDED / "vitest" / "project"
    texts = {str(file.relative_to(project)): file.read_text("utf-8") for file in project.rglob("*.*")}
    return make_tool_world(folder, NODE_CONFIG, {**texts, ".gitignore": "node_modules\n"}, packages)


def test_it_tells_what_a_cold_run_tells(tmp_path: Path, newest: Path, warmth: Warmth) -> None:
    made = recorded(tmp_path / "demo", newest)
    with ended(made):
        plain = called(made)
        ask(made)
        whole = warm(made, warmth)
        assert shown(whole) == shown(plain)
        assert len(whole.results) > 30


def test_it_tells_the_same_with_an_old_vitest(tmp_path: Path, warmth: Warmth) -> None:
    made = recorded(tmp_path / "demo", installed("vitest@2"))
    some = [f"test/calc.test.ts::{name}" for name in ("sums › adds", "thrown in source", "snap", "retry")]
    with ended(made):
        plain = called(made, *some)
        ask(made)
        assert shown(warm(made, warmth, *some)) == shown(plain)


def test_each_run_sees_the_tree_as_it_is(world: World, warmth: Warmth) -> None:
    assert outcome(warm(world, warmth, ADDS)) == [Status.PASS]
    world.write("src/calc.ts", "export const add = (a: number, b: number) => a - b;\n")
    assert outcome(warm(world, warmth, ADDS)) == [Status.FAIL]
    fresh = world.root / "src" / "fresh"
    fresh.write_text("export { add } from './more/sums';\n")
    fresh.replace(world.root / "src" / "calc.ts")
    missing = warm(world, warmth, ADDS)
    assert [error.path for error in missing.errors] == ["test/add.test.ts"]
    world.write("src/more/sums.ts", FILES["src/calc.ts"])
    assert outcome(warm(world, warmth, ADDS)) == [Status.PASS]
    world.write("src/more/sums.js", "export const add = () => 0;\n")
    (world.root / "src" / "more" / "sums.ts").unlink()
    assert outcome(warm(world, warmth, ADDS)) == [Status.FAIL]
    world.write("test/add.test.ts", FILES["test/add.test.ts"].replace("toBe(3)", "toBe(0)"))
    assert outcome(warm(world, warmth, ADDS)) == [Status.PASS]
    world.write("test/other.test.ts", FILES["test/add.test.ts"].replace("adds", "more"))
    assert {r.native_id for r in warm(world, warmth).results} == {ADDS, "test/other.test.ts::more"}
    (world.root / "test" / "other.test.ts").unlink()
    assert {r.native_id for r in warm(world, warmth).results} == {ADDS}


def test_a_caller_may_take_its_time_to_read_the_report(
    world: World, warmth: Warmth, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = warm_vitest._wait_for_end

    def late(*arguments: object) -> dict[str, object]:
        ended = end(*arguments)  # type: ignore[arg-type]  # as they come
        time.sleep(0.5)  # node is free again by then
        return ended

    monkeypatch.setattr(warm_vitest, "_wait_for_end", late)
    assert outcome(warm(world, warmth, ADDS)) == [Status.PASS]


def test_nothing_of_a_run_is_left_for_the_next(world: World, warmth: Warmth) -> None:
    world.write(
        "test/add.test.ts",
        """\
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { expect, it } from "vitest";
it("adds", () => {
  globalThis.count = (globalThis.count ?? 0) + 1;
  process.env.COUNT = String(Number(process.env.COUNT ?? 0) + 1);
  expect([globalThis.count, process.env.COUNT]).toEqual([1, "1"]);
  for (const folder of [".", "src", "node_modules", homedir(), tmpdir(), "/tmp", "/dev/shm"]) {
    try { appendFileSync(`${folder}/left`, "x"); } catch (error) {
      if (folder === "node_modules") continue;
      throw error;
    }
    expect(readFileSync(`${folder}/left`, "utf8"), folder).toBe("x");
  }
  appendFileSync("src/calc.ts", "broken(");
  expect(existsSync(".git/tdd/events.jsonl")).toBe(false);
  const host = readFileSync(`/proc/${process.ppid}/cmdline`, "utf8").split("\\0");
  expect(host.some((word) => word.endsWith("resident.mjs"))).toBe(true);
  try { writeFileSync(host.at(-2), "#!/bin/sh\\nexit 1\\n"); } catch {}
  spawn("sleep", ["47.11"], { detached: true, stdio: "ignore" }).unref();
});
""",
    )
    first = warm(world, warmth, ADDS)
    assert outcome(first) == [Status.PASS], first.results
    assert outcome(warm(world, warmth, ADDS)) == [Status.PASS]
    until(lambda: not _sleeping(), "a process outlived its run")
    plain = world.read("test/add.test.ts").replace("spawn(", "if (0) spawn(")
    world.write("test/add.test.ts", plain.replace("const host =", "return;\n  const host ="))
    assert first.wrote == cold(world, ADDS).wrote != ()
    assert world.read("src/calc.ts") == FILES["src/calc.ts"]
    assert not list(world.root.glob("**/left"))


def _sleeping() -> list[str]:
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", b"47.11"]:
            found.append(str(file))
    return found


def test_what_is_in_doubt_is_run_cold(world: World, warmth: Warmth) -> None:
    for doubtful in ("pool: 'threads'", "globalSetup: './global.ts'"):
        world.write(
            "global.ts",
            "import { writeFileSync } from 'node:fs';\nexport default () => writeFileSync('made', '');\n",
        )
        world.write("vitest.config.ts", f"export default {{ test: {{ {doubtful} }} }};\n")
        ask(world)
        again = called(world, ADDS)
        assert (outcome(again), warmth.taken[-1]) == ([Status.PASS], False)


def test_a_configuration_is_read_anew(world: World, warmth: Warmth) -> None:
    world.write("setup.ts", "globalThis.base = 1;\n")
    world.write("vitest.config.ts", "export default { test: { setupFiles: ['./setup.ts'] } };\n")
    test = "import { expect, it } from 'vitest';\nit('adds', () => { expect(globalThis.base).toBe(2); });\n"
    world.write("test/add.test.ts", test)
    ask(world)
    assert outcome(warm(world, warmth, ADDS)) == [Status.FAIL]
    world.write("setup.ts", "globalThis.base = 2;\n")
    assert outcome(warm(world, warmth, ADDS)) == [Status.PASS]


def test_a_run_that_hangs_or_ends_its_host(world: World, warmth: Warmth) -> None:
    hang = "import { it } from 'vitest';\nit('adds', () => { for (;;); }, 60000);\n"
    wait = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);"  # it takes no time of a processor
    world.write("test/add.test.ts", hang.replace("for (;;);", wait))
    report = called(world, ADDS, timeout=2)
    assert (report.ended, warmth.taken[-1]) == (RunEnd.TIMEOUT, True)
    (folder,) = folders(world)
    until(lambda: not resident.is_running(str(folder)), "it is still there")
    world.write("test/add.test.ts", hang)
    world.write("tdd.yaml", (world.root / "tdd.yaml").read_text() + "room: {test_timeout: 1}\n")
    ask(world)
    (result,) = called(world, ADDS).results
    assert not warmth.taken[-1], "who has the tool loaded does not find out where it hangs"
    assert result.failure is not None
    assert result.failure.message == "stopped after 1 s, while it ran in test/add.test.ts:2"
    kill = "import { it } from 'vitest';\nit('adds', () => { process.kill(process.ppid, 'SIGKILL'); });\n"
    world.write("test/add.test.ts", kill)
    ask(world)
    assert shown(called(world, ADDS)) == shown(cold(world, ADDS))
