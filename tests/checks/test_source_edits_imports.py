from __future__ import annotations

from pathlib import Path

import pytest

from support.turns import CALC, World, make_world
from verdigris.checks.observation import find_unclaimed
from verdigris.core.actions import Allow, Deny
from verdigris.turns.write import write

STUB = "\n\ndef sub(a, b):  # STUB:TDD\n    raise NotImplementedError\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    files = {
        "shapes/__init__.py": "",
        "shapes/round.py": "def circle(f):\n    return f\n",
        "tests/helpers.py": "FIVE = 5\n",
        "scripts/impl.py": "import sys\n",
        "docs/json.py": "",
    }
    return make_world(tmp_path / "repo", "    source: [calc.py, shapes]\n", **files)


def written(world: World, text: str, path: str = "calc.py") -> Allow | Deny:
    done = write(world.project, {path: text.encode()}, cwd=world.root)
    assert isinstance(done, Allow | Deny)
    return done


@pytest.mark.parametrize(
    "line",
    [
        "import json",
        "import shapes.round",
        "from shapes import round as rounded",
        "from shapes.round import circle",
        "import attr",
    ],
)
def test_source_and_packages_may_be_imported(world: World, line: str) -> None:
    assert isinstance(written(world, f"{CALC}\n\n{line}\n{STUB}"), Allow)


@pytest.mark.parametrize(
    ("line", "leads_to"),
    [
        ("import scripts.impl", "scripts/impl.py"),
        ("from scripts import impl", "scripts/impl.py"),
        ("import impl", "scripts/impl.py"),
        ("from tests import helpers", "tests/helpers.py"),
        ("import helpers", "tests/helpers.py"),
    ],
)
def test_what_anybody_may_write_in_red_may_not(world: World, line: str, leads_to: str) -> None:
    done = written(world, f"{CALC}\n\n{line}\n")
    assert isinstance(done, Deny)
    world.write("calc.py", f"{CALC}\n\n{line}\n")
    tree = world.project.workspace.snapshot()
    (found,) = find_unclaimed(world.project, world.state.ground or "", tree)
    assert f"it imports {leads_to}" in found.why


def test_a_file_that_comes_after_the_import_is_found_at_the_next_look(world: World) -> None:
    world.write("calc.py", f"{CALC}\n\nimport later\n")
    ground = world.state.ground or ""
    assert find_unclaimed(world.project, ground, world.project.workspace.snapshot()) == ()
    world.write("tools/later.py", "import sys\n")
    (found,) = find_unclaimed(world.project, ground, world.project.workspace.snapshot())
    assert "tools/later.py" in found.why


def test_a_decorator_of_the_project_does_work(world: World) -> None:
    text = f"from shapes.round import circle\n\n\n{CALC}\n\n@circle{STUB.lstrip()}"
    assert isinstance(written(world, text.replace("@circle", "@circle\n")), Deny)


def test_a_stub_may_import_a_stub(world: World) -> None:
    assert isinstance(written(world, STUB.lstrip(), "shapes/square.py"), Allow)
    assert isinstance(written(world, f"{CALC}\n\nfrom shapes.square import sub as minus\n"), Allow)


def test_nodes_relative_imports_lead_to_source_only(tmp_path: Path) -> None:
    stacks = "  - root: web\n    language: node\n    runner: node-test\n"
    files = {"web/package.json": "{}", "web/src/a.js": "export const a = 1;\n", "web/tools/b.js": ""}
    world = make_world(tmp_path / "repo", stacks, **files)
    fine = 'import fs from "node:fs";\nimport { a } from "./a.js";\n'
    assert isinstance(written(world, fine, "web/src/c.js"), Allow)
    assert isinstance(written(world, 'import { b } from "../tools/b.js";\n', "web/src/d.js"), Deny)
