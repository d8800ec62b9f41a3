"""Where the user stands, and the project there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.actions import Actor
from verdigris.core.errors import UserError

if TYPE_CHECKING:
    from verdigris.core.actions import Deny
    from verdigris.storage.project import Project

PERSON = Actor()
ACTOR, CLIENT, CONTEXT, ROOT = "TDD_ACTOR", "TDD_CLIENT", "TDD_CONTEXT", "TDD_ROOT"
"""Set by the broker: who acts, and in which worktree. Whoever sets them himself only has fewer rights."""


def actor() -> Actor:
    if ACTOR not in os.environ:
        return PERSON
    return Actor("agent", os.environ.get(CONTEXT, ""), os.environ.get(CLIENT, "shell"))


def here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UserError(
            "the folder you stand in does not exist any more.", hint="cd to one that does"
        ) from None


def start() -> Path:
    """Where a command looks for its worktree: an agent cannot choose another by standing elsewhere."""
    root = os.environ.get(ROOT) if ACTOR in os.environ else None
    return Path(root) if root else here()


def project() -> Project:
    from verdigris.storage.project import open_project

    return open_project(start(), actor())


def persons_only(verb: str) -> Deny | None:
    """A person's verbs are refused to an agent, and to everyone while an agent's shell call is open."""
    from verdigris.core.verbs import persons
    from verdigris.storage.opencall import refusal
    from verdigris.storage.repository import find_repository

    if ACTOR in os.environ:
        return persons(verb)
    return refusal(str(find_repository(here()).private))
