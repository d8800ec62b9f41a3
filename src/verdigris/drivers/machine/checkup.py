"""Whether every role has somebody to play it: a server that answers, a readable recording, a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import VerdigrisError
from verdigris.core.machine import HUMAN, ROLES
from verdigris.models.checking import check
from verdigris.models.providers import endpoint_of
from verdigris.models.replay import Recording
from verdigris.setup.doctor.finding import Finding, failed
from verdigris.storage.config import load_machine
from verdigris.storage.repository import find_repository

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.core.machine import MachineSettings, Player


def check_players(start: Path) -> tuple[Finding, ...]:
    """Nothing where no role is configured, or the configuration cannot be read: that is found elsewhere."""
    try:
        root = find_repository(start).root
        settings = load_machine(root)
    except VerdigrisError:
        return ()
    if not any(player.model for player in settings.roles.values()):
        return ()
    players = {role: settings.player(role) for role in ROLES}
    known: dict[Player, Finding] = {}
    for player in players.values():
        if player not in known:
            roles = ", ".join(role for role, other in players.items() if other == player)
            known[player] = _player(roles, player, settings, root)
    return tuple(known.values())


def _player(roles: str, player: Player, settings: MachineSettings, root: Path) -> Finding:
    name = f"model ({roles})"
    if not player.model:
        return failed(name, "tdd.yaml names no model", "`roles: {ROLE: {model: …}}`, see `tdd help machine`")
    if player.model == HUMAN:
        return Finding(name, "ok", "a person")
    try:
        if player.replayed is not None:
            places = Recording(root / player.replayed).places
            return Finding(name, "ok", f"a recording of {len(places)} steps: {player.replayed}")
        found = check(endpoint_of(player.model, player.served, settings.llm))
    except VerdigrisError as error:
        return failed(name, error.message, error.hint)
    return Finding(name, "ok", found.words) if found.answers else failed(name, found.words, found.hint)
