"""Claude Code's settings with our hooks and without."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import UserError
from verdigris.gates.clients.claude import quick
from verdigris.gates.clients.registry import Hook

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.storage.repository import Repository

SHARED, LOCAL = ".claude/settings.json", quick.LOCAL
PREFIX = quick.PREFIX
MARK = "tdd/hook"
"""Stands in each of our commands, and tells them from the user's."""


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
_FIND = (
    'd=${CLAUDE_PROJECT_DIR:-.}; while [ ! -e "$d/.git" ] && [ "$d" != "${d%/*}" ]; do d=${d%/*}; done; '
    'g=$d/.git; if [ -f "$g" ]; then read -r _ g <"$g"; case $g in /*) ;; *) g=$d/$g;; esac; '
    'if read -r c <"$g/commondir"; then case $c in /*) g=$c;; *) g=$g/$c;; esac; fi; fi; h=$g/tdd/hook; '
)
_INSTALL = (
    "Verdigris is not set up in this clone: have its command tdd on PATH (its README says how) and run "
    "tdd init --agent claude here, or take its hooks out of .claude/settings.json"
)
_NO_ANSWER = json.dumps({"systemMessage": "No answer of Verdigris: tdd doctor, or tdd init --agent claude"})


def command(hook: Hook) -> str:
    """One line of POSIX shell that finds the launcher in this clone."""
    return _closed_command(hook) if hook.closed else _open_command(hook)


def _closed_command(hook: Hook) -> str:
    """Never lets silence pass for a yes, whatever is missing on the machine."""
    missing = f"[ -x \"$h\" ] || {{ echo '{_INSTALL}' >&2; exit 2; }}; "
    limit = (
        "t=; for p in /usr/bin /bin /usr/local/bin /opt/homebrew/bin; do "
        f'[ -x $p/timeout ] && t="$p/timeout -k 1 {hook.seconds - 5}" && break; done; '
    )
    call = f'o=$($t "$h" claude {hook.event}); r=$?; '
    judged = (
        'case "$r:$o" in 0:"{"*) printf %s "$o";; 2:*) exit 2;; '
        '*) echo "Verdigris\' gate gave no answer (rc=$r): blocked. next: tdd doctor" >&2; exit 2;; esac'
    )
    return _FIND + missing + limit + call + judged


def _open_command(hook: Hook) -> str:
    """Short, since the client puts the whole command before the reason why the model may not stop yet."""
    call = (
        'o=$(cd "${CLAUDE_PROJECT_DIR:-.}" && '
        f'"$(git rev-parse --git-common-dir)/tdd/hook" claude {hook.event}); '
    )
    return call + f"case $?$o in 0{{*) printf %s \"$o\";; *) echo '{_NO_ANSWER}';; esac"


def place_of(repo: Repository, name: str) -> Path:
    """The client reads the personal file where the main worktree is, whichever it works in."""
    linked = name == LOCAL and repo.common_dir.name == ".git"
    return (repo.common_dir.parent if linked else repo.root) / name


def commands() -> tuple[str, ...]:
    return tuple(command(hook) for hook in HOOKS)


def _entry(hook: Hook) -> dict[str, Any]:
    run: dict[str, Any] = {"type": "command", "command": command(hook), "timeout": hook.seconds}
    if hook.closed:
        run["onFailure"] = "block"
    return {"matcher": "*", "hooks": [run]}


def read_settings(text: str | None, name: str) -> dict[str, Any]:
    plain = (text or "").removeprefix("\ufeff")
    try:
        found = json.loads(plain) if plain.strip() else {}
    except ValueError as error:
        raise UserError(f"{name} is not JSON: {error}", hint="repair it, then try again") from None
    if not isinstance(found, dict) or not isinstance(found.get("hooks", {}), dict):
        raise UserError(f"{name} is not as Claude Code writes it.", hint="repair it, then try again")
    return found


def render(settings: dict[str, Any]) -> str:
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def with_hooks(settings: dict[str, Any], prefix: str | None = None) -> dict[str, Any]:
    """Adds our hooks beside what is there; `prefix` is for the personal file."""
    clean = without_hooks(settings)
    hooks = dict(clean.get("hooks", {}))
    for hook in HOOKS:
        hooks[hook.event] = [*_list(hooks.get(hook.event)), _entry(hook)]
    merged = {**clean, "hooks": hooks}
    if prefix is not None:
        merged["env"] = {**_as_mapping(clean.get("env")), PREFIX: prefix}
    return merged


def without_hooks(settings: dict[str, Any]) -> dict[str, Any]:
    """Takes out our entries and nothing else; what becomes empty by that goes too."""
    left = dict(settings)
    hooks = {event: _not_ours(entries) for event, entries in _as_mapping(settings.get("hooks")).items()}
    _set_key(left, "hooks", {event: entries for event, entries in hooks.items() if entries})
    env = {
        name: given for name, given in _as_mapping(settings.get("env")).items() if not _is_prefix(name, given)
    }
    _set_key(left, "env", env)
    return left


def _set_key(settings: dict[str, Any], key: str, found: dict[str, Any]) -> None:
    if key not in settings:
        return
    if found:
        settings[key] = found
    else:
        del settings[key]


def _not_ours(entries: Any) -> list[Any]:
    left = []
    for entry in _list(entries):
        if not isinstance(entry, dict) or not isinstance(entry.get("hooks"), list):
            left.append(entry)
            continue
        runs = [run for run in entry["hooks"] if not _is_ours(run)]
        if runs or not entry["hooks"]:
            left.append({**entry, "hooks": runs})
    return left


def _is_ours(run: Any) -> bool:
    return isinstance(run, dict) and MARK in str(run.get("command", ""))


def _is_prefix(name: str, given: Any) -> bool:
    return name == PREFIX and str(given).removesuffix(" -c").endswith("/tdd/shell")


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def _as_mapping(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}
