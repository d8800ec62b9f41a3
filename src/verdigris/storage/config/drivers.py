"""The drivers' sections of `tdd.yaml`, and the players of their roles.

A driver declares its keys as a class of settings, and its section as a `DriverSection` named `SECTION`. The
module is listed in `SECTIONS`, or is an entry point of another package. Nothing else here names a driver.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from verdigris.core.roles import names_of
from verdigris.core.settings import (
    HUMAN,
    REPLAY,
    DriverSettings,
    MachineSettings,
    ModelSettings,
    Player,
    keys_of,
)
from verdigris.core.value import value
from verdigris.seams import Seam
from verdigris.storage.config.file import At
from verdigris.storage.config.keys import check_known, expect, fields_given, no_secret, read

SECTIONS = Seam(
    "verdigris.drivers",
    {
        "machine": "verdigris.storage.config.drivers:SECTION",
        "cycle": "verdigris.drivers.cycle.settings:SECTION",
        "loop": "verdigris.drivers.loop.settings:SECTION",
        "code": "verdigris.drivers.code.settings:SECTION",
    },
)
"""The machine's is in storage, since `tdd init` reads its kata's path."""

Kind = TypeVar("Kind", bound=DriverSettings)


@value
class DriverSection(Generic[Kind]):
    driver: str
    """Its key in `tdd.yaml`."""
    settings: type[Kind]
    """Declares the keys of the section, each with a default."""
    roles: tuple[str, ...]
    """The names that `roles` may have for it."""
    teams: tuple[tuple[str, ...], ...] = ()
    """Roles that work together: if one has a player, each needs one. Empty: all roles are one team."""
    adapt: Callable[[dict[str, Any], At], None] | None = None
    """Changes the fields that are given, before settings are made of them; raises `at.wrong(…)`."""


AnySection: TypeAlias = DriverSection[Any]


def built_in_sections() -> tuple[AnySection, ...]:
    return tuple(map(SECTIONS.find, SECTIONS.ours))


def find_sections(unknown: Callable[[Collection[str]], bool]) -> tuple[AnySection, ...]:
    """Our sections; also those of other packages, which take long to find, if ours leave a key `unknown`."""
    ours = built_in_sections()
    return (*ours, *SECTIONS.others()) if unknown(key_names(ours)) else ours


def key_names(sections: Collection[AnySection]) -> dict[str, None]:
    """The keys of all drivers, in the order of the documentation."""
    roles = (f"roles.{role}" for section in sections for role in section.roles)
    keys = (key.name for section in sections for key in keys_of(section.settings).values())
    return dict.fromkeys((*roles, *keys))


def section_settings(section: DriverSection[Kind], document: Mapping[str, Any], at: At) -> Kind:
    """A driver's settings, from a document whose keys are known."""
    fields = fields_given(section.settings, document, at)
    players = expect(document.get("roles", {}), at / "roles", dict)
    fields["roles"] = {role: _player(players.get(role, {}), at / "roles" / role) for role in section.roles}
    address = fields.get("author_email", section.settings.author_email)
    if "\n" in fields.get("author_name", "") or not re.fullmatch(r"[^\s<>]+", address):
        raise (at / "commit").wrong("an author is a name and an address", "author_email: machine@example.org")
    if section.adapt is not None:
        section.adapt(fields, at / section.driver)
    return section.settings(**fields)


def _player(given: Any, at: At) -> Player:
    given = expect(given, at, dict)
    check_known(given, (*keys_of(ModelSettings), "model"), at)
    served = {key: said for key, said in given.items() if key != "model"}
    model = no_secret(given.get("model", ""), at / "model").strip()
    if model == REPLAY.strip():
        raise (at / "model").wrong("the recording's file is missing", "write `model: replay:FILE`")
    settings = ModelSettings(**read(ModelSettings, served, at))
    return Player(HUMAN) if model.lower() == HUMAN else Player(model, settings)


def _work_beside_people(fields: dict[str, Any], at: At) -> None:
    human = next((role for role, player in fields["roles"].items() if player.human), None)
    if human is not None and fields.get("sandbox"):
        what = f"the {human} is a person, who works in the tree that they see, not in a private one"
        raise (at / "sandbox").wrong(what, "leave `sandbox` out, or write `sandbox: false`")
    if fields.get("sandbox") is None:
        fields["sandbox"] = human is None


SECTION = DriverSection("machine", MachineSettings, names_of("machine"), adapt=_work_beside_people)
