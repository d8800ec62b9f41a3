"""Checks whether the players that `tdd.yaml` names for the roles of any driver answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import VerdigrisError
from verdigris.core.settings import HUMAN
from verdigris.models.providers import endpoint_of
from verdigris.models.recording import Recording
from verdigris.models.remote import check
from verdigris.setup.doctor_checks import DoctorFinding, failure
from verdigris.storage.config import load_drivers
from verdigris.storage.repository import find_repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.core.settings import DriverSettings, ModelSettings, Player
    from verdigris.storage.config.drivers import AnySection


def check_players(start: Path) -> tuple[DoctorFinding, ...]:
    """Each player is asked once, whichever roles it has, in whichever drivers.

    Nothing where no role is configured, or the configuration cannot be read: that is found elsewhere.
    """
    try:
        root = find_repository(start).root
        drivers = load_drivers(root)
    except VerdigrisError:
        return ()
    roles: dict[Player, list[str]] = {}
    missing: list[DoctorFinding] = []
    for section, settings in drivers:
        for role, player in settings.roles.items():
            if player.model and role not in roles.setdefault(player, []):
                roles[player].append(role)
        missing += _find_missing(section, settings)
    llm = drivers[0][1].llm
    return (*(check_player(", ".join(roles[player]), player, llm, root) for player in roles), *missing)


def _find_missing(section: AnySection, settings: DriverSettings) -> Iterator[DoctorFinding]:
    """A role without a player, where others that it works with have one."""
    for team in section.teams or (tuple(section.roles),):
        lacking = [role for role in team if not settings.player(role).model]
        if lacking and len(lacking) < len(team):
            fix = f"`roles: {{{lacking[0]}: {{model: …}}}}`, see `tdd help {section.driver}`"
            yield failure(f"model ({', '.join(lacking)})", "tdd.yaml names no model", fix)


def check_player(roles: str, player: Player, llm: ModelSettings, root: Path) -> DoctorFinding:
    """Whether whoever is configured answers."""
    name = f"model ({roles})"
    if player.model == HUMAN:
        return DoctorFinding(name, "ok", "a person")
    try:
        if player.replayed is not None:
            places = Recording(root / player.replayed).places
            return DoctorFinding(name, "ok", f"a recording of {len(places)} steps: {player.replayed}")
        found = check(endpoint_of(player.model, player.served, llm))
    except VerdigrisError as error:
        return failure(name, error.message, error.hint)
    return DoctorFinding(name, "ok", found.words) if found.answers else failure(name, found.words, found.hint)
