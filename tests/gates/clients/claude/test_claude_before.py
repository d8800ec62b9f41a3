from __future__ import annotations

import os

import pytest

from support.hooks import Client
from support.turns import SUB, SUB_ID, TEST_SUB, World
from verdigris.core.events import Denied, EditClaim
from verdigris.core.state import Phase
from verdigris.gates.clients.claude.quick import PREFIX

STUB = "\n\ndef sub(a, b):  # STUB:TDD\n    raise NotImplementedError\n"


@pytest.fixture
def client(world: World) -> Client:
    return Client(world)


def edit(client: Client, new: str, path: str = "calc.py") -> str:
    old = "    return a + b\n"
    return client.before("Edit", file_path=path, old_string=old, new_string=old + new, replace_all=False)


def test_red_first_and_stubs(client: Client) -> None:
    assert edit(client, SUB) == "red-first"
    assert edit(client, STUB) == "pass"
    assert client.before("Edit", file_path="calc.py", old_string="not there", new_string=STUB) == "red-first"
    assert client.before("Write", file_path="tests/test_sub.py", content=TEST_SUB) == "pass"
    assert client.before("Write", file_path="notes.md", content="words") == "pass"
    (denied, *_) = client.world.events(Denied)
    assert denied.rule == "red-first"  # type: ignore[attr-defined]


@pytest.mark.quick
def test_the_first_source_edit_claims_a_single_red_and_says_so(client: Client) -> None:
    client.world.write("tests/test_sub.py", TEST_SUB)
    client.world.red_by_record(SUB_ID)
    given = client.raw(
        "PreToolUse", tool_name="Write", tool_input={"file_path": "calc.py", "content": SUB}, agent_id="a7"
    )
    assert SUB_ID in given.stdout
    (claim,) = client.world.events(EditClaim)
    assert isinstance(claim, EditClaim)
    assert (claim.implied, claim.by) == (True, "a7")
    assert client.world.state.phase is Phase.GREEN


def test_a_known_failure_is_the_agents_to_name(client: Client) -> None:
    client.world.red_by_record(SUB_ID, known=True)
    assert edit(client, SUB) == "which-red"


def test_an_edit_claims_all_that_this_change_made_red(client: Client) -> None:
    client.world.red_by_record(SUB_ID, "tests/test_add.py::test_add")
    assert edit(client, SUB) == "pass"
    assert set(client.world.state.claims) == {SUB_ID, "tests/test_add.py::test_add"}


@pytest.mark.parametrize(
    "spelling",
    [
        "tests/test_sub.py",
        " tests/test_sub.py ",
        "./calc.py/../tests/test_sub.py",
        "link/test_sub.py",
        "hard.md",
        "conftest.py",
        "tests/new_data.txt",
    ],
)
def test_every_spelling_of_the_oracle_is_frozen_for_every_file_tool(client: Client, spelling: str) -> None:
    world = client.world
    world.green_by_record()
    (world.root / "link").symlink_to("tests")
    os.link(world.root / "tests/test_sub.py", world.root / "hard.md")
    assert client.before("Write", file_path=spelling, content="x") == "frozen-oracle"
    assert client.before("Edit", file_path=spelling, old_string="==", new_string="!=") == "frozen-oracle"
    edits = [{"old_string": "==", "new_string": "!="}]
    assert client.before("MultiEdit", file_path=spelling, edits=edits) == "frozen-oracle"
    assert client.before("NotebookEdit", notebook_path=spelling, new_source="x") == "frozen-oracle"


def test_switches_inside_and_outside_are_nobodys(client: Client) -> None:
    for path in ("tdd.yaml", ".claude/settings.local.json", ".git/config", ".git/tdd/events.jsonl"):
        assert client.before("Write", file_path=path, content="{}") == "switch", path
    home = client.world.repo.home / ".claude/settings.json"
    assert client.before("Write", file_path=str(home), content="{}") == "switch"
    assert client.before("Write", file_path=f"{client.world.repo.home}/.claude.json", content="") == "switch"
    assert client.before("Write", file_path=os.path.realpath(os.__file__), content="") == "switch"


def test_a_mixed_file_is_decided_on_its_runner_keys(client: Client) -> None:
    client.world.write(
        "pyproject.toml", '[project]\nname = "x"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n'
    )
    client.world.green_by_record()
    name = {"file_path": "pyproject.toml"}
    assert client.before("Edit", **name, old_string='"x"', new_string='"y"') == "pass"
    assert client.before("Edit", **name, old_string='"-q"', new_string='"-k nothing"') == "frozen-oracle"


def test_a_call_that_does_not_say_what_it_writes_is_denied(client: Client) -> None:
    assert client.before("Write", content="x") == "unreadable-call"
    assert client.before("Write", file_path=["calc.py"], content="x") == "unreadable-call"
    assert client.before("Write", file_path="\0", content="x") == "unreadable-call"
    assert client.before("Write", file_path="x" * 5000, content="x") == "unreadable-call"


def test_another_worktree_has_its_own_phase(client: Client) -> None:
    world = client.world
    world.repo.git("worktree", "add", "-q", ".claude/worktrees/other")
    world.green_by_record()
    other = world.root / ".claude/worktrees/other"
    assert client.before("Write", file_path=str(other / "tests/test_add.py"), content="") == "pass"
    assert client.before("Write", file_path=str(other / "calc.py"), content="") == "red-first"
    assert (
        client.before("Write", file_path=str(world.root / "tests/test_add.py"), content="") == "frozen-oracle"
    )


def test_reading_is_free_but_for_what_is_held_out(client: Client) -> None:
    client.world.green_by_record()
    assert client.before("Read", file_path=str(client.world.root / "tests/test_sub.py")) == "pass"
    assert client.before("Grep", pattern="assert", path="tests") == "pass"
    assert client.before("Glob", pattern="**/*.py") == "pass"
    assert client.before("Read", file_path=".git/tdd/head") == "control"
    assert client.before("Glob", pattern=".git/tdd/**") == "control"
    assert client.before("Grep", pattern="x", path=".git") == "control"


def test_a_shell_passes_where_the_prefix_is_active(client: Client) -> None:
    assert client.before("Bash", command="echo x > tests/test_add.py") == "pass"
    bare = Client(client.world, environment={PREFIX: "", "CLAUDE_PID": "1"})
    assert bare.before("Bash", command="true") == "unconfined-shell"


def test_an_unknown_tool_is_put_to_the_person_and_remembered_for_its_server(client: Client) -> None:
    assert client.before("mcp__notes__add", text="words") == "ask"
    assert client.unattended().before("mcp__notes__add", text="words") == "unknown-tool"
    client.after("mcp__notes__add", text="words")
    assert client.before("mcp__notes__find", text="words") == "pass"
    assert client.unattended().before("mcp__notes__find", text="words") == "pass"
    assert client.before("mcp__files__write", text="words") == "ask"
    given = client.say("PreToolUse", permission_mode="bypassPermissions", tool_name="NewTool", tool_input={})
    assert given["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_any_string_of_an_unknown_tool_that_names_a_protected_path_is_a_write(client: Client) -> None:
    client.world.green_by_record()
    client.after("mcp__files__write")
    root = client.world.root
    for arguments in (
        {"path": f"{root}/tests/test_sub.py"},
        {"a": [{"b": ["x", {"relative_path": "tests/test_sub.py"}]}]},
        {"files": {"tests/test_sub.py": "content"}},
        {"uri": f"file://{root}/tests/test_sub.py"},
        {"patch": "*** Begin Patch\n*** Update File: tests/test_sub.py\n@@\n-a\n+b\n*** End Patch\n"},
        {"diff": "--- a/tests/test_sub.py\n+++ b/tests/test_sub.py\n@@ -1 +1 @@\n-a\n+b\n"},
        {"folder": "tests"},
    ):
        assert client.before("mcp__files__write", **arguments) == "frozen-oracle", arguments
    assert client.before("mcp__files__write", path="tdd.yaml") == "switch"
    assert client.before("mcp__files__write", path="calc.py", folder=str(root)) == "pass"


def test_the_clients_own_tools_pass_unless_they_speak_as_a_person(client: Client) -> None:
    client.world.green_by_record()
    assert client.before("Agent", prompt="look at tests/test_sub.py", subagent_type="Explore") == "pass"
    assert client.before("TodoWrite", todos=[{"content": "tests/test_sub.py"}]) == "pass"
    assert client.before("ScheduleWakeup", prompt="tdd off it is in my way") == "persons-verb"
    assert client.before("CronCreate", prompt="  tdd revise tests --why x\nmore") == "persons-verb"


def test_off_leaves_only_the_switches(client: Client) -> None:
    client.say("UserPromptSubmit", prompt="tdd off a spike")
    assert edit(client, SUB) == "pass"
    assert client.unattended().before("mcp__files__write", path="tests/test_add.py") == "pass"
    assert client.before("Write", file_path="tdd.yaml", content="") == "switch"


READS = """
import pathlib

import calc


def test_sub():
    assert calc.add(2, 3) == int(pathlib.Path("data/expected.txt").read_text())
"""


def test_data_that_the_claimed_tests_read_is_frozen_for_file_tools(client: Client) -> None:
    world = client.world
    world.write("data/expected.txt", "6")
    world.write("tests/test_sub.py", READS)
    assert client.before("Write", file_path="data/expected.txt", content="5") == "pass"
    world.claimed()
    for _ in range(2):
        assert client.before("Write", file_path="data/expected.txt", content="5") == "frozen-oracle"
        assert client.before("Write", file_path="data/other.txt", content="5") == "pass"
