"""A hook of ours runs unconfined, by the user's shell; neither it nor a confined command loads much."""

from __future__ import annotations

import subprocess

from support.shelled import Shelled
from verdigris.gates.agent_shell.users_shell import HOOKS

SLOW = {"contextlib", "pathlib", "re", "shlex", "subprocess", "typing"}
OURS, OURS_AS_A_HOOK = "echo y >> tdd.yaml", {"CLAUDE_PROJECT_DIR": "x"}


def imported(one: Shelled, command: str, **env: str) -> set[str]:
    program, *rest = one.argv(command)
    done = subprocess.run(
        [program, "-X", "importtime", *rest],
        cwd=one.root,
        env=one.environment | env,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}


def test_a_hook_is_known_by_its_text_and_by_the_clients_variable(one: Shelled) -> None:
    hooks = one.private.parent.parent / f"{HOOKS}.claude"
    config = one.root / "tdd.yaml"
    before = config.read_bytes()
    hooks.write_bytes(b"true\0" + OURS.encode())
    assert one.run(OURS).code != 0, "an agent can run the same text"
    assert one.run(f"{OURS} ", env=OURS_AS_A_HOOK).code != 0
    assert config.read_bytes() == before
    assert one.run(OURS, env=OURS_AS_A_HOOK).code == 0
    assert config.read_bytes() == before + b"y\n"
    config.write_bytes(before)


def test_neither_a_hook_nor_a_command_loads_what_takes_long(one: Shelled) -> None:
    (one.private.parent.parent / f"{HOOKS}.claude").write_bytes(b"true")
    one.run("true")
    loaded = imported(one, "true")
    assert "verdigris.gates.agent_shell.confinement" in loaded
    assert not loaded & (SLOW - {"contextlib"})
    hook = imported(one, "true", **OURS_AS_A_HOOK)
    assert "verdigris.gates.agent_shell.users_shell" in hook
    assert not hook & (SLOW | {"verdigris.gates.agent_shell.run"})
