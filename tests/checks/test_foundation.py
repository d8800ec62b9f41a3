from __future__ import annotations

import importlib.util
import json
import os
import py_compile
import sys
import sysconfig
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.turns import CALC, SUB, SUB_ID, TEST_SUB, World, make_world
from verdigris.checks import foundation
from verdigris.checks.foundation import (
    CHANGED,
    DigestMemory,
    find_changes,
    fold_paths,
    judge_foundation,
    prepare,
)
from verdigris.core.events import Settled, Violation
from verdigris.core.verdict import Kind
from verdigris.execution.tools import foundation_files
from verdigris.execution.tools.foundation_files import interpreter_files
from verdigris.execution.tools.interpreter import InterpreterPlaces

TAG = sys.implementation.cache_tag or ""
PYTHON = ".venv/bin/python"
CFG = f"home = {Path(sys.base_prefix, 'bin')}\ninclude-system-site-packages = false\n"


def environment(world: World) -> Path:
    """An environment in the repository with a runner that is small enough to be changed; its packages."""
    made = world.root / ".venv"
    (made / "bin").mkdir(parents=True)
    (made / "bin" / "python").symlink_to(sys.executable)
    (made / "pyvenv.cfg").write_text(CFG)
    version = sysconfig.get_python_version()
    packages = made / "lib" / f"python{version}" / "site-packages"
    for name, text in {
        "_pytest/__init__.py": "",
        "_pytest/runner.py": "def call():\n    return 'called'\n",
        "pluggy/__init__.py": "",
        "pytest/__init__.py": "",
        "pytest_extra/plugin.py": "X = 1\n",
        "pytest_extra-1.dist-info/entry_points.txt": "[pytest11]\nextra = pytest_extra.plugin\n",
        "click/__init__.py": "",
        "click-8.dist-info/entry_points.txt": "[console_scripts]\nclick = click:main\n",
        "project.pth": f"{world.root / 'src'}\n",
    }.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(text)
    return packages


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = make_world(tmp_path / "repo")
    world.write("tdd.yaml", f"stacks:\n  - {{root: ., language: python, runner: pytest, python: {PYTHON}}}\n")
    return world


def cached(packages: Path) -> Path:
    return Path(importlib.util.cache_from_source(str(packages / "_pytest" / "runner.py")))


def poison(packages: Path) -> None:
    """Other code under the header of the genuine one."""
    source = packages / "_pytest" / "runner.py"
    text = source.read_text()
    status = source.stat()
    source.write_text(text.replace("'called'", "'passed'"))
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    py_compile.compile(str(source))
    source.write_text(text)
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "_pytest/runner.py": lambda p: (p / "_pytest/runner.py").write_text("def call():\n    return 'kalled'\n"),
    "_pytest/new.py": lambda p: (p / "_pytest/new.py").write_text(""),
    "pluggy/__init__.py": lambda p: (p / "pluggy/__init__.py").unlink(),
    "pytest_extra/plugin.py": lambda p: (p / "pytest_extra/plugin.py").write_text("X = 2\n"),
    "zz.pth": lambda p: (p / "zz.pth").write_text("import os\n"),
    "sitecustomize.py": lambda p: (p / "sitecustomize.py").write_text(""),
    "usercustomize/__init__.py": lambda p: (p / "click").rename(p / "usercustomize"),
    "__editable___x_finder.py": lambda p: (p / "__editable___x_finder.py").write_text("MAPPING = {}\n"),
    "click_plugin.py": lambda p: (
        (p / "click_plugin.py").write_text(""),
        (p / "click-8.dist-info/entry_points.txt").write_text("[pytest11]\nc = click_plugin\n"),
    ),
}


@pytest.mark.parametrize("path", CHANGES)
def test_what_runs_below_the_tests_is_named_when_it_changes(world: World, path: str) -> None:
    packages = environment(world)
    blob = prepare(world.project)
    assert find_changes(world.project, blob) == ()
    CHANGES[path](packages)
    assert find_changes(world.project, blob) == (str((packages / path).relative_to(world.root)),)
    assert find_changes(world.project, prepare(world.project)) == ()


@pytest.mark.parametrize("path", CHANGES)
def test_so_is_what_this_process_has_listed_before(
    world: World, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = environment(world)
    monkeypatch.setattr(foundation_files, "TICK", 0)
    time.sleep(0.02)  # longer than a tick of the slowest clock that stamps files
    blob = prepare(world.project)
    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", None)
        assert find_changes(world.project, blob) == ()
    CHANGES[path](packages)
    assert find_changes(world.project, blob) == (str((packages / path).relative_to(world.root)),)


def test_a_folder_behind_a_link_is_listed_anew_when_the_link_leads_elsewhere(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = environment(world)
    monkeypatch.setattr(foundation_files, "TICK", 0)
    (tmp_path / "other").mkdir()
    (packages / "_pytest/more").symlink_to(tmp_path / "other")
    time.sleep(0.02)
    blob = prepare(world.project)
    (tmp_path / "other").rename(tmp_path / "former")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/late.py").write_text("")
    late = packages / "_pytest/more/late.py"
    assert find_changes(world.project, blob) == (str(late.relative_to(world.root)),)


def test_environment_and_start_up_modules_of_the_project_count(world: World) -> None:
    environment(world)
    blob = prepare(world.project)
    world.write("src/sitecustomize.py", "")
    (world.root / ".venv/pyvenv.cfg").write_text(CFG + "prompt = other\n")
    assert find_changes(world.project, blob) == (".venv/pyvenv.cfg", "src/sitecustomize.py")


def test_another_package_is_no_matter(world: World) -> None:
    packages = environment(world)
    blob = prepare(world.project)
    (packages / "numpy").mkdir()
    (packages / "numpy/__init__.py").write_text("")
    (packages / "numpy-2.dist-info").mkdir()
    (packages / "numpy-2.dist-info/entry_points.txt").write_text("[console_scripts]\nf2py = numpy:main\n")
    (packages / "click/__init__.py").write_text("VERSION = 9\n")
    assert find_changes(world.project, blob) == ()


def test_bytecode_that_python_wrote_is_no_matter_and_any_other_is(world: World) -> None:
    packages = environment(world)
    blob = prepare(world.project)
    py_compile.compile(str(packages / "_pytest" / "runner.py"))
    assert find_changes(world.project, blob) == ()
    with_cache = prepare(world.project)
    poison(packages)
    poisoned = str(cached(packages).relative_to(world.root))
    assert find_changes(world.project, blob) == find_changes(world.project, with_cache) == (poisoned,)
    cached(packages).unlink()
    assert find_changes(world.project, with_cache) == ()


def test_the_usual_look_reads_and_stores_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    environment(world)
    project = world.project
    monkeypatch.setattr(foundation, "TICK", 0)
    blob = prepare(project)
    monkeypatch.setattr(foundation, "open", None, raising=False)
    monkeypatch.setattr(type(project.workspace), "blob", None)
    assert prepare(project) == blob


@pytest.mark.parametrize("junk", [b"", b"[]", b"\xff", b"{"])
def test_a_lost_memory_only_costs_time(world: World, junk: bytes) -> None:
    environment(world)
    blob = prepare(world.project)
    (world.project.repo.private / "foundation.json").write_bytes(junk)
    assert prepare(world.project) == blob


def test_a_process_reads_the_memory_again_only_if_another_one_saved_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment(world)
    blob = prepare(world.project)
    reads: list[DigestMemory] = []
    read = DigestMemory._read

    def counted(memory: DigestMemory) -> dict[str, Any]:
        reads.append(memory)
        return read(memory)

    monkeypatch.setattr(DigestMemory, "_read", counted)
    assert (prepare(world.project), find_changes(world.project, blob)) == (blob, ())
    assert reads == []

    file = world.project.repo.private / "foundation.json"
    theirs = json.loads(file.read_bytes())
    theirs["loaded"]["/elsewhere/module.py"] = 1
    draft = file.with_name("theirs")
    draft.write_text(json.dumps(theirs))
    draft.replace(file)
    assert "/elsewhere/module.py" in DigestMemory(world.project.repo.private).loaded
    assert len(reads) == 1


def test_a_turn_without_a_recorded_foundation_is_not_compared(world: World) -> None:
    environment(world)
    assert find_changes(world.project, "") == ()


def test_the_claim_freezes_it_and_a_change_suspends_the_turn(world: World) -> None:
    packages = environment(world)
    world.green_by_record()
    turn = world.state.turn
    assert turn is not None
    tree = world.project.workspace.snapshot()
    assert judge_foundation(world.project, turn, tree) is None
    world.write("calc.py", CALC + SUB)
    (packages / "zz.pth").write_text("import os\n")
    verdict = judge_foundation(world.project, turn, tree)
    assert verdict is not None
    assert verdict.kind is Kind.TAMPERED
    (settled,) = world.events(Settled)
    (violation,) = world.events(Violation)
    assert isinstance(settled, Settled)
    assert isinstance(violation, Violation)
    assert (settled.struck, violation.path) == ((), str((packages / "zz.pth").relative_to(world.root)))
    after = world.state.turn
    assert after == replace(turn, suspended=True, why=settled.reasons[0])
    assert list(world.state.claims) == [SUB_ID]
    assert world.read("calc.py") == CALC + SUB


def test_folders_on_the_python_path_are_looked_at_for_start_up_modules() -> None:
    found = interpreter_files(InterpreterPlaces("/p", "/lib", (), TAG), {"PYTHONPATH": f"/a{os.pathsep}/b"})
    assert {"/a/sitecustomize.py", "/b/usercustomize/__init__.py", "/lib/sitecustomize.py"} <= found


def test_what_a_run_loaded_belongs_to_it_whatever_its_name(world: World) -> None:
    packages = environment(world)
    click = packages / "click/__init__.py"
    blob = prepare(world.project, [str(click)])
    assert find_changes(world.project, blob) == ()
    click.write_text("VERSION = 9\n")
    assert find_changes(world.project, blob) == (str(click.relative_to(world.root)),)


def test_what_a_later_run_loads_counts_where_it_is_newer_than_the_claim(world: World) -> None:
    packages = environment(world)
    blob, since = prepare(world.project), time.time_ns()
    click, late = packages / "click/__init__.py", packages / "late.py"
    assert find_changes(world.project, blob, since, [str(click)]) == ()
    time.sleep(0.02)
    late.write_text("import pytest\n")
    assert find_changes(world.project, blob, since) == ()
    assert find_changes(world.project, blob, since, [str(late)]) == (str(late.relative_to(world.root)),)


def test_bytecode_stands_for_its_source(world: World) -> None:
    packages = environment(world)
    source = packages / "click/__init__.py"
    blob = prepare(world.project, [importlib.util.cache_from_source(str(source))])
    source.write_text("VERSION = 9\n")
    assert find_changes(world.project, blob) == (str(source.relative_to(world.root)),)


def test_the_interpreter_and_the_programs_of_commands_belong_to_it(world: World) -> None:
    packages = environment(world)
    python = json.dumps(PYTHON)
    stack = f"{{root: ., language: python, runner: pytest, python: {python}, check: .venv/bin/lint --strict}}"
    world.write("tdd.yaml", f"stacks:\n  - {stack}\n")
    lint = world.root / ".venv/bin/lint"
    lint.write_text(f"#!{world.root / PYTHON}\nimport sys\nfrom click import main\nsys.exit(main())\n")
    lint.chmod(0o755)
    blob = prepare(world.project)
    (packages / "click/__init__.py").write_text("main = int\n")
    assert find_changes(world.project, blob) == (
        str((packages / "click/__init__.py").relative_to(world.root)),
    )
    lint.write_text("#!/bin/sh\n")
    (world.root / PYTHON).unlink()
    (world.root / PYTHON).write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (world.root / PYTHON).chmod(0o755)
    assert {PYTHON, ".venv/bin/lint"} <= set(find_changes(world.project, blob))


def test_many_files_of_one_package_are_told_as_one() -> None:
    many = tuple(f".venv/lib/python3.12/site-packages/pygments/{n}.py" for n in range(9))
    deep = tuple(f"web/node_modules/@scope/lib/{n}.js" for n in range(4))
    assert fold_paths((*many, "a.pth", *deep, "web/node_modules/one/index.js")) == (
        ".venv/lib/python3.12/site-packages/pygments: 9 files",
        "a.pth",
        "web/node_modules/@scope/lib: 4 files",
        "web/node_modules/one/index.js",
    )


def test_a_package_that_pytest_imports_cannot_be_changed_after_the_claim(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo")
    outside = tmp_path / "packages"
    outside.mkdir()
    (outside / "helping.py").write_text("X = 1\n")
    world.write("conftest.py", f"import sys\nsys.path.append({str(outside)!r})\nimport helping\n")
    world.write("tests/test_sub.py", TEST_SUB)
    world.claimed()
    world.write("calc.py", CALC + SUB)
    (outside / "helping.py").write_text("X = 2\n")
    verdict = world.settle().verdict
    assert (verdict.kind, verdict.reasons) == (Kind.TAMPERED, (f"{outside}/helping.py {CHANGED}",))
    world.test(SUB_ID)
    assert world.settle().verdict.accepted


def test_nor_can_source_import_a_module_that_came_after_it(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo")
    outside = tmp_path / "packages"
    outside.mkdir()
    world.write("conftest.py", f"import sys\nsys.path.append({str(outside)!r})\n")
    world.write("tests/test_sub.py", TEST_SUB)
    world.claimed()
    time.sleep(0.02)
    (outside / "late.py").write_text("X = 1\n")
    world.write("calc.py", "import late\n\n\n" + CALC + SUB)
    verdict = world.settle().verdict
    assert (verdict.kind, verdict.reasons) == (Kind.TAMPERED, (f"{outside}/late.py {CHANGED}",))


def test_many_packages_are_told_as_their_environment() -> None:
    paths = tuple(f"web/node_modules/{name}/{n}.js" for name in "abcde" for n in range(68))
    assert fold_paths(paths) == ("web/node_modules: 340 files",)
