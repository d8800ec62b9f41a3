"""`tdd test` of one id of vitest's, by the resident and cold, against `npx vitest run` of the same test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

from timing import Row, against, interleaved

from verdigris.core.records import Actor
from verdigris.execution.resident import resident
from verdigris.execution.test_run import run_request
from verdigris.runners.protocol import TestRequest
from verdigris.storage.project import open_project

ROUNDS = 7
SECONDS = 60
ID = "test/calc.test.ts::adds"
NEWEST = {20: "4", 22: "5"}
"""By the oldest node that it needs."""


def rows() -> list[Row]:
    """None where there is no node, or no packages can be had."""
    node = _node()
    versions = ["3", *(version for least, version in NEWEST.items() if node >= least)] if node else []
    return [row for version in versions for row in _rows(version)]


def _node() -> int:
    if shutil.which("npx") is None:
        return 0
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    return int(told.lstrip("v").split(".")[0])


def _rows(version: str) -> list[Row]:
    tdd = str(Path(sys.executable).with_name("tdd"))
    names = [
        f"vitest {version}: {what}"
        for what in ("npx vitest run", "tdd test, cold", "tdd test", "the run in it")
    ]
    with tempfile.TemporaryDirectory(prefix="tdd-bench-") as name:
        root = Path(name)
        if not _project(root, version):
            return []
        numbers = count()

        def edit() -> None:
            # The tree differs each time, so that no answer comes from the log.
            text = f"export const add = (a: number, b: number) => a + b;\nexport const N = {next(numbers)};\n"
            (root / "src" / "calc.ts").write_text(text)

        def run(*argv: str, warm: str = "1") -> None:
            edit()
            env = {**os.environ, resident.OFF: warm}
            subprocess.run(argv, cwd=root, env=env, check=True, capture_output=True)

        project = open_project(root, Actor(client="bench"))
        try:
            run(tdd, "test", ID)
            _wait(project.repo.private)
            (stack,) = project.settings.stacks
            medians = interleaved(
                {
                    names[0]: lambda: run("npx", "vitest", "run", "test/calc.test.ts", "-t", "^adds$"),
                    names[1]: lambda: run(tdd, "test", ID, warm="0"),
                    names[2]: lambda: run(tdd, "test", ID),
                    names[3]: lambda: run_request(project, stack, TestRequest((ID,))),
                },
                ROUNDS,
                edit,
            )
        finally:
            resident.stop(str(project.repo.private))
        return against(medians, names[0], {names[2]: "≤ 0.25 × npx", names[3]: "≤ 0.25 × npx"})


def _wait(private: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if any(
            resident.read_note(str(folder)).get("ready") for folder in (private / resident.FOLDER).glob("*")
        ):
            return
        time.sleep(0.1)
    raise SystemExit("the resident vitest did not start")


def _project(root: Path, version: str) -> bool:
    (root / "package.json").write_text(json.dumps({"private": True, "type": "module"}))
    install = ["npm", "install", "--no-audit", "--no-fund", "--save-dev", f"vitest@{version}"]
    if subprocess.run(install, cwd=root, capture_output=True, check=False).returncode:
        return False
    for folder in ("src", "test"):
        (root / folder).mkdir()
    (root / ".gitignore").write_text("node_modules\n")
    (root / "src" / "calc.ts").write_text("export const add = (a: number, b: number) => a + b;\n")
    (root / "test" / "calc.test.ts").write_text(
        'import { expect, it } from "vitest";\nimport { add } from "../src/calc";\n'
        'it("adds", () => { expect(add(1, 2)).toBe(3); });\n'
    )
    (root / "tdd.yaml").write_text("stacks:\n  - {root: ., language: node, runner: vitest}\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    init = [str(Path(sys.executable).with_name("tdd")), "init", "--yes"]
    subprocess.run(init, cwd=root, check=True, capture_output=True)
    return True
