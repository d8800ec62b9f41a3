"""The system prompt of every role: the game, the language, and the form of an answer.

One text for a whole run, for all roles and all questions, so that a provider can keep it in its cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.languages.registry import language_named

if TYPE_CHECKING:
    from verdigris.models.roles.role import Team

_ANSWER = """\
YOUR ANSWER is one JSON object and nothing around it:
{"verdict": "edit", "reason": "", "rationale": "why this change now", "read": [], "type": "test", \
"subject": "sum of two numbers", "points": [2], "edits": [{"path": "tests/test_sum.py", \
"action": "upsert", "intent": "the new case", "content": "…the whole file…\\n", "to": null}]}
- verdict: edit, nothing-to-do, test-is-wrong, test-is-right, kata-is-wrong or kata-done; `reason` says why \
it is not edit.
- type: {types}. subject: one line in the \
imperative, without the type, a capital or a full stop.
- edits: `upsert` writes a file with `content`, always its whole text; `delete` removes one; `move` takes \
it to `to`, with `content` null if the text stays. Paths are relative to the project's root. Each file at \
most once. The machine's own files (tdd.yaml, .git, .tdd) and the kata are not yours to write.
- read: files that are listed but not told, or told only in part, and that you want to see before you \
edit."""


def guide(team: Team, language: str, runner: str = "", tools: tuple[str, ...] = ()) -> str:
    ways = language_named(language).role_words
    run_by = f"\nThe tests are run by {runner}." if runner else ""
    run_by += "".join(f"\n{tool}" for tool in tools)
    roles = (role.guide for role in team.roles)
    return "\n\n".join((team.game, *roles, team.closing, ways + run_by, _answer(team))) + "\n"


def _answer(team: Team) -> str:
    types = ", ".join(f"{' or '.join(role.commit_types)} ({role})" for role in team.roles)
    return _ANSWER.replace("{types}", types)
