"""The findings of `tdd doctor`, and the pytest plugins of an environment."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Literal

from verdigris.core.errors import VerdigrisError
from verdigris.core.value import value
from verdigris.execution.interpreter import find_interpreter
from verdigris.execution.process import Command, run
from verdigris.runners.registry import is_in_interpreter
from verdigris.sandbox.query import apart, environment_of

if TYPE_CHECKING:
    from verdigris.storage.project import Project


Level = Literal["ok", "warn", "fail"]


@value
class Finding:
    name: str
    level: Level
    what: str
    fix: str = ""
    """The way out; empty where nothing is wrong."""
    details: tuple[str, ...] = ()


def failure(name: str, what: str, fix: str | None) -> Finding:
    return Finding(name, "fail", what, fix or "see `tdd doctor --json`")


_SECONDS = 30.0
_ASK = """
import json
from importlib.metadata import distributions
found = {e.name for d in distributions() for e in d.entry_points if e.group == "pytest11"}
print(json.dumps(sorted(found)))
"""


def installed_plugins(project: Project) -> frozenset[str] | None:
    """None where all of them are loaded anyway, or where it cannot be found out."""
    if project.settings.room_plugins is None:
        return None
    found: set[str] = set()
    for stack in project.settings.stacks:
        if not is_in_interpreter(stack.runner):
            continue
        home = project.root / stack.root
        try:
            python = find_interpreter(home, project.root, stack.python, os.environ)
            with apart(project.root, reads=environment_of(python.path)) as confine:
                asked = Command((str(python.path), "-c", _ASK), home, dict(os.environ), confine=confine)
                done = run(asked, timeout=_SECONDS)
            found.update(json.loads(done.output.strip().splitlines()[-1]))
        except (VerdigrisError, ValueError, IndexError, TypeError):
            return None
    return frozenset(found)
