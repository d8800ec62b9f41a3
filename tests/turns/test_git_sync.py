from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from support.gitrepo import GitRepo
from support.turns import CALC, MUL, SUB, SUB_ID, TEST_ADD, TEST_SUB, World, branch_off, make_world
from verdigris.checks.observation import find_unclaimed
from verdigris.core.actions import Allow, Deny
from verdigris.core.errors import ToolMissing, UserError
from verdigris.core.events import Synced, Syncing
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.gates.agent_shell import agent_git
from verdigris.sandbox import child
from verdigris.storage.calls import open_calls
from verdigris.storage.project import open_project
from verdigris.turns.git import MOVES, Moved, sync
from verdigris.turns.rollback import command_of_move, place
from verdigris.turns.settle import settle
from verdigris.turns.survey import survey
from verdigris.turns.tripwire.calls import after_call, before_call
from verdigris.turns.write import decide_writes


@pytest.fixture
def forked(world: World) -> World:
    """`side` has a new module and an edited one, and has deleted a test; it touches no line of `main`'s."""
    branch_off(world.repo)
    return world


def synced(world: World, *argv: str, code: int = 0) -> Moved:
    done = sync(world.project, argv)
    assert isinstance(done, Moved), done
    assert done.exit_code == code
    return done


def loose(world: World) -> list[str]:
    ground = world.state.ground
    assert ground is not None
    return [u.path for u in find_unclaimed(world.project, ground, world.project.workspace.snapshot())]


def mate_of(world: World, tmp_path: Path) -> GitRepo:
    """A team mate's clone, whose `main` has taken `side` in."""
    mate = world.repo.clone(tmp_path / "mate")
    mate.git("merge", "--quiet", "origin/side")
    return mate


def switch(world: World, tmp_path: Path) -> tuple[str, ...]:
    return ("switch", "--quiet", "side")


def merge(world: World, tmp_path: Path) -> tuple[str, ...]:
    world.repo.commit("mine", mine="x")
    return ("merge", "--quiet", "--no-edit", "side")


def rebase(world: World, tmp_path: Path) -> tuple[str, ...]:
    world.repo.commit("mine", mine="x")
    return ("rebase", "--quiet", "side")


def pull(world: World, tmp_path: Path) -> tuple[str, ...]:
    return ("pull", "--quiet", "--ff-only", str(mate_of(world, tmp_path).root), "main")


def cherry_pick(world: World, tmp_path: Path) -> tuple[str, ...]:
    return ("cherry-pick", "side")


@pytest.mark.parametrize("move", [switch, merge, rebase, pull, cherry_pick])
def test_a_move_brings_new_ground(
    forked: World, tmp_path: Path, move: Callable[[World, Path], tuple[str, ...]]
) -> None:
    argv = move(forked, tmp_path)
    done = synced(forked, *argv)
    assert (done.brought, done.in_progress) == (("calc.py", "tests/test_add.py", "theirs.py"), None)
    assert (forked.read("calc.py"), forked.state.phase) == (CALC + MUL, Phase.RED)
    assert loose(forked) == []
    (intent,) = forked.events(Syncing)
    assert isinstance(intent, Syncing)
    assert intent.argv == argv
    assert forked.events(Synced) == [Synced(argv=argv, exit_code=0)]
    assert forked.whole()


def test_a_revert_of_a_commit_brings_new_ground(forked: World) -> None:
    synced(forked, "switch", "--quiet", "side")
    done = synced(forked, "revert", "--no-edit", "HEAD")
    assert done.brought == ("calc.py", "tests/test_add.py", "theirs.py")
    assert (forked.read("calc.py"), forked.read("tests/test_add.py")) == (CALC, TEST_ADD)
    assert loose(forked) == []


def test_a_stash_and_its_pop_make_no_ground(forked: World) -> None:
    forked.write("calc.py", CALC + SUB)
    ground = forked.state.ground
    assert synced(forked, "stash", "--quiet").brought == ()
    assert (forked.read("calc.py"), loose(forked)) == (CALC, [])
    assert synced(forked, "stash", "pop", "--quiet").brought == ()
    assert (forked.read("calc.py"), loose(forked)) == (CALC + SUB, ["calc.py"])
    assert forked.state.ground == ground


def test_edits_that_are_carried_along_stay_unclaimed(forked: World) -> None:
    forked.write("extra.py", "X = 1\n")
    synced(forked, "switch", "--quiet", "side")
    assert loose(forked) == ["extra.py"]


def test_with_a_turn_open_nothing_moves(forked: World) -> None:
    forked.green_by_record()
    denied = sync(forked.project, ["switch", "--quiet", "side"])
    assert isinstance(denied, Deny)
    assert denied.rule == "not-in-phase"
    assert forked.repo.git("branch", "--show-current") == "main"
    assert forked.events(Syncing) == []


@pytest.mark.parametrize("argv", [[], ["commit", "-m", "x"], ["-c", "alias.x=!sh", "x"], ["push"]])
def test_what_is_no_move_of_gits_is_refused(world: World, argv: list[str]) -> None:
    with pytest.raises(UserError, match=r"`tdd sync` cannot run `git.*`: it runs switch"):
        sync(world.project, argv)
    assert world.events(Syncing) == []


def test_every_verb_of_the_design_is_known() -> None:
    assert {"switch", "pull", "merge", "rebase", "stash", "revert"} < set(MOVES)


def test_gits_own_failure_is_passed_on(world: World) -> None:
    before = world.state.ground
    done = synced(world, "switch", "--quiet", "nowhere", code=128)
    assert done.brought == ()
    assert world.state.ground == before
    assert world.state.intent is None


def test_without_git_the_tool_is_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    project = world.project
    from verdigris.turns import git as module

    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolMissing):
        module._git(project, ["fetch"])


@pytest.fixture
def conflicted(forked: World) -> World:
    """A merge that stopped in the middle."""
    forked.write("calc.py", CALC + SUB)
    forked.repo.commit("mine")
    forked.repo.git("config", "core.editor", "true")
    done = synced(forked, "merge", "--quiet", "side", code=1)
    assert done.in_progress == "merge"
    return forked


def test_a_merge_in_progress_refuses_a_claim_and_ends_with_its_abort(conflicted: World) -> None:
    conflicted.write("tests/test_sub.py", TEST_SUB)
    conflicted.red_by_record(SUB_ID)
    denied = conflicted.claim(SUB_ID, "calc.py")
    assert isinstance(denied, Deny)
    assert denied.rule == "git-in-progress"
    assert "tdd sync -- merge --abort" in denied.next.replace("--continue` or `", "")
    assert synced(conflicted, "merge", "--abort").in_progress is None
    assert conflicted.read("calc.py") == CALC + SUB
    assert loose(conflicted) == []


def test_a_merge_in_progress_refuses_to_settle(forked: World) -> None:
    forked.repo.commit("mine", mine="x")
    forked.green_by_record()
    forked.repo.git("merge", "--quiet", "--no-commit", "side")
    denied = settle(forked.project)
    assert isinstance(denied, Deny)
    assert denied.rule == "git-in-progress"


def test_a_merge_that_a_person_resolved_is_ground(conflicted: World) -> None:
    conflicted.write("calc.py", CALC + SUB + MUL)
    conflicted.repo.git("add", "calc.py")
    done = synced(conflicted, "merge", "--continue")
    assert (done.brought, done.in_progress) == (("calc.py", "tests/test_add.py", "theirs.py"), None)
    assert loose(conflicted) == []


def test_an_agents_move_that_would_change_a_switch_goes_back_whole(forked: World) -> None:
    repo = forked.repo
    repo.git("switch", "--quiet", "side")
    repo.write("tdd.yaml", forked.read("tdd.yaml") + "strikes: 99\n")
    repo.commit("looser")
    repo.git("switch", "--quiet", "main")
    before = repo.read("tdd.yaml")
    done = sync(
        open_project(forked.root, Actor("agent", client="claude")),
        ["switch", "--quiet", "side"],
        agents_git=agent_git,
    )
    assert isinstance(done, Deny)
    assert done.rule == "switch"
    assert "tdd.yaml" in done.reason
    assert repo.read("tdd.yaml") == before
    assert repo.git("symbolic-ref", "HEAD").strip() == "refs/heads/main"
    assert repo.git("status", "--porcelain").strip() == ""
    assert forked.state.intent is None
    assert synced(forked, "switch", "--quiet", "side").exit_code == 0


@pytest.mark.skipif(not child.available().ok, reason="no namespaces here")
def test_what_git_runs_in_an_agents_sync_cannot_write_what_is_the_kernels(forked: World) -> None:
    (forked.root / "smudge.sh").write_text(
        "#!/bin/sh\necho x >> .git/tdd/head\necho x >> tdd.yaml\necho hi > seen.txt\ncat\n"
    )
    forked.repo.git("config", "filter.x.smudge", "sh ./smudge.sh")
    forked.repo.write(".git/info/attributes", "theirs.py filter=x\n")
    forked.repo.git("update-ref", "refs/remotes/origin/side", "side")
    config = forked.read("tdd.yaml")
    done = sync(
        open_project(forked.root, Actor("agent", client="claude")),
        ["switch", "--quiet", "side"],
        agents_git=agent_git,
    )
    assert isinstance(done, Moved)
    assert forked.read("seen.txt") == "hi\n"
    assert forked.read("tdd.yaml") == config
    assert forked.project.log.verify().whole


def agents(world: World, *argv: str) -> Moved | Deny:
    return sync(open_project(world.root, Actor("agent", client="claude")), argv, agents_git=agent_git)


def test_source_in_commits_that_only_this_repository_has_is_no_agents_to_bring(forked: World) -> None:
    before = forked.repo.git("rev-parse", "HEAD"), forked.read("calc.py")
    for argv in (("switch", "side"), ("merge", "side"), ("cherry-pick", "side"), ("reset", "--hard", "side")):
        done = agents(forked, *argv)
        assert isinstance(done, Deny), argv
        assert (done.rule, "calc.py" in done.reason) == ("unearned-source", True)
        assert (forked.repo.git("rev-parse", "HEAD"), forked.read("calc.py")) == before
        assert forked.repo.git("symbolic-ref", "HEAD") == "refs/heads/main"
        assert forked.repo.git("status", "--porcelain") == ""
    assert isinstance(sync(forked.project, ("switch", "--quiet", "side")), Moved)


def test_what_a_remote_has_an_agent_may_bring(forked: World, tmp_path: Path) -> None:
    mate = mate_of(forked, tmp_path)
    forked.repo.git("remote", "add", "origin", str(mate.root))
    done = agents(forked, "pull", "--quiet", "--ff-only", "origin", "main")
    assert isinstance(done, Moved)
    assert done.brought == ("calc.py", "tests/test_add.py", "theirs.py")


def test_commits_from_before_the_laws_are_no_agents(forked: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verdigris.storage.snapshots.head_moves.time_of_commit", lambda *_: 0.0)
    assert isinstance(agents(forked, "switch", "--quiet", "side"), Moved)


def test_tests_and_documents_alone_an_agent_may_bring(world: World) -> None:
    world.repo.git("switch", "--quiet", "--create", "side")
    world.repo.write("tests/test_more.py", TEST_SUB)
    world.repo.write("notes.md", "theirs")
    world.repo.commit("no source")
    world.repo.git("switch", "--quiet", "main")
    assert isinstance(agents(world, "switch", "--quiet", "side"), Moved)
    assert isinstance(agents(world, "switch", "--quiet", "main"), Moved)


def test_source_that_a_hook_or_a_filter_of_gits_writes_does_not_stay(forked: World) -> None:
    forked.repo.git("update-ref", "refs/remotes/origin/side", "side")
    hook = forked.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'VALUE = 1' > calc.py\n")
    hook.chmod(0o755)
    assert isinstance(agents(forked, "switch", "--quiet", "--create", "other"), Moved)
    assert forked.read("calc.py") == CALC, "no hook is run for an agent"
    hook.unlink()
    forked.repo.git("config", "filter.x.smudge", "echo 'VALUE = 1'")
    forked.repo.git("config", "filter.x.clean", "git show side:%f")
    forked.repo.write(".git/info/attributes", "theirs.py filter=x\n")
    assert isinstance(agents(forked, "switch", "--quiet", "side"), Deny)
    assert not (forked.root / "theirs.py").exists()
    assert forked.read("calc.py") == CALC


@pytest.mark.parametrize(
    "argv", [("rebase", "--exec", "touch ran", "HEAD~1"), ("fetch", "--upload-pack=touch ran", ".")]
)
def test_an_agents_move_starts_no_other_program(forked: World, argv: tuple[str, ...]) -> None:
    forked.repo.commit("mine", mine="x")
    denied = agents(forked, *argv)
    assert isinstance(denied, Deny)
    assert (denied.rule, argv[1] in denied.reason) == ("git-starts-a-program", True)
    assert not (forked.root / "ran").exists()
    assert forked.events(Syncing) == []
    assert isinstance(sync(forked.project, argv), Moved)


def test_steps_that_an_agent_wrote_into_a_rebase_are_not_run(forked: World) -> None:
    todo = forked.root / ".git/rebase-merge/git-rebase-todo"
    todo.parent.mkdir()
    todo.write_text("exec touch ran\n")
    denied = agents(forked, "rebase", "--continue")
    assert isinstance(denied, Deny)
    assert "exec" in denied.reason


@pytest.mark.parametrize("confined", [True, False])
def test_nothing_that_git_started_outlives_an_agents_move(
    forked: World, monkeypatch: pytest.MonkeyPatch, confined: bool
) -> None:
    if not confined:
        monkeypatch.setattr("verdigris.gates.agent_shell.agent_git.find_way", lambda _: None)
    forked.repo.git("update-ref", "refs/remotes/origin/side", "side")
    daemon = "setsid sh -c 'echo $$ >> pids; (setsid sleep 60 & echo $! >> pids); sleep 60' >&- 2>&- <&- &"
    (forked.root / "smudge.sh").write_text(f"#!/bin/sh\n{daemon}\nsleep 0.3; cat\n")
    forked.repo.git("config", "filter.x.smudge", "sh ./smudge.sh")
    forked.repo.write(".git/info/attributes", "theirs.py filter=x\n")
    assert isinstance(agents(forked, "switch", "--quiet", "side"), Moved)
    pids = forked.read("pids").split()
    assert len(pids) == 2
    assert [pid for pid in pids if Path("/proc", pid).exists()] == []
    assert not open_calls.alive(str(forked.project.repo.private))


def test_who_is_missed_among_descendants_is_ended_by_its_namespace(
    forked: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verdigris.execution.process.Descendants.end", lambda _: False)
    if not child.available().ok:
        pytest.skip("no namespaces here")
    forked.repo.git("update-ref", "refs/remotes/origin/side", "side")
    (forked.root / "smudge.sh").write_text("#!/bin/sh\nsleep 60 >&- 2>&- & echo $! > pid\ncat\n")
    forked.repo.git("config", "filter.x.smudge", "sh ./smudge.sh")
    forked.repo.write(".git/info/attributes", "theirs.py filter=x\n")
    agents(forked, "switch", "--quiet", "side")
    _, status = os.waitpid(int(forked.read("pid")), 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    assert not open_calls.alive(str(forked.project.repo.private))


def test_an_agent_without_the_gates_git_moves_nothing(forked: World) -> None:
    denied = sync(open_project(forked.root, Actor("agent", client="claude")), ["switch", "--quiet", "side"])

    assert isinstance(denied, Deny)
    assert denied.rule == "sync"


DOCUMENTED = 'def add(a, b):\n    """{}"""\n    return a + b\n'


def test_an_agent_merges_what_it_may_edit_freely_and_resolves_the_conflict(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo", **{"calc.py": DOCUMENTED.format("Add.")})
    repo = world.repo
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@example.org")
    for branch, text in (("feat", "Add two."), ("main", "Add all.")):
        repo.git("switch", "--quiet", *(["--create"] if branch == "feat" else []), branch)
        repo.write("calc.py", DOCUMENTED.format(text))
        repo.commit(text)
    client = open_project(world.root, Actor("agent", "s1", "claude"))
    before_call(client)
    done = agents(world, "merge", "--no-edit", "feat")
    assert isinstance(done, Moved)
    assert done.in_progress == "merge"
    assert b"<<<<<<< " in repo.read("calc.py")
    assert not after_call(client)
    refused = decide_writes(client, {"calc.py": lambda _: b"def add(a, b):\n    return a\n"}, cwd=world.root)
    assert isinstance(refused, Deny)
    resolved = DOCUMENTED.format("Add all two.").encode()
    assert decide_writes(client, {"calc.py": lambda _: resolved}, cwd=world.root) == Allow()
    repo.write("calc.py", resolved)
    assert not after_call(client)
    repo.git("add", "calc.py")
    ended = agents(world, "merge", "--continue")
    assert isinstance(ended, Moved)
    assert (ended.exit_code, ended.in_progress) == (0, None)
    assert repo.read("calc.py") == resolved
    assert survey(world.project).unclaimed == ()


@pytest.mark.parametrize(
    ("argv", "tried"),
    [
        (("merge", "--quiet", "side"), ("merge", "side")),
        (("switch", "--quiet", "side"), ("checkout", "side")),
        (("reset", "--quiet", "--hard", "side"), ("reset", "--hard", "side")),
        (("rebase", "--quiet", "side"), ("rebase", "side")),
    ],
)
def test_a_git_command_that_went_back_is_named_whole(
    forked: World, argv: tuple[str, ...], tried: tuple[str, ...]
) -> None:
    before = place(forked.project)
    forked.repo.git(*argv)
    assert command_of_move(forked.project.repo, before, place(forked.project)) == tried


def test_a_merge_that_stopped_on_its_way_is_named_whole(forked: World) -> None:
    forked.write("calc.py", CALC + SUB)
    forked.repo.commit("ours")
    before = place(forked.project)
    with pytest.raises(AssertionError):
        forked.repo.git("merge", "--quiet", "side")
    assert command_of_move(forked.project.repo, before, place(forked.project)) == ("merge", "side")
