from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from support.turns import CALC, MUL, SUB, TEST_ADD, TEST_SUB, World
from verdigris.checks.unproven_commits import COMMITTED, is_part
from verdigris.core.events import Violation
from verdigris.core.records import Actor
from verdigris.storage.project import Project, open_project
from verdigris.turns.survey import survey
from verdigris.turns.tripwire.calls import after_call, before_call

if TYPE_CHECKING:
    from verdigris.turns.tripwire import Tripped


def agent(world: World) -> Project:
    return open_project(world.root, Actor("agent", "session", "claude"))


def call(world: World, shell: str) -> Tripped:
    before_call(agent(world))
    subprocess.run(["bash", "-c", shell], cwd=world.root, env=world.repo.environment, check=True)
    return after_call(agent(world))


def violations(world: World) -> list[str]:
    found = world.events(Violation)
    return [v.path for v in found if isinstance(v, Violation) and v.what == COMMITTED]


STAGED = 'git update-index --cacheinfo 100644,$(echo "X = 1" | git hash-object -w --stdin),'
UPDATED = "git update-ref refs/heads/main $(git commit-tree -p HEAD -m x $(git write-tree))"
FILTERED = "git -c filter.f.clean='echo X = 1; cat >/dev/null'"
ATTRIBUTES = "echo 'test_*.py filter=f' > .gitattributes"
FILTERING = f"{ATTRIBUTES}; {FILTERED} add --renormalize . && {FILTERED} commit -qm x"
ADDED = STAGED.replace("--cacheinfo", "--add --cacheinfo")
BEHIND = {
    "index": (f"{STAGED}tests/test_add.py && git commit -qm x", "tests/test_add.py"),
    "hidden": (
        f"{STAGED}tests/test_add.py; git commit -qm x; git update-index --assume-unchanged tests/test_add.py",
        "tests/test_add.py",
    ),
    "ref": (f"{STAGED}tests/test_add.py; {UPDATED}", "tests/test_add.py"),
    "filter": (FILTERING, "tests/test_add.py"),
    "test deleted": ("git rm -q --cached tests/test_add.py && git commit -qm x", "tests/test_add.py"),
}


@pytest.mark.parametrize("name", BEHIND)
def test_a_commit_behind_the_tree_is_found_told_and_mended(world: World, name: str) -> None:
    script, path = BEHIND[name]
    tripped = call(world, script)
    assert path in tripped.unproven
    assert "git commit --amend" in tripped.text
    assert path in violations(world)
    assert any(f" {path} as it never was" in note for note in survey(world.project).notes)
    assert not call(world, "true")
    visible = f"rm -f .gitattributes; git update-index --no-assume-unchanged {path}"
    mending = f"{visible}; git add -A; git add --renormalize ."
    assert not call(world, f"{mending} && git commit -q --amend --no-edit --allow-empty")
    assert not any("as it never was" in note for note in survey(world.project).notes)


UNDONE = {
    "index": f"{STAGED}calc.py && git commit -qm x",
    "hidden": f"{STAGED}calc.py && git commit -qm x && git update-index --assume-unchanged calc.py",
    "ref": f"{STAGED}calc.py; {UPDATED}",
    "filter": FILTERING.replace("test_*", "c*"),
    "new source": f"{ADDED}new.py && git commit -qm x",
    "deleted": "git rm -q --cached calc.py && git commit -qm x",
}


@pytest.mark.parametrize("name", UNDONE)
def test_a_commit_of_source_that_the_phase_protects_is_undone(world: World, name: str) -> None:
    head = world.repo.head()
    tripped = call(world, f"echo x > notes.md; {UNDONE[name]}")
    assert tripped.moved_back
    assert "next: " in tripped.text
    assert world.repo.head() == head
    assert world.read("calc.py") == CALC
    assert world.read("notes.md") == "x\n"
    assert "calc.py" not in world.repo.git("status", "--porcelain", "--untracked-files=no")
    assert not call(world, "true")


def test_in_green_a_commit_of_other_tests_is_undone(world: World) -> None:
    world.green_by_record()
    head = world.repo.head()
    tripped = call(world, f"{STAGED}tests/test_add.py && git commit -qm x")
    assert tripped.moved_back == ("tests/test_add.py",)
    assert "Undone: a commit that held tests/test_add.py as it never was in this worktree" in tripped.text
    assert world.repo.head() == head
    assert violations(world) == ["tests/test_add.py"]


STUB = "def stub():  # STUB:TDD\n    raise NotImplementedError\n"
PLAIN = {
    "tests": "echo '# more' >> tests/test_add.py && git commit -qam x",
    "other": "echo x > notes.md && git add -A && git commit -qm x",
    "nothing": "git commit -q --allow-empty -m x",
    "soft reset": "git commit -q --allow-empty -m x; git reset -q --soft HEAD~1",
    "amend": "echo '# more' >> tests/test_add.py && git commit -qam x && git commit -q --amend -m y",
    "a branch": "git switch -qc topic; echo x > tests/d; git add -A; git commit -qm x; git switch -q main",
    "line ends": "printf 'a\\r\\n' > tests/d; echo '* text' > .gitattributes; git add -A; git commit -m x",
    "a stub": f"echo '{STUB}' >> calc.py; git commit -qam x; echo '# more' >> calc.py",
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_commits_are_free(world: World, name: str) -> None:
    assert not call(world, PLAIN[name])
    assert violations(world) == []


def test_a_part_of_what_lies_in_the_tree_may_be_committed(world: World) -> None:
    assert not call(world, "true")
    world.write("tests/test_add.py", "# first\n" + TEST_ADD + "# last\n")
    staged = STAGED.replace('echo "X = 1"', "head -n -1 tests/test_add.py")
    script = f"{staged}tests/test_add.py; git commit -qm part"
    assert not call(world, script)


def test_source_committed_in_the_middle_of_a_turn_is_judged_after_it(world: World) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.green_by_record()
    edit = f"cat > calc.py <<'E'\n{CALC}{SUB}E\n"
    wrong = edit.replace("a - b", "0")
    assert not call(world, f"{wrong}git add -A && git commit -qm half\n{edit}")
    assert violations(world) == []
    assert not call(world, "git commit -qam whole")
    assert not survey(world.project).notes


def test_a_persons_commit_is_theirs(world: World) -> None:
    assert not call(world, "true")
    script = f"{STAGED}tests/test_add.py && git commit -qm x"
    subprocess.run(["bash", "-c", script], cwd=world.root, env=world.repo.environment, check=True)
    before_call(agent(world))
    assert not call(world, "true")
    assert violations(world) == []


OLD, NEW = b"a\nb\nc\nd\n", b"a\nB\nc\nD\ne\n"


@pytest.mark.parametrize("part", [OLD, NEW, b"a\nB\nc\nd\n", b"a\nb\nc\nD\ne\n", b"a\nb\nB\nc\nd\ne\n"])
def test_lines_of_either_side_are_a_part(part: bytes) -> None:
    assert is_part(OLD, part, NEW)


@pytest.mark.parametrize("other", [b"", b"a\nB\nd\n", b"a\nB\nc\nX\n", b"c\nB\na\nD\n", NEW + b"f\n"])
def test_other_lines_or_lost_ones_are_none(other: bytes) -> None:
    assert not is_part(OLD, other, NEW)


def test_source_that_only_a_part_of_is_new_needs_the_rest(world: World) -> None:
    assert is_part(CALC.encode(), (CALC + SUB).encode(), (CALC + SUB + MUL).encode())
    assert not is_part(CALC.encode(), (CALC + "X = 1\n").encode(), (CALC + SUB).encode())
