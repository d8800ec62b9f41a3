from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from support.killing import rehearse
from support.turns import CALC, SUB, SUB_ID, TEST_ADD, TEST_SUB, World, make_world
from verdigris.core.events import EditClaim, RefactorBegun, SwitchedOff, Violation
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.languages.folders import make_folders
from verdigris.sandbox.folders import clear
from verdigris.storage import stat_cache
from verdigris.storage.project import Project, open_project
from verdigris.turns.claim_check import Claimed
from verdigris.turns.rollback import put_back
from verdigris.turns.survey import survey
from verdigris.turns.tripwire import Tripped, calls, has_changed, judgement
from verdigris.turns.tripwire.calls import after_call, before_call

STUB = "\n\ndef sub(a, b):  # STUB:TDD\n    raise NotImplementedError\n"
PYPROJECT = "[project]\nname = 'calc'\n\n[tool.pytest.ini_options]\naddopts = '-q'\n"


def agent(world: World) -> Project:
    return open_project(world.root, Actor("agent", "session", "claude"))


def call(world: World, shell: str) -> Tripped:
    """A call of the agent's, with the tripwire before and after it."""
    assert not before_call(agent(world))
    subprocess.run(["bash", "-c", shell], cwd=world.root, env=world.repo.environment, check=True)
    return after_call(agent(world))


def kept_bytes(world: World, path: str) -> bytes | None:
    (blob,) = [v.displaced for v in world.events(Violation) if isinstance(v, Violation) and v.path == path]
    return world.project.workspace.blob_bytes(blob)


def into_green(root: Path) -> World:
    world = make_world(root, **{"pyproject.toml": PYPROJECT})
    (world.root / "tests/link.txt").symlink_to("test_add.py")
    world.green_by_record()
    return world


@pytest.fixture
def green(tmp_path: Path) -> World:
    return into_green(tmp_path / "repo")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> World:
    """In green; what a test does to its oracle goes back."""
    return into_green(tmp_path_factory.mktemp("shared") / "repo")


GREEN = {
    "written": ("echo 'assert 1' > tests/test_sub.py", "tests/test_sub.py"),
    "replaced": ("echo x > new; mv new tests/test_sub.py", "tests/test_sub.py"),
    "obfuscated": ("python3 -c \"open('te'+'sts/test_sub.py','w')\"", "tests/test_sub.py"),
    "deleted": ("rm tests/test_sub.py", "tests/test_sub.py"),
    "folder moved": ("mkdir t; mv tests t/", "tests/test_sub.py"),
    "made executable": ("chmod +x tests/test_sub.py", "tests/test_sub.py"),
    "link swapped for a file": ("rm tests/link.txt; echo x > tests/link.txt", "tests/link.txt"),
    "file swapped for a link": (
        "rm tests/test_sub.py; ln -s /dev/null tests/test_sub.py",
        "tests/test_sub.py",
    ),
    "new test": ("echo x > tests/test_new.py", "tests/test_new.py"),
    "new runner file": ("mkdir -p pkg; echo x > pkg/conftest.py", "pkg/conftest.py"),
    "a name beyond UTF-8": (r"touch $'tests/\xff \n.txt'", os.fsdecode(b"tests/\xff \n.txt")),
    "runner keys": ("sed -i s/-q/--co/ pyproject.toml", "pyproject.toml"),
    "hook settings": (
        "mkdir .claude; echo '{}' > .claude/settings.local.json",
        ".claude/settings.local.json",
    ),
    "configuration": ("echo 'red: assertion' >> tdd.yaml", "tdd.yaml"),
}


@pytest.mark.parametrize("name", GREEN)
def test_in_green_the_oracle_goes_back_as_it_was(shared: World, name: str) -> None:
    shell, path = GREEN[name]
    before = {p: as_it_is(shared, p) for p in (path, "tests/test_sub.py", "tests/test_add.py")}
    tripped = call(shared, shell)
    assert path in tripped.put_back
    assert {p: as_it_is(shared, p) for p in before} == before
    assert path in [v.path for v in shared.events(Violation) if isinstance(v, Violation)]
    assert "next: " in tripped.text
    assert not after_call(agent(shared))


def as_it_is(world: World, path: str) -> tuple[int, bytes] | None:
    place = world.root / path
    if place.is_symlink():
        return (place.lstat().st_mode, os.fsencode(place.readlink()))
    return (place.lstat().st_mode, place.read_bytes()) if place.exists() else None


def test_in_place_with_the_bytes_kept(green: World) -> None:
    inode = (green.root / "tests/test_sub.py").stat().st_ino
    call(green, "printf cheat > tests/test_sub.py")
    assert green.read("tests/test_sub.py") == TEST_SUB
    assert (green.root / "tests/test_sub.py").stat().st_ino == inode
    assert kept_bytes(green, "tests/test_sub.py") == b"cheat"


def test_in_green_everything_else_is_the_agents(green: World) -> None:
    edit = "echo '# more' >> calc.py; echo x > notes.md; mkdir tests/__pycache__; touch tests/__pycache__/x"
    assert not call(green, f"{edit}; sed -i \"s/'calc'/'c'/\" pyproject.toml")
    assert green.read("calc.py") == CALC + "# more\n"
    assert not call(green, "echo 'X = 1' > more.py")
    assert "more.py" in green.state.claims[SUB_ID].targets


def test_in_green_source_outside_strict_targets_goes_back(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo", "claims: strict\n")
    world.green_by_record()
    tripped = call(world, "echo 'X = 1' > more.py")
    assert tripped.put_back == ("more.py",)
    assert not (world.root / "more.py").exists()
    assert f"tdd claim {SUB_ID} more.py" in tripped.text
    world.write("persons.py", "X = 1\n")
    assert not before_call(agent(world))
    assert world.read("persons.py") == "X = 1\n"


# -- red ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["echo 'X = 1' >> calc.py", "rm calc.py", "echo 'X = 1' > new.py"])
def test_in_red_source_goes_back(world: World, shell: str) -> None:
    tripped = call(world, f"{shell}; echo x > tests/test_x.py")
    assert tripped.put_back == (("new.py" if "new" in shell else "calc.py"),)
    assert world.read("calc.py") == CALC
    assert not (world.root / "new.py").exists()
    assert world.read("tests/test_x.py") == "x\n"
    assert "failing test" in tripped.text


def test_in_red_stubs_stay(world: World) -> None:
    assert not call(world, f"cat >> calc.py <<'END'{STUB}END")
    assert world.read("calc.py") == CALC + STUB.removeprefix("\n")


def test_in_red_switches_go_back(world: World) -> None:
    tripped = call(world, "rm tdd.yaml; mkdir -p a/.claude; echo '{}' > a/.claude/settings.json")
    assert set(tripped.put_back) == {"tdd.yaml", "a/.claude/settings.json"}
    assert (world.root / "tdd.yaml").exists()
    assert not (world.root / "a/.claude/settings.json").exists()


def test_source_written_by_a_shell_claims_the_one_red(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    tripped = call(world, f"cat >> calc.py <<'END'{SUB}END")
    assert (tripped.claimed, tripped.put_back) == (SUB_ID, ())
    (claim,) = world.events(EditClaim)
    assert isinstance(claim, EditClaim)
    assert (claim.edit_target, claim.implied) == ("calc.py", True)
    turn = world.state.turn
    assert turn is not None
    assert world.project.workspace.read(turn.tree, "calc.py") == CALC.encode()
    assert not call(world, "true")


def test_a_test_and_its_source_in_one_call_are_a_red_without_the_source(world: World) -> None:
    written = f"cat > tests/test_sub.py <<'END'\n{TEST_SUB}END\n"
    tripped = call(world, f"{written}cat >> calc.py <<'END'{SUB}END")
    assert (tripped.claimed, tripped.put_back) == (SUB_ID, ())
    turn = world.state.turn
    assert turn is not None
    assert world.project.workspace.read(turn.tree, "calc.py") == CALC.encode()
    assert "def sub" in world.read("calc.py")


def test_source_goes_back_where_the_test_of_the_same_call_passes_without_it(world: World) -> None:
    passing = "import calc\n\n\ndef test_more():\n    assert calc.add(2, 2) == 4\n"
    tripped = call(world, f"printf {passing!r} > tests/test_more.py; echo 'X = 1' >> calc.py")
    assert (tripped.claimed, tripped.put_back) == ("", ("calc.py",))
    assert "tests/test_more.py::test_more passes" in tripped.text
    assert world.read("calc.py") == CALC


def test_a_known_failure_is_claimed_by_no_edit(world: World) -> None:
    world.red_by_record("tests/test_add.py::test_add", known=True)
    assert "failed before this change" in call(world, "echo 'X = 1' >> calc.py").text
    assert world.state.phase is Phase.RED


def test_what_was_claimed_within_the_call_is_frozen_from_then_on(world: World) -> None:
    before_call(agent(world))
    world.green_by_record()
    world.write("calc.py", CALC + SUB)
    assert not after_call(agent(world))
    assert world.read("tests/test_sub.py") == TEST_SUB
    before_call(agent(world))
    world.write("tests/test_sub.py", "")
    assert after_call(agent(world)).put_back == ("tests/test_sub.py",)


def test_a_test_changed_after_a_claim_in_the_same_call_goes_back_to_the_claim(world: World) -> None:
    world.write("tests/test_sub.py", "")
    before_call(agent(world))
    world.green_by_record()
    world.write("tests/test_sub.py", "")
    assert after_call(agent(world)).put_back == ("tests/test_sub.py",)
    assert world.read("tests/test_sub.py") == TEST_SUB


# -- refactor and off ----------------------------------------------------------------------------


def test_in_a_refactor_specs_and_keys_go_back(tmp_path: Path) -> None:
    files = {"pyproject.toml": PYPROJECT, "spec/a.md": "a\n"}
    world = make_world(tmp_path / "repo", "spec: ['spec/']\n", **files)
    tree = world.project.workspace.snapshot()
    world.project.record(RefactorBegun(tree=tree, record=world.project.workspace.blob(b"{}")))
    touch = "for f in calc.py tests/test_add.py spec/a.md tdd.yaml; do echo '# x' >> $f; done"
    tripped = call(world, f"{touch}; sed -i s/-q/--co/ pyproject.toml")
    assert set(tripped.put_back) == {"spec/a.md", "tdd.yaml", "pyproject.toml"}
    assert world.read("calc.py") == CALC + "# x\n"
    assert world.read("tests/test_add.py") == TEST_ADD + "# x\n"


def test_when_off_only_the_switches_go_back(world: World) -> None:
    world.project.record(SwitchedOff(why="a spike"))
    tripped = call(world, "for f in calc.py tests/test_add.py tdd.yaml; do echo '# x' >> $f; done")
    assert tripped.put_back == ("tdd.yaml",)


# -- whose change it was -------------------------------------------------------------------------


def test_what_changed_between_calls_is_a_persons_and_stays(green: World) -> None:
    call(green, "true")
    green.write("tests/test_sub.py", "mine\n")
    tripped = before_call(agent(green))
    assert (tripped.kept, tripped.put_back) == (("tests/test_sub.py",), ())
    assert "(`tdd restore tests/test_sub.py`), " in tripped.text
    assert not after_call(agent(green))
    assert not call(green, "echo '# x' >> calc.py")
    assert call(green, "echo agents >> tests/test_sub.py").put_back == ("tests/test_sub.py",)
    assert green.read("tests/test_sub.py") == "mine\n"


def test_a_persons_source_in_red_stays_and_is_answered(world: World) -> None:
    call(world, "true")
    world.write("calc.py", CALC + SUB)
    tripped = before_call(agent(world))
    assert tripped.kept == ("calc.py",)
    assert "tdd aside" in tripped.text
    assert not call(world, "echo x > notes.md")
    assert world.read("calc.py") == CALC + SUB


def test_while_a_process_of_the_agents_lives_it_goes_back(green: World) -> None:
    call(green, "true")
    green.write("tests/test_sub.py", "whose?\n")
    assert before_call(agent(green), agent_alive=True).put_back == ("tests/test_sub.py",)


def test_a_background_process_that_writes_later_is_caught_at_the_next_call(green: World) -> None:
    before_call(agent(green))
    late = "while [ ! -e go ]; do sleep 0.01; done; echo late > tests/test_sub.py"
    with subprocess.Popen(["bash", "-c", late], cwd=green.root) as process:
        assert not after_call(agent(green), agent_alive=True)
        green.write("go", "")
        process.wait()
    tripped = before_call(agent(green), agent_alive=False)
    assert tripped.put_back == ("tests/test_sub.py",)
    assert kept_bytes(green, "tests/test_sub.py") == b"late\n"
    green.write("tests/test_sub.py", "a person's\n")
    assert before_call(agent(green)).kept == ("tests/test_sub.py",)


def test_a_tool_that_edits_one_path_is_not_blamed_for_others(green: World) -> None:
    call(green, "true")
    green.write("tests/test_add.py", "a person's\n")
    green.write("tests/test_sub.py", "the agent's\n")
    tripped = after_call(agent(green), wrote=("tests/test_sub.py",))
    assert (tripped.put_back, tripped.kept) == (("tests/test_sub.py",), ("tests/test_add.py",))
    assert green.read("tests/test_add.py") == "a person's\n"


def test_a_tool_that_reads_first_finds_the_tree_as_a_person_left_it(world: World) -> None:
    world.write("calc.py", CALC + SUB)
    assert not after_call(agent(world), wrote=())
    assert not call(world, "true")
    assert world.read("calc.py") == CALC + SUB


def test_without_a_memory_the_log_decides(green: World) -> None:
    green.write("tests/test_sub.py", "cheat")
    assert after_call(agent(green)).put_back == ("tests/test_sub.py",)
    (green.project.repo.private / "call.json").write_bytes(b"junk")
    green.write("tests/test_sub.py", "cheat")
    assert after_call(agent(green)).put_back == ("tests/test_sub.py",)


# -- stamps ----------------------------------------------------------------------------------------


def test_the_stamps_speak_until_something_differs(green: World) -> None:
    assert has_changed(green.project)
    before_call(agent(green))
    assert not has_changed(green.project)
    green.write("calc.py", CALC + "# in place\n")
    assert not has_changed(green.project)
    for path in ("tests/test_sub.py", "tests/new.py", ".git/HEAD", ".git/MERGE_HEAD", "pyproject.toml"):
        before_call(agent(green))
        green.write(path, (green.root / path).read_bytes() if (green.root / path).exists() else b"")
        assert has_changed(green.project), path
    (green.root / ".git/MERGE_HEAD").unlink()


def test_another_state_makes_them_stale(green: World) -> None:
    before_call(agent(green))
    green.project.record(SwitchedOff(why="a spike"))
    assert has_changed(green.project)
    (green.project.repo.private / stat_cache.FILE).unlink()
    assert has_changed(green.project)


# -- kills -------------------------------------------------------------------------------------------


def test_killed_while_putting_back(green: World, tmp_path: Path) -> None:
    before_call(agent(green))
    green.write("tests/test_sub.py", "cheat " * 9)
    green.write("tests/test_new.py", "cheat")
    done = rehearse(green, tmp_path / "stage", lambda w: after_call(agent(w)), again=True, keeps=False)
    assert done.kills >= 4
    assert {path for path in done.resting[-1].files if "test_" in path} == {
        "tests/test_add.py",
        "tests/test_sub.py",
    }


def test_a_tree_deeper_than_python_calls_itself_is_looked_at_and_put_back(
    green: World, shallow_calls: int
) -> None:
    deep = "/d" * (shallow_calls + 50)
    inner = os.fspath(green.root) + "/tests" + deep
    assert not before_call(agent(green))
    make_folders(inner)
    make_folders(os.fspath(green.root) + "/lib" + deep)
    Path(f"{inner}/test_x.py").touch()
    Path(f"{green.root}/lib{deep}/x.py").touch()
    assert after_call(agent(green)).put_back == (f"tests{deep}/test_x.py",)
    assert not Path(f"{green.root}/tests/d").exists()
    assert Path(f"{green.root}/lib{deep}/x.py").exists()
    assert not call(green, "true")
    clear(os.fspath(green.root / "lib"))


def test_what_is_written_again_while_it_goes_back_becomes_right_by_no_look(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raced(project: Project, tree: str, paths: Sequence[str], *, why: str, by: Collection[str]) -> None:
        put_back(project, tree, paths, why=why, by=by)
        world.write("calc.py", CALC + SUB)

    assert not before_call(agent(world))
    world.write("calc.py", CALC + SUB)
    monkeypatch.setattr(judgement, "put_back", raced)
    assert after_call(agent(world)).put_back == ("calc.py",)
    assert world.read("calc.py") == CALC + SUB
    monkeypatch.undo()
    assert after_call(agent(world)).put_back == ("calc.py",)
    assert world.read("calc.py") == CALC


def test_what_a_person_commits_between_calls_is_new_ground(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo")
    assert not call(world, "true")
    world.write("calc.py", CALC + SUB)
    assert before_call(agent(world)).kept == ("calc.py",)
    world.repo.commit("a person's")
    assert not before_call(agent(world))
    assert survey(world.project).unclaimed == ()
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    assert isinstance(world.claim(SUB_ID, "calc.py"), Claimed)


def test_what_an_agent_commits_in_its_call_is_none(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo")
    ground = world.state.ground
    head = world.repo.head()
    call(world, "echo 'X = 1' >> calc.py && git commit -qam x")
    assert (world.read("calc.py"), world.repo.head()) == (CALC, head)
    assert not before_call(agent(world))
    assert world.state.ground == ground


def test_what_goes_back_says_that_tests_of_the_same_call_stay(world: World) -> None:
    told = call(world, "echo 'X = 1' >> calc.py; echo x > tests/test_x.py").text
    assert "is kept: `tdd displaced calc.py`; tests that the same call changed stay changed." in told


def test_a_claim_that_was_settled_within_the_call_has_no_next_move(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "is_alive", lambda _: True)
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    before_call(agent(world))
    world.write("calc.py", CALC + SUB)
    with agent(world).exclusive():
        calls.look_within_call(agent(world))
    assert list(world.state.claims) == [SUB_ID]
    world.settle()
    assert world.state.claims == {}
    assert "tdd settle" not in after_call(agent(world)).text


RUNS = {
    "a setting": "git -C sub config core.fsmonitor 'touch owned'",
    "a hook": "cp /bin/true sub/.git/hooks/pre-commit",
    "a pointer": "rm -rf sub/.git; git init -q --bare ../else; echo 'gitdir: ../../else' > sub/.git",
    "an included file": "git -C sub config include.path ../../evil",
}


@pytest.mark.parametrize("shell", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("persons", [False, True])
def test_a_repository_inside_runs_nothing_that_an_agent_named(
    tmp_path: Path, shell: str, persons: bool
) -> None:
    world = make_world(tmp_path / "repo")
    make = "mkdir -p sub; git -C sub init -q; git -C sub remote add origin x"
    if persons:
        subprocess.run(["bash", "-c", make], cwd=world.root, env=world.repo.environment, check=True)
    assert not call(world, "true")
    assert "sub/.git" in call(world, shell if persons else f"{make}; {shell}").text
    git, config = world.root / "sub/.git", world.root / "sub/.git/config"
    assert git.is_dir() or not git.exists()
    assert not (git / "hooks/pre-commit").exists()
    assert not config.exists() or "fsmonitor" not in config.read_text()
    if persons and shell != "a pointer" and git.is_dir() and config.exists():
        assert "[remote" in config.read_text()


def test_a_repository_inside_may_have_remotes_branches_and_a_persons_settings(world: World) -> None:
    make = "mkdir sub; git -C sub init -q; git -C sub remote add origin x; git -C sub config user.name a"
    assert not call(world, make)
    assert not call(world, "git -C sub config branch.x.remote origin")
    persons = "git -C sub config core.fsmonitor 'touch owned'"
    subprocess.run(["bash", "-c", persons], cwd=world.root, env=world.repo.environment, check=True)
    assert not call(world, "git -C sub commit -q --allow-empty -m x")
    assert "fsmonitor" in (world.root / "sub/.git/config").read_text()


def test_no_agent_makes_a_folder_a_repository_in_plain_files(world: World) -> None:
    said = call(
        world, "mkdir -p a/objects a/refs; echo 'ref: refs/heads/x' > a/HEAD; echo '[core]' > a/config"
    )
    assert {"a/HEAD", "a/config"} <= {*said.put_back}
    assert not (world.root / "a/HEAD").exists()
