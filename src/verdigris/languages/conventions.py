"""The shape of a language's conventions: usual places of tests and source, and runner keys."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from verdigris.core.agents import of_all
from verdigris.core.languages import known_suffixes
from verdigris.core.paths import CACHES
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


SIDE = "(?:docs?|scripts?|tools?|ci|examples?|samples?|demos?|benchmarks?|bench|notebooks?)/"
"""Folders beside the source, at a stack's root."""


@value
class Usual:
    tests: str
    """Tests, helpers and data, from the stack's root."""
    runner: str
    """What configures the runner, anywhere in the worktree: a tool also reads what lies above its stack."""
    transient: str
    """Installed packages, caches and what a build makes, from the stack's root: nobody's to protect."""
    not_source: str
    """Of the language's files, from the stack's root: what is beside the source."""


def at_root(*names: str) -> str:
    """The named file, or the named folder with all below it."""
    return rf"(?:{'|'.join(names)})(?:/.*)?\Z"


def anywhere(*names: str) -> str:
    return "(?:.*/)?" + at_root(*names)


def outside(folders: str, regex: str) -> str:
    """`regex`, but not below one of these folders."""
    return rf"(?!(?:.*/)?(?:{folders})/){regex}"


def any_of(*regexes: str) -> str:
    return f"(?:{'|'.join(regexes)})"


SWITCHES = at_root(r"tdd\.yaml", r"\.git") + "|" + anywhere(*of_all(lambda agent: agent.settings))
"""The configuration, the repository's own data, what turns an agent's hooks on and off, and servers that a
client starts outside of any sandbox.
Clients read their settings from the folder they are started in, so those count at any depth."""


def transient() -> str:
    """What tools write beside the tests while they run: never a file that a language could import."""
    code = "|".join(map(re.escape, known_suffixes()))
    return rf"(?!.*(?:{code})\Z)" + anywhere(*map(re.escape, CACHES))


def canonical(found: Mapping[str, Any]) -> bytes:
    """Spacing and order do not count; nothing found is no bytes."""
    said = {key: value for key, value in found.items() if value is not None}
    return json.dumps(said, sort_keys=True, default=str).encode() if said else b""


def at(document: Any, *keys: str) -> Any:
    for key in keys:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document


def only(table: Any, keys: Collection[str]) -> dict[str, Any] | None:
    """Of a table just these keys; None where it has none of them."""
    found = {key: value for key, value in table.items() if key in keys} if isinstance(table, dict) else {}
    return found or None


def test_scripts(document: Any) -> dict[str, Any] | None:
    """Scripts of a package manager that are about tests."""
    scripts = at(document, "scripts")
    names = [str(name) for name in scripts] if isinstance(scripts, dict) else []
    return only(
        scripts, [name for name in names if name.removeprefix("pre").removeprefix("post")[:4] == "test"]
    )
