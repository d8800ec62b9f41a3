"""Claude Code's settings: its hooks, its shell prefix, and where both are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.gates.clients import hook_settings
from verdigris.gates.clients.claude.quick import LOCAL, NAME, PREFIX, PROJECT
from verdigris.gates.clients.registry import Hook

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.storage.repository import Repository

SHARED = ".claude/settings.json"
FREE = (
    "Read",
    "Grep",
    "Glob",
    "LS",
    "LSP",
    "Agent",
    "Ask*",
    "ExitPlanMode",
    "Skill",
    "Task*",
    "Todo*",
    "Web*",
)
"""Tools that write nothing themselves."""
SHELL = "shell"
"""In the control area: the program that the shell prefix names."""


HOOKS = (
    Hook("PreToolUse", 60, closed=True),
    Hook("PostToolUse", 60, closed=True),
    Hook("PostToolUseFailure", 60, closed=True),
    Hook("Stop", 1800, closed=False),
    Hook("SubagentStart", 30, closed=False),
    Hook("SubagentStop", 1800, closed=False),
    Hook("SessionStart", 30, closed=False),
    Hook("UserPromptSubmit", 120, closed=False),
)


def command(hook: Hook) -> str:
    if hook.closed:
        return hook_settings.closed_command(hook, NAME, PROJECT, FREE)
    return hook_settings.open_command(hook, NAME, PROJECT)


def commands() -> tuple[str, ...]:
    return tuple(map(command, HOOKS))


def place_of(repo: Repository, name: str) -> Path:
    """The client reads the personal file where the main worktree is, whichever it works in."""
    linked = name == LOCAL and repo.common_dir.name == ".git"
    return (repo.common_dir.parent if linked else repo.root) / name


def prefix(repo: Repository) -> str:
    """The client takes what follows the last ` -` for options, and a folder's name may hold one."""
    path = str(repo.control / SHELL)
    return f"{path} -c" if " -" in path else path


def with_hooks(settings: dict[str, Any], prefix: str | None = None) -> dict[str, Any]:
    """Adds our hooks beside what is there; `prefix` is for the personal file."""
    clean = without_hooks(settings)
    merged = hook_settings.with_hooks(clean, ((hook.event, _entry(hook)) for hook in HOOKS))
    if prefix is not None:
        merged["env"] = {**hook_settings.as_mapping(clean.get("env")), PREFIX: prefix}
    return merged


def without_hooks(settings: dict[str, Any]) -> dict[str, Any]:
    """Takes out our entries and nothing else; what becomes empty by that goes too."""
    env = hook_settings.as_mapping(settings.get("env"))
    left = {name: given for name, given in env.items() if not _is_prefix(name, given)}
    return hook_settings.with_key(hook_settings.without_hooks(settings), "env", left)


def _entry(hook: Hook) -> dict[str, Any]:
    run: dict[str, Any] = {"type": "command", "command": command(hook), "timeout": hook.seconds}
    if hook.closed:
        run["onFailure"] = "block"
    return {"matcher": "*", "hooks": [run]}


def _is_prefix(name: str, given: Any) -> bool:
    return name == PREFIX and str(given).removesuffix(" -c").endswith("/tdd/shell")
