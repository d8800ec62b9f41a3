"""One map of places for every tool of an agent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from support.gitrepo import make_repo
from support.hooks import Client
from support.turns import World
from verdigris.gates.agent_shell import places


@pytest.fixture
def client(world: World) -> Client:
    return Client(world, environment={"HOME": os.environ["HOME"]})


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder outside the home, in none of the places."""
    folder = Path("/var/lib") / f"tdd-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("only root can make a folder outside of every place")
    yield folder
    shutil.rmtree(folder)


def writes(client: Client, path: str | Path) -> str:
    decided = {client.before("Write", file_path=str(path), content="x")}
    decided.add(client.before("Edit", file_path=str(path), old_string="", new_string="x"))
    decided.add(client.before("NotebookEdit", notebook_path=str(path), new_source="x"))
    assert len(decided) == 1, decided
    return decided.pop()


@pytest.mark.parametrize(
    "name",
    [
        *(".bashrc", ".vimrc", ".config/fish/config.fish", ".config/systemd/user/x.service", "bin/tdd", "x"),
        *(".local/lib/python3.11/site-packages/usercustomize.py", ".cache/p10k.zsh", ".claude/CLAUDE.md"),
    ],
)
def test_the_home_is_a_persons(client: Client, name: str) -> None:
    assert writes(client, f"{os.environ['HOME']}/{name}") == "outside"
    assert writes(client, f"~/{name}") == "outside"


def test_outside_of_every_place_nothing_is_written_and_the_key_is_named(
    client: Client, elsewhere: Path
) -> None:
    assert writes(client, elsewhere / "x.conf") == "outside"
    (client.world.root / "door").symlink_to(elsewhere)
    assert writes(client, "door/x.conf") == "outside"
    said = client.say(
        "PreToolUse", tool_name="Write", tool_input={"file_path": str(elsewhere / "x"), "content": ""}
    )
    reason = said["hookSpecificOutput"]["permissionDecisionReason"]
    assert f"sandbox: {{write: [{elsewhere}/x]}}" in reason


@pytest.mark.parametrize("path", ["/proc/self/cwd/x", "/proc/self/environ", "/dev/tty", "/sys/x"])
def test_what_is_no_file_is_not_written(client: Client, path: str) -> None:
    assert writes(client, path) == "outside"


def test_a_link_to_what_is_no_file_is_not_written_through(client: Client) -> None:
    """It leads the hook, the client and each tool elsewhere."""
    (client.world.root / "here").symlink_to("/proc/self/cwd")
    assert writes(client, "here/x") == "outside"


def test_temporary_folders_caches_and_the_clients_own_notes_are_served(client: Client) -> None:
    home = os.environ["HOME"]
    assert writes(client, "/var/tmp/tdd-x.md") == "pass"
    assert writes(client, f"{home}/.cache/pip/x") == "pass"
    for name in ("plans/a.md", "projects/-work-x/memory/MEMORY.md"):
        assert writes(client, f"{home}/.claude/{name}") == "pass", name
    assert writes(client, f"{home}/.claude/projects/-work-x/session.jsonl") == "outside"


def test_what_the_configuration_names_is_served(client: Client, elsewhere: Path) -> None:
    yaml = client.world.root / "tdd.yaml"
    yaml.write_text(f"{yaml.read_text()}\nsandbox: {{write: [{elsewhere}]}}\n")
    assert writes(client, elsewhere / "x") == "pass"


def test_another_repository_under_the_law_is_never_written(client: Client, elsewhere: Path) -> None:
    for name in ("under", "free"):
        make_repo(elsewhere / name)
    (elsewhere / "under/.git/tdd").mkdir()
    yaml = client.world.root / "tdd.yaml"
    yaml.write_text(f"{yaml.read_text()}\nsandbox: {{write: [{elsewhere}]}}\n")
    for path in ("tests/test_x.py", "tdd.yaml", ".git/hooks/pre-commit", ".git/tdd/events.jsonl", "new/x"):
        assert writes(client, elsewhere / "under" / path) == "other-repository", path
    assert writes(client, elsewhere / "free/x.py") == "pass"
    assert writes(client, elsewhere / "free/.git/config") == "other-repository"
    inside = make_repo(client.world.root / "vendor/inner")
    for name in (".git/config", ".git/hooks/post-checkout"):
        assert writes(client, inside.root / name) == "other-repository"
    inside.git("clone", "-q", "--bare", ".", "../bare")
    assert writes(client, "vendor/bare/config") == "other-repository"
    assert writes(client, "vendor/inner/x.md") == "pass"


def test_another_worktree_of_the_person_is_not_written(client: Client) -> None:
    client.world.repo.git("worktree", "add", "-q", "../other")
    assert writes(client, client.world.root.parent / "other/tests/test_add.py") == "outside"


def test_the_hooks_that_git_takes_from_the_worktree_are_switches(client: Client) -> None:
    assert writes(client, "tools/hooks/pre-commit") == "pass"
    client.world.write("tools/hooks/pre-push", "true\n")
    client.world.repo.git("config", "core.hooksPath", "tools/hooks")
    assert writes(client, "tools/hooks/pre-commit") == "switch"
    assert writes(client, "tools/other") == "pass"


@pytest.mark.parametrize(
    "path",
    [
        *(".husky/pre-commit", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook-local.toml", ".envrc"),
        *("web/.husky/_/h", ".lintstagedrc.json", "mise.local.toml", ".vscode/tasks.json", ".idea/x.xml"),
        *(
            ".claude/agents/x.md",
            ".claude/skills/a/SKILL.md",
            ".claude/CLAUDE.md",
            "app/.claude/commands/x.md",
        ),
        *(".claude-plugin/plugin.json", ".lsp.json", ".cursor/mcp.json", ".devcontainer/devcontainer.json"),
    ],
)
def test_what_decides_what_a_persons_tools_run_is_a_switch(client: Client, path: str) -> None:
    assert writes(client, path) == "switch"


@pytest.mark.parametrize(
    "path", [".claude/plans/a.md", ".claude/agent-memory/x/MEMORY.md", "husky.md", ".github/workflows/ci.yml"]
)
def test_what_decides_nothing_is_free(client: Client, path: str) -> None:
    assert writes(client, path) == "pass"


def test_instructions_are_free_without_a_header(client: Client) -> None:
    assert client.before("Write", file_path="CLAUDE.md", content="# How we work\n\n---\n") == "pass"
    assert client.before("Write", file_path="CLAUDE.md", content="---\nhooks: x\n---\n") == "switch"
    client.world.write("docs/AGENTS.md", "words\n")
    edit = {"file_path": "docs/AGENTS.md", "old_string": "words", "new_string": "---\nmcpServers: x\n---"}
    assert client.before("Edit", **edit) == "switch"


def test_a_tool_of_a_server_is_asked_the_same_in_every_spelling(client: Client) -> None:
    client.after("mcp__files__write")
    home = os.environ["HOME"]
    for arguments in (
        {"path": f"{home}/.vimrc"},
        {"path": "~/.vimrc"},
        {"uri": f"file://localhost{home}/.vimrc"},
        {"uri": f"FILE:{quote(home)}/.vimrc"},
        {"path": quote(f"{home}/.vimrc", safe="")},
        {"path": quote(quote(f"{home}/.vimrc", safe=""), safe="")},
        {"folder": home, "name": ".vimrc"},
        {"to": {"directory": f"{home}/", "files": [{"x.service": "text"}]}},
    ):
        assert client.before("mcp__files__write", **arguments) == "outside", arguments
    for arguments in (
        {"route": "/api/v1/users"},
        {"title": "a/b testing"},
        {"folder": home, "query": "words to find"},
        {"path": "/var/tmp/shot.png"},
        {"text": f"see {home}/.vimrc and ~/x"},
        {"path": str(client.world.root / "notes.md")},
    ):
        assert client.before("mcp__files__write", **arguments) == "pass", arguments


def test_a_part_of_a_path_in_an_argument_of_its_own(client: Client) -> None:
    client.after("mcp__files__write")
    client.world.write("deep/x.md", "")
    root = str(client.world.root)
    assert client.before("mcp__files__write", root=root, name="tdd.yaml") == "switch"
    assert client.before("mcp__files__write", root=f"{root}/deep", name="../.git/config") != "pass"
    assert client.before("mcp__files__write", path="%2Egit%2Fhooks%2Fpre-commit") == "switch"


def test_a_folder_of_path_that_is_not_there_yet_is_closed(tmp_path: Path) -> None:
    root, home, temporary = tmp_path / "w", tmp_path / "home", tmp_path / "t"
    for folder in (root, home, temporary):
        folder.mkdir()
    names = [f"{root}/tools/bin", f"{temporary}/later/bin", "own", ".", "", f"{root}/.venv/bin"]
    environment = {"HOME": str(home), "TMPDIR": str(temporary), "PATH": ":".join(names)}
    places.make_folders(environment, (), str(root))
    closed = {f"{root}/tools/bin", f"{temporary}/later/bin", f"{root}/own"}
    assert all(Path(path).is_dir() for path in closed)
    regions = places.outside_regions(environment, str(root))
    assert {path for path in regions if path.startswith(f"{tmp_path}/") and not regions[path]} >= closed
    assert str(root) not in regions
    assert f"{root}/.venv/bin" not in regions, "an environment is the agent's to make"
