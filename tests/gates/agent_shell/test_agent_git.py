from __future__ import annotations

import pytest

from verdigris.gates.agent_shell.agent_git import has_exec, plain_environment, starting_word

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("rebase --exec=sh HEAD~1", "--exec=sh"),
        ("rebase --exe sh HEAD~1", "--exe"),
        ("rebase -x sh HEAD~1", "-x"),
        ("rebase -ix sh HEAD~1", "-ix"),
        ("fetch --upload-pack=sh origin", "--upload-pack=sh"),
        ("pull --upl sh origin", "--upl"),
        ("fetch ext::sh%20-c%20x", "ext::sh%20-c%20x"),
        ("pull evil::x main", "evil::x"),
        ("merge -s evil side", "evil"),
        ("merge -sevil side", "-sevil"),
        ("pull --strategy=evil", "--strategy=evil"),
    ],
)
def test_a_word_that_starts_a_program_is_found(command: str, word: str) -> None:
    assert starting_word(command.split()) == word


@pytest.mark.parametrize(
    "command",
    [
        "switch -c feature",
        "pull --rebase --autostash origin main",
        "rebase -i --onto main side",
        "rebase -Xours main",
        "cherry-pick -x side",
        "revert -s HEAD",
        "merge -s ours side",
        "merge --strategy=ort -X theirs side",
        "fetch --all --prune --update-head-ok ssh://git@host/x",
        "reset --hard HEAD~1",
        "stash push -u -m exec",
        "rebase --continue",
        "rebase --cont",
        "checkout -- .",
    ],
)
def test_moves_of_every_day_start_none(command: str) -> None:
    assert starting_word(command.split()) is None


@pytest.mark.parametrize(
    ("todo", "starts"),
    [("pick 1 a\nexec sh x\n", True), ("x sh\n", True), ("pick 1 exec it\n# exec x\n", False)],
)
def test_steps_of_a_rebase(todo: str, starts: bool) -> None:
    assert has_exec(todo) is starts


def test_only_who_commits_and_how_a_server_is_reached_stay_in_the_environment() -> None:
    given = {
        "HOME": "/h",
        "GIT_AUTHOR_NAME": "a",
        "GIT_SSH_COMMAND": "ssh -i k",
        "GIT_DIR": "x",
        "GIT_EXEC_PATH": "x",
        "GIT_EXTERNAL_DIFF": "x",
        "GIT_CONFIG_PARAMETERS": "x",
        "PATH": "/w/bin:/usr/bin",
    }
    made = plain_environment(given, ["/usr/bin"])
    assert made["HOME"] == "/h"
    assert made["PATH"] == "/usr/bin"
    assert {"GIT_AUTHOR_NAME", "GIT_SSH_COMMAND"} < made.keys()
    assert not {"GIT_DIR", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_PARAMETERS"} & made.keys()
    settings = {made[f"GIT_CONFIG_KEY_{n}"]: made[f"GIT_CONFIG_VALUE_{n}"] for n in range(3)}
    assert settings == {
        "core.hooksPath": "/dev/null",
        "core.fsmonitor": "false",
        "protocol.ext.allow": "never",
    }
