"""What decides stays what it was from claim to verdict: tests, data, start-up files, the code that is run."""

from __future__ import annotations

import json
import os
import py_compile
import sys
import sysconfig
from pathlib import Path

from support.turns import CALC, SUB, SUB_ID, TEST_SUB, World, make_green_world, make_world
from verdigris.core.events import PutBack, Violation
from verdigris.core.paths import PathClass
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.core.verdict import Kind
from verdigris.storage.project import Project, open_project
from verdigris.turns import refactor
from verdigris.turns.settle import Settlement, settle
from verdigris.turns.survey import survey

WRONG = CALC + "\n\ndef sub(a, b):\n    return a + b\n"


def agent(world: World) -> Project:
    return open_project(world.root, Actor(role="agent", client="test"))


def settled_by_agent(world: World) -> Settlement:
    done = settle(agent(world))
    assert isinstance(done, Settlement), done
    return done


def environment(world: World) -> Path:
    """The interpreter of this suite under another roof, whose start-up files are ours to change."""
    made = world.root / ".venv"
    (made / "bin").mkdir(parents=True)
    (made / "bin" / "python").symlink_to(sys.executable)
    home = Path(sys.base_prefix, "bin")
    (made / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n")
    packages = made / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "shared.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return packages


def in_its_own_environment(tmp_path: Path, **files: str) -> tuple[World, Path]:
    world = make_world(tmp_path / "repo", **files)
    packages = environment(world)
    world.write(".gitignore", ".venv/\n")
    config = world.read("tdd.yaml").replace(json.dumps(sys.executable), ".venv/bin/python")
    world.write("tdd.yaml", config)
    world.repo.commit("an environment")
    return world, packages


def test_a_changed_foundation_is_tampered_until_the_reds_are_proven_anew(tmp_path: Path) -> None:
    world, packages = in_its_own_environment(tmp_path)
    world.green()
    world.write("calc.py", CALC + SUB)
    (packages / "zz.pth").write_text("import os\n")
    assert any("zz.pth" in note for note in survey(world.project).notes)
    tampered = world.settle()
    assert tampered.verdict.kind is Kind.TAMPERED
    assert "zz.pth" in tampered.verdict.reasons[0]
    assert tampered.next == f"`tdd test {SUB_ID}`"
    assert (world.read("calc.py"), world.state.strikes) == (CALC + SUB, {})
    assert world.test(SUB_ID).resumed
    assert world.read("calc.py") == CALC + SUB
    assert world.settle().verdict.accepted


def test_a_foundation_that_changed_in_a_refactor_is_tampered_until_it_is_put_back(tmp_path: Path) -> None:
    world, packages = in_its_own_environment(tmp_path)
    assert isinstance(refactor.begin(world.project, uncovered=False), refactor.Begun)
    world.write("calc.py", CALC.replace("a + b", "b + a"))
    (packages / "zz.pth").write_text("import os\n")
    done = refactor.end(world.project)
    assert isinstance(done, Settlement)
    assert done.verdict.kind is Kind.TAMPERED
    assert "zz.pth changed in a refactor" in done.verdict.reasons[0]
    assert "refactor abort" in done.next
    assert [event.what for event in world.events(Violation) if isinstance(event, Violation)]
    (packages / "zz.pth").unlink()
    again = refactor.end(world.project)
    assert isinstance(again, Settlement)
    assert again.verdict.accepted, again.verdict


def test_a_poisoned_cache_earns_nothing(green: World) -> None:
    source = green.root / "calc.py"
    for text in (CALC + SUB, WRONG):
        green.write("calc.py", text)
        os.utime(source, (1_700_000_000, 1_700_000_000))
        if text != WRONG:
            py_compile.compile(str(source))
    assert len(CALC + SUB) == len(WRONG)
    assert green.settle().verdict.kind is Kind.STILL_RED


def test_a_copy_that_is_tested_instead_of_the_candidate_makes_the_verdict_broken(tmp_path: Path) -> None:
    world, packages = in_its_own_environment(tmp_path, **{"src/minus.py": WRONG})
    world.write("tests/test_sub.py", TEST_SUB.replace("calc", "minus"))
    (packages / "minus.py").write_text(WRONG)
    world.claimed(SUB_ID, "src/minus.py")
    world.write("src/minus.py", CALC + SUB)
    verdict = world.settle().verdict
    assert verdict.kind is Kind.BROKEN
    assert "site-packages/minus.py instead of src/minus.py" in verdict.reasons[0]
    assert "editable" in verdict.reasons[0]


def test_a_module_that_no_class_protects_is_a_concern(tmp_path: Path) -> None:
    world = make_green_world(tmp_path / "repo", "    source: [calc.py]\n", **{"tools/script.py": "X = 1\n"})
    world.write("calc.py", "from tools import script\n" + CALC + SUB)
    verdict = world.settle().verdict
    assert verdict.accepted
    told = "tools/script.py: code: it is executed by calc.py, although its name does not make it source"
    assert told in verdict.concerns


def test_an_agents_drift_is_put_back_in_place_and_its_bytes_are_kept(world: World) -> None:
    world.green_by_record()
    inode = (world.root / "tests/test_sub.py").stat().st_ino
    world.write("calc.py", CALC + SUB)
    world.write("tests/test_sub.py", "# mine\n")
    world.write("tests/test_new.py", "# new\n")
    assert survey(agent(world)).drift == ("tests/test_new.py", "tests/test_sub.py")
    assert world.read("tests/test_sub.py") == "# mine\n"
    done = settled_by_agent(world)
    assert (done.verdict.kind, done.phase, world.state.strikes) == (Kind.TAMPERED, Phase.GREEN, {})
    assert "settle" in done.next
    assert (world.read("tests/test_sub.py"), world.read("calc.py")) == (TEST_SUB, CALC + SUB)
    assert (world.root / "tests/test_sub.py").stat().st_ino == inode
    assert not (world.root / "tests/test_new.py").exists()
    kept = {v.path: world.project.workspace.blob_bytes(v.displaced) for v in violations(world)}
    assert kept == {"tests/test_sub.py": b"# mine\n", "tests/test_new.py": b"# new\n"}


def test_a_persons_own_edit_is_kept(world: World) -> None:
    world.green_by_record()
    world.write("tests/test_sub.py", "# mine\n")
    done = world.settle()
    assert (done.verdict.kind, world.read("tests/test_sub.py")) == (Kind.TAMPERED, "# mine\n")
    assert "(`tdd restore tests/test_sub.py`), " in done.next
    assert [v.path for v in violations(world)] == ["tests/test_sub.py"]
    assert world.events(PutBack) == []


def test_data_and_configuration_are_frozen_with_the_tests(tmp_path: Path) -> None:
    files = {"pkg/rates.json": "{}", "tests/golden/out.txt": "1\n", "tests/helpers/make.py": "X = 1\n"}
    world = make_world(tmp_path / "repo", "oracle: {include: [pkg/*.json]}\n", **files)
    world.green_by_record()
    world.write("pkg/notes.md", "anybody's\n")
    assert survey(world.project).drift == ()
    frozen = ["conftest.py", *files, "pytest.ini"]
    for path in frozen:
        assert world.project.classify(path) is PathClass.TEST
        world.write(path, "changed\n")
    assert sorted(survey(world.project).drift) == sorted(frozen)
    assert world.settle().verdict.kind is Kind.TAMPERED


def violations(world: World) -> list[Violation]:
    return [event for event in world.events(Violation) if isinstance(event, Violation)]
