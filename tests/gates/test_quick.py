"""What the quick entry allows, the policy allows; what it cannot tell by looks it leaves alone."""

from __future__ import annotations

import fcntl
import os
import posix
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gates.hooks import dealt, judged, payload, write
from support.turns import SUB_ID, World, make_world
from support.writes import with_facts
from verdigris.core.actions import Allow, FileWrite, Write
from verdigris.core.events import RefactorBegun, Suspended, SwitchedOff
from verdigris.core.policy import decide
from verdigris.core.records import Actor
from verdigris.gates import calls
from verdigris.gates.quick import fallback, quick
from verdigris.storage import quick_state
from verdigris.storage.calls import callers
from verdigris.storage.log import light
from verdigris.storage.paths import class_of
from verdigris.storage.project import open_project
from verdigris.turns.claim import claim
from verdigris.turns.claim_check import Claimed
from verdigris.turns.operation import operation
from verdigris.turns.tripwire.calls import before_call

NAMES = (
    "README.md",
    "docs/guide.md",
    "docs/new/deep/x.py",
    "calc.py",
    "pkg/core.py",
    "pkg/new/module.py",
    "new.py",
    "tests/test_add.py",
    "tests/new/data.json",
    "conftest.py",
    "pytest.ini",
    "pyproject.toml",
    "sub/setup.cfg",
    "tdd.yaml",
    ".git/config",
    ".git/tdd/head",
    ".claude/settings.json",
    ".claude/notes/x.md",
    "spec/plan.md",
    "gen/out.py",
    "__pycache__/x.pyc",
    "tests",
    ".",
    "a\nb.md",
    'quo"te.md',
)
ALLOWED = {
    "red": {
        *("README.md", "docs/guide.md", "docs/new/deep/x.py", "tests/test_add.py", "tests/new/data.json"),
        *(
            "conftest.py",
            "pytest.ini",
            "pyproject.toml",
            "sub/setup.cfg",
            ".claude/notes/x.md",
            "spec/plan.md",
        ),
        *("gen/out.py", "__pycache__/x.pyc", "a\nb.md", 'quo"te.md'),
    },
    "green": {
        *("README.md", "docs/guide.md", "docs/new/deep/x.py", "calc.py", "pkg/core.py", "pkg/new/module.py"),
        *(".claude/notes/x.md", "gen/out.py", "__pycache__/x.pyc", "a\nb.md", 'quo"te.md'),
    },
}


def to_red(world: World) -> None:
    world.red_by_record(SUB_ID)


def to_green(world: World) -> None:
    world.green_by_record("calc.py", "pkg")


def to_suspended(world: World) -> None:
    to_green(world)
    turn, seen = world.state.turn, world.state.head
    assert turn
    assert seen
    world.project.record(Suspended(turn=turn.id, tree=turn.tree, commit=seen.commit, on=seen.on))


def to_refactor(world: World) -> None:
    world.project.record(RefactorBegun(tree=world.project.workspace.snapshot(), record=""))


def to_off(world: World) -> None:
    world.project.record(SwitchedOff(why="a test"))


PHASES = {"red": to_red, "green": to_green, "suspended": to_suspended, "refactor": to_refactor, "off": to_off}


def made(root: Path) -> World:
    world = make_world(
        root,
        "    generated: [gen/]\nspec: [spec/]\n",
        **{"pkg/core.py": "", "README.md": "", "pyproject.toml": "", ".claude/settings.json": "{}"},
    )
    world.root.joinpath("docs").mkdir()
    return world


@pytest.fixture(scope="module", params=list(PHASES))
def phase(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, World]:
    world = made(tmp_path_factory.mktemp("fast") / "it's a repo")
    PHASES[request.param](world)
    return request.param, world


def by_policy(world: World, path: str) -> bool:
    """Allowed with nothing to record but the edit, whatever the content."""
    cls, name = class_of(world.root, path, world.project.classes, cwd=world.root)
    file = with_facts(FileWrite(name, cls, b"[pytest]\n", None, path))
    return decide(world.state, Write((file,)), world.project.settings) == Allow()


def test_a_quick_allowance_is_one_by_policy(phase: tuple[str, World]) -> None:
    name, world = phase
    dealt(world)
    quick = {path for path in NAMES if judged(write(world, path))}
    assert quick <= {path for path in NAMES if by_policy(world, path)}
    assert quick == ALLOWED.get(name, quick)
    assert "README.md" in quick
    assert ("calc.py" in quick) == (name in {"green", "refactor", "off"})


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> World:
    return made(tmp_path_factory.mktemp("standing") / "repo")


@pytest.fixture
def standing(shared: World) -> World:
    """With a card for this test's HOME."""
    return dealt(shared)


def test_relative_paths_start_where_the_call_is(standing: World) -> None:
    found = judged(
        payload(standing, "Write", cwd=str(standing.root / "docs"), file_path="./x.md", content="")
    )
    assert found is not None
    assert found.data == {"paths": ["docs/x.md"]}


@pytest.mark.parametrize(
    "spelling",
    [
        *(
            "docs/../README.md",
            "linked/there.md",
            "linked/x.md",
            "link.md",
            "twin.md",
            "docs",
            "docs/",
            "README.md/x",
            "~/x.md",
        ),
        *(" README.md", "README.md ", "file:///x.md", "é.md", "a\0b.md", "", "/elsewhere/x.md", "inner/x.md"),
        *("inner/deep/new/x.md", "x" * 5000, "fifo"),
    ],
)
def test_a_spelling_that_needs_more_than_looks_is_a_doubt(standing: World, spelling: str) -> None:
    root = standing.root
    if not (root / "inner").exists():
        (root / "inner" / "deep").mkdir(parents=True)
        (root / "inner" / ".git").write_text("gitdir: elsewhere\n")
        (root / "docs" / "there.md").write_text("")
        (root / "linked").symlink_to("docs")
        (root / "link.md").symlink_to("README.md")
        (root / "twin.md").write_text("")
        os.link(root / "twin.md", root / "other-twin.md")
        os.mkfifo(root / "fifo")
    assert judged(payload(standing, "Write", file_path=spelling, content="")) is None
    if spelling.strip() == spelling and not spelling.startswith(("~", "file:", "/")):
        assert judged(write(standing, spelling)) is None
    assert judged(write(standing, "README.md")) is not None


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"content": 3},
        {"content": "x", "also": "tests/test_add.py"},
        {"content": "x", "file_path": ["README.md"]},
    ],
)
def test_what_the_tool_does_not_take_is_a_doubt(standing: World, arguments: dict[str, Any]) -> None:
    given = {"file_path": str(standing.root / "README.md"), **arguments}
    assert judged(payload(standing, "Write", **given)) is None


def test_edits(standing: World) -> None:
    path = str(standing.root / "README.md")
    edit: dict[str, Any] = {"old_string": "a", "new_string": "b", "replace_all": True}
    assert judged(payload(standing, "Edit", file_path=path, **edit))
    assert judged(payload(standing, "MultiEdit", file_path=path, edits=[edit, edit]))
    assert not judged(
        payload(standing, "MultiEdit", file_path=path, edits=[{**edit, "file_path": 1, "x": ""}])
    )
    assert not judged(payload(standing, "MultiEdit", file_path=path, edits={}))
    assert not judged(payload(standing, "NotebookEdit", notebook_path=path, new_source=""))


@pytest.mark.parametrize(
    ("tool", "arguments", "plain"),
    [
        ("Read", {"file_path": "tests/test_add.py", "limit": 5}, True),
        ("Read", {"file_path": ".git/config"}, True),
        ("Read", {"file_path": ".git/tdd/head"}, False),
        ("Read", {"file_path": ".GIT/TDD/head"}, False),
        ("Read", {"file_path": ".git"}, False),
        ("Read", {"file_path": "missing.py"}, False),
        ("Grep", {"pattern": "../.git/tdd"}, True),
        ("Grep", {"pattern": "x", "path": "docs", "glob": "*.py", "-n": True}, True),
        ("Grep", {"pattern": "x", "glob": ".git/tdd/**"}, False),
        ("Glob", {"pattern": "**/*.py"}, True),
        ("Glob", {"pattern": "/**"}, False),
        ("Glob", {"pattern": "../**"}, False),
        ("Glob", {"pattern": "*", "path": ".git/tdd"}, False),
        ("Grep", {"pattern": ["x"]}, False),
        ("Bash", {"command": "true"}, False),
        ("mcp__x__y", {}, False),
    ],
)
def test_reading(standing: World, tool: str, arguments: dict[str, Any], plain: bool) -> None:
    found = judged(payload(standing, tool, **arguments))
    assert (found is not None) == plain
    assert found is None or found.kind == "call"


def test_places_that_the_gate_stands_on_are_a_doubt(standing: World) -> None:
    known = quick_state.read(os.fspath(standing.project.repo.private))
    assert known is not None
    known.guarded = (str(standing.root / "docs"), str(standing.root / "README.md"))
    quick_state.write(os.fspath(standing.project.repo.private), known)
    assert judged(write(standing, "docs/x.md")) is None
    assert judged(write(standing, "README.md")) is None
    assert judged(write(standing, "notes.md")) is not None


def head_moved(world: World) -> None:
    world.repo.commit("more")


def branch_switched(world: World) -> None:
    world.repo.git("switch", "--quiet", "--create", "other")


def reconfigured(world: World) -> None:
    world.write("tdd.yaml", world.read("tdd.yaml") + "\n# more\n")


def damaged_card(world: World) -> None:
    (world.project.repo.private / "card").write_bytes(b"junk")


def half_a_card(world: World) -> None:
    place = world.project.repo.private / "card"
    place.write_bytes(place.read_bytes()[:-9])


def no_card(world: World) -> None:
    (world.project.repo.private / "card").unlink()


@pytest.mark.parametrize(
    "happening", [head_moved, branch_switched, reconfigured, damaged_card, half_a_card, no_card]
)
def test_what_an_operation_would_take_in_first_is_a_doubt(
    standing: World, happening: Callable[[World], None]
) -> None:
    assert judged(write(standing, "notes.md"))
    happening(standing)
    assert judged(write(standing, "notes.md")) is None
    with operation(standing.project):
        pass  # which takes it in
    assert judged(write(dealt(standing), "notes.md"))


def test_an_operation_that_is_under_way_is_a_doubt(standing: World) -> None:
    lock = standing.project.repo.lock("operation")
    with lock.open("a+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert judged(write(standing, "notes.md")) is None
    assert judged(write(standing, "notes.md")) is not None


def test_a_card_of_an_older_state_is_not_gone_by(standing: World) -> None:
    allowed = judged(write(standing, "notes.md"))
    assert allowed
    standing.red_by_record(SUB_ID)
    before = len(list(standing.project.log.records()))
    assert not allowed.record()
    assert len(list(standing.project.log.records())) == before
    assert judged(write(dealt(standing), "notes.md"))


def test_records_of_quick_calls_leave_the_card_as_good_as_it_was(standing: World) -> None:
    state = standing.state
    for _ in range(3):
        for raw in (write(standing, "notes.md"), payload(standing, "Read", file_path="calc.py")):
            allowed = judged(raw)
            assert allowed
            assert allowed.record()
    *_, edit, call = standing.project.log.records()
    assert (edit.type, edit.data) == ("edit", {"paths": ["notes.md"]})
    assert (call.type, call.data) == ("call", {"tool": "Read", "paths": ["calc.py"]})
    assert (edit.worktree, edit.branch) == ("main", standing.repo.git("branch", "--show-current"))
    assert edit.actor == {"role": "agent", "context": "s1", "client": "claude"}
    assert standing.state == state
    assert standing.whole()


def test_a_card_is_tied_to_the_environment_the_interpreter_and_our_version(
    standing: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setitem(posix.environ, b"CLAUDE_CONFIG_DIR", b"/elsewhere")
        assert judged(write(standing, "notes.md")) is None
    monkeypatch.setattr(quick_state, "TAG", (*quick_state.TAG[:2], 0, *quick_state.TAG[3:]))
    assert judged(write(standing, "notes.md")) is None


def test_a_rule_that_the_card_cannot_hold_is_a_doubt(standing: World) -> None:
    known = quick_state.read(str(standing.project.repo.private))
    assert known is not None
    known.rules = [("test", None), *known.rules]
    quick_state.write(str(standing.project.repo.private), known)
    assert judged(write(standing, "notes.md")) is None


def test_no_card_is_dealt_while_an_intent_is_open(standing: World) -> None:
    from verdigris.core.events import Formatted, Formatting

    tree = standing.project.workspace.snapshot()
    standing.project.record(Formatting(paths=(), tree=tree))
    assert not fallback.refresh(standing.project)
    assert quick_state.read(os.fspath(standing.project.repo.private)) is None
    standing.project.record(Formatted(tree=tree))


def test_a_linked_worktree_has_a_card_of_its_own(standing: World) -> None:
    other = standing.root.with_name("other tree")
    standing.repo.git("worktree", "add", "--quiet", "-b", "elsewhere", str(other))
    linked = World(replace(standing.repo, root=other))
    with operation(linked.project):
        dealt(linked)
    dealt(standing)
    for world in (linked, standing, linked, standing):
        allowed = judged(write(world, "notes.md"))
        assert allowed
        assert allowed.record()
    assert judged(write(linked, "calc.py")) is None
    assert judged(payload(linked, "Read", file_path=str(standing.root / ".git/tdd/head"))) is None
    head = light.head(os.fspath(standing.project.repo.control))
    assert head is not None
    assert head["light"] == 4


def test_what_is_explained_to_the_model_is_never_passed_over_quickly() -> None:
    assert set(quick.SIGNS) == {sign.encode() for sign in calls.SIGNS}


def test_a_file_tool_counts_as_open_until_its_end(tmp_path: Path) -> None:
    world = dealt(made(tmp_path / "repo"))
    private = str(world.project.repo.private)
    assert judged(write(world, "README.md"))
    assert callers.open_edits(private, "another") == {"README.md": "s1"}
    assert callers.open_edits(private, "s1") == {}
    before_call(open_project(world.root, Actor("agent", "s1", "claude")))
    assert judged(payload(world, "Write", "PostToolUse", file_path="README.md", content="x"))
    assert callers.open_edits(private, "another") == {}


@pytest.mark.parametrize(("by", "plain"), [("s1", True), ("another", False), ("gone", True)])
def test_source_in_a_turn_of_another_agent_at_work_is_a_doubt(tmp_path: Path, by: str, plain: bool) -> None:
    world = made(tmp_path / "repo")
    for session in ("s1", "another"):
        callers.note_session(str(world.project.repo.private), session, "")
    world.write("tests/test_sub.py", "")
    world.red_by_record(SUB_ID)
    claimer = open_project(world.root, Actor("agent", by, "claude"))
    assert isinstance(claim(claimer, [SUB_ID], ["calc.py"], cwd=world.root), Claimed)
    dealt(world)
    assert bool(judged(write(world, "calc.py"))) is plain
    assert judged(write(world, "README.md"))
