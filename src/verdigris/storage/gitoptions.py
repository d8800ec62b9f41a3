"""Which words of a git command would have git start other programs than its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LONG = ("--exec", "--upload-pack", "--receive-pack")
STRATEGIES = frozenset({"ort", "recursive", "resolve", "octopus", "ours", "subtree"})
"""Any other is a program `git-merge-NAME`."""
_MERGING = frozenset({"merge", "pull", "rebase"})
_EXEC = re.compile(r"-[A-Za-z]*x.*", re.DOTALL)
_TRANSPORT = re.compile(r"[A-Za-z0-9+.-]+::.*", re.DOTALL)
_TODO = re.compile(r"^\s*(?:exec|x)\s", re.MULTILINE)
KEPT = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH", "GIT_ASKPASS", "GIT_TERMINAL_PROMPT", "GIT_CONFIG_GLOBAL")


def starting_word(argv: Sequence[str]) -> str | None:
    """The first word that names a program to start; git takes a beginning of a long option for the whole."""
    verb, *words = argv
    for before, word in zip(("", *words), words, strict=False):
        name = word.partition("=")[0]
        if name.startswith("--") and name != "--" and any(option.startswith(name) for option in LONG):
            return word
        if verb == "rebase" and _EXEC.fullmatch(word):
            return word
        if _TRANSPORT.fullmatch(word):
            return word
        if verb in _MERGING and (strategy := _strategy(before, word)) and strategy not in STRATEGIES:
            return word
    return None


def _strategy(before: str, word: str) -> str | None:
    if before in {"-s", "--strategy"}:
        return word
    for prefix in ("--strategy=", "-s"):
        if word.startswith(prefix) and word != "-s":
            return word.removeprefix(prefix)
    return None


def has_exec(todo: str) -> bool:
    """Whether the list of a rebase's steps, which lies in a folder that an agent writes, starts a program."""
    return _TODO.search(todo) is not None


def plain_environment(environment: Mapping[str, str], programs: Iterable[str]) -> dict[str, str]:
    """Who commits and how a server is reached stay; whatever else steers git does not. `programs` is PATH."""
    kept = {
        name: value
        for name, value in environment.items()
        if not name.startswith("GIT_") or name.startswith(KEPT)
    }
    steered = {"core.hooksPath": "/dev/null", "core.fsmonitor": "false", "protocol.ext.allow": "never"}
    for number, (key, value) in enumerate(steered.items()):
        kept |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return kept | {
        "PATH": ":".join(programs),
        "GIT_CONFIG_COUNT": str(len(steered)),
        "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    }
