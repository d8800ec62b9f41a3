"""Hooks in a client's JSON settings: the command of each, and the settings with our hooks and without.

Several clients have settings of this shape: event → list of `{matcher, hooks: [{type, command, timeout}]}`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.gates.clients.registry import Hook

MARK = "tdd/hook"
"""Stands in each of our commands, and in none of the user's."""
INSTALL = "pip install verdigris (or: uv tool install verdigris, pipx install verdigris)"
_START = 'exec 2>/dev/null; cd "${%s:-.}"; '
"""Silent: what a shell says of a missing program would stand before our own words."""
_MISSING = 127
"""The exit of a shell that finds no launcher, and of a launcher that finds no Verdigris."""


def closed_command(hook: Hook, client: str, project: str, free: Iterable[str]) -> str:
    """One line of POSIX shell that finds the launcher in this clone, and never lets silence pass for a yes.

    It answers in JSON in any case: before what a failed hook says, the client puts the whole command.
    `project`: the variable that names the project's folder; `free`: patterns of tools that write nothing,
    which are all that a clone without Verdigris can use.
    """
    find = "h=.git/tdd/hook; [ -x $h ] || h=$(git rev-parse --git-common-dir)/tdd/hook; "
    limit = f't=/usr/bin/timeout; [ -x $t ] && t="$t -k 1 {hook.seconds - 5}" || t=; '
    call = f'o=$($t "$h" {client} {hook.event}); r=$?; '
    tool = 'i=$(cat); i=${i#*\\"tool_name\\"*:*\\"}; '
    passed = "|".join(f"{_MISSING}:{name}" for name in free)
    refused = json.dumps(refusal(hook.event, _no_answer(client)))
    judged = f"case $r:${{i%%\\\"*}} in {passed}) echo {{}};; *) echo '{refused}';; esac"
    return (
        f'{_START % project}{find}{limit}{call}case $r$o in 0{{*) printf %s "$o"; exit;; esac; {tool}{judged}'
    )


def _no_answer(client: str) -> str:
    return (
        "Verdigris guards this project, and gives no answer here: blocked. next, for a person: "
        f"tdd doctor; where tdd is missing: {INSTALL}, then tdd init --agent {client}"
    )


def refusal(event: str, why: str) -> dict[str, Any]:
    """The answer by which a call is refused before it, or its effect questioned after it."""
    said = (
        {"permissionDecision": "deny", "permissionDecisionReason": why}
        if event == "PreToolUse"
        else {"additionalContext": why}
    )
    return {"hookSpecificOutput": {"hookEventName": event, **said}}


def open_command(hook: Hook, client: str, project: str) -> str:
    told = f"No answer of Verdigris: tdd doctor, or pip install verdigris and tdd init --agent {client}"
    no_answer = json.dumps({"systemMessage": told})
    call = f'{_START % project}o=$("$(git rev-parse --git-common-dir)/tdd/hook" {client} {hook.event}); '
    return call + f"case $?$o in 0{{*) printf %s \"$o\";; *) echo '{no_answer}';; esac"


def read_settings(text: str | None, name: str) -> dict[str, Any]:
    """The settings in a file's text; empty if there is no file."""
    plain = (text or "").removeprefix("\ufeff")
    try:
        found = json.loads(plain) if plain.strip() else {}
    except ValueError as error:
        raise UserError(f"{name} is not JSON: {error}", hint="repair it, then try again") from None
    if not isinstance(found, dict) or not isinstance(found.get("hooks", {}), dict):
        raise UserError(
            f"{name} does not hold settings: it has to be a JSON object, and so has `hooks` in it.",
            hint="repair it, then try again",
        )
    return found


def render(settings: dict[str, Any]) -> str:
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def with_hooks(settings: dict[str, Any], entries: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Adds our entries, each with its event, beside the user's; `settings` have none of ours."""
    hooks = dict(settings.get("hooks", {}))
    for event, entry in entries:
        hooks[event] = [*_list(hooks.get(event)), entry]
    return {**settings, "hooks": hooks}


def without_hooks(settings: dict[str, Any]) -> dict[str, Any]:
    """Takes out our entries and nothing else; what becomes empty by that goes too."""
    hooks = {event: _not_ours(entries) for event, entries in as_mapping(settings.get("hooks")).items()}
    return with_key(settings, "hooks", {event: entries for event, entries in hooks.items() if entries})


def with_key(settings: dict[str, Any], key: str, found: dict[str, Any]) -> dict[str, Any]:
    """Replaces the mapping under a key that is there; an empty one goes with its key."""
    if key not in settings:
        return settings
    left = {name: given for name, given in settings.items() if name != key or found}
    return {**left, key: found} if found else left


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


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def as_mapping(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}
