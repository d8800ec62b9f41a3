"""A role is one part that a model or a person plays in a driver; it is data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from verdigris.core.errors import HarnessError
from verdigris.core.roles import NAMES
from verdigris.core.value import value
from verdigris.models.roles.answer import RoleEdit, Say
from verdigris.seams import Seam

if TYPE_CHECKING:
    from verdigris.core.paths import PathClass

Tree: TypeAlias = Mapping[str, str | None]
Objection: TypeAlias = Callable[[RoleEdit, Tree], str | None]
"""Why the role may not make this edit; None if it may."""
Judge = Literal["red", "settlement", "refactor", "plan", "validation"]
"""Which verdict of the kernel ends its step: a valid red, a settled claim, a refactor; a plan that says
enough, a validation of the tests."""

_TEAMS = "verdigris.models.roles.teams"
_SEAM = Seam("verdigris.roles", {driver: f"{_TEAMS}:{driver.upper()}" for driver in NAMES})
drivers = _SEAM.names
_PROMPTS = Path(__file__).parent / "prompts"


@value
class Role:
    name: str
    driver: str
    guide: str
    """Its part of the system prompt, which all roles of the driver share."""
    task: str
    """Its task, in a sentence."""
    instead: str
    """What it may do instead of what it must not."""
    commit_types: tuple[str, ...]
    """Of conventional commits; the usual one first."""
    next: str
    """The role that comes after it."""
    judge: Judge
    stops: frozenset[Say] = frozenset()
    """The verdicts with which it may end a step without an edit."""
    objections: tuple[tuple[PathClass, Objection], ...] = ()
    """By class of path. It may write a class that is not named; no role writes specification."""
    only_own: bool = False
    """It writes the files that the driver names for it (`Material.own`), and no other."""
    parts: tuple[str, ...] = ()
    """What its answers state besides the edits, of `answer.PARTS`."""

    def __str__(self) -> str:
        return self.name


@value
class Team:
    """The roles of a driver, in their order."""

    driver: str
    game: str
    """The beginning of the system prompt: what they do together."""
    closing: str
    """What is said to every role after the roles' own parts."""
    roles: tuple[Role, ...]
    brief: str = "kata"
    """The roles' word for the text that describes what is to be built."""

    @property
    def says(self) -> tuple[Say, ...]:
        """The verdicts that its roles may give."""
        stops = frozenset[Say]().union(*(role.stops for role in self.roles))
        return tuple(say for say in Say if say is Say.EDIT or say in stops)

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part for role in self.roles for part in role.parts))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(role.name for role in self.roles)

    @property
    def commit_types(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(kind for role in self.roles for kind in role.commit_types))

    def role(self, name: str) -> Role:
        for role in self.roles:
            if role.name == name:
                return role
        raise HarnessError(f"{self.driver} has no role {name}", hint="`tdd log` shows who made the step")

    def after(self, role: Role) -> Role:
        return self.role(role.next)


@cache
def read_prompts(page: str) -> Mapping[str, str]:
    """The sections of a page by heading; each paragraph and each item stands on one line."""
    _, *parts = re.split(r"^## (.+)\n", (_PROMPTS / f"{page}.md").read_text("utf-8"), flags=re.MULTILINE)
    return {heading: text.strip() for heading, text in zip(parts[::2], parts[1::2], strict=True)}


def find_team(driver: str) -> Team:
    team = _SEAM.find(driver)
    if team is None:
        raise HarnessError(f"there is no driver {driver} here", hint="install the package that it comes with")
    return cast("Team", team)
