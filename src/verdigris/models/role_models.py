"""Gives each role its model, at a server or from a recording; and checks whether the players answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ConfigError, UserError, VerdigrisError
from verdigris.core.settings import AS_USUAL, HUMAN, DriverSettings, ModelSettings, Player
from verdigris.models.providers import Endpoint, Scrubber, endpoint_of, key_variables
from verdigris.models.recording import Recorded, Recorder, Recording
from verdigris.models.remote import RemoteModel, check
from verdigris.setup.doctor_checks import DoctorFinding, failure
from verdigris.storage.config import load_drivers
from verdigris.storage.repository import find_repository

if TYPE_CHECKING:
    from verdigris.models.protocol import Model
    from verdigris.models.roles import Team
    from verdigris.storage.config.drivers import AnySection


class RoleModels(AbstractContextManager["RoleModels"]):
    """Made once a run: a wrong model or a missing recording is an error here, before anything is done."""

    def __init__(
        self,
        players: Mapping[str, Player],
        llm: ModelSettings = AS_USUAL,
        *,
        root: Path,
        record: Path | None = None,
        **remote: Any,
    ) -> None:
        """`root`: where a replay's file is looked for; `remote`: further arguments of every `Remote`."""
        served = (llm, *(player.served for player in players.values()))
        self.scrub = Scrubber(key_variables(*served), remote.get("environ"))
        """For all that is written while these models are at work."""
        replays = {role: file for role, player in players.items() if (file := player.replayed) is not None}
        if empty := [role for role, name in replays.items() if not name]:
            raise ConfigError(f"the model of the {empty[0]} is a replay of no file", hint="write replay:FILE")
        self.endpoints: Mapping[str, Endpoint] = {
            role: endpoint_of(player.model, player.served, llm)
            for role, player in players.items()
            if role not in replays
        }
        opened = {name: Recording(root / name) for name in replays.values()}
        self.recordings: Mapping[str, Recording] = {role: opened[name] for role, name in replays.items()}
        self._recorder = None if record is None else Recorder(record, self.scrub)
        self._remotes: dict[Endpoint, RemoteModel] = {}
        self._remote = remote
        self._models: dict[str, Model] = {}

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for remote in self._remotes.values():
            remote.close()

    def model(self, role: str, step: int) -> Model:
        """The same one for the whole step; of an earlier step nothing is known to it."""
        place = f"step-{step}-{role}"
        if place not in self._models:
            self._models[place] = self._make_model(role, place)
        return self._models[place]

    def _make_model(self, role: str, place: str) -> Model:
        model: Model
        if role in self.recordings:
            model = self.recordings[role].at(place)
        else:
            endpoint = self.endpoints[role]
            model = self._remotes.setdefault(endpoint, RemoteModel(endpoint, **self._remote))
        return model if self._recorder is None else Recorded(model, self._recorder, place)


def assign_models(
    team: Team,
    settings: DriverSettings,
    *,
    root: Path,
    record: Path | None,
    notice: Callable[[str], None],
    optional: Collection[str],
) -> RoleModels:
    """The models that `tdd.yaml` names for the roles; a role without a player is an error."""
    players = {role: settings.player(role) for role in team.names}
    missing = next((role for role in team.names if not players[role].model and role not in optional), None)
    if missing is not None:
        raise UserError(
            f"nobody plays the {missing}: tdd.yaml names no model for this role.",
            hint=f"roles: {{{missing}: {{model: 'ollama:NAME'}}}}; see `tdd help {team.driver}`",
        )
    models = {role: player for role, player in players.items() if player.model and not player.human}
    return RoleModels(models, settings.llm, root=root, record=record, notice=notice)


def check_players(start: Path) -> tuple[DoctorFinding, ...]:
    """Asks each player once, however many roles it has in however many drivers.

    Finds nothing if no role is configured, or the configuration cannot be read: another check reports that.
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
    """Checks that a configured player answers."""
    name = f"model ({roles})"
    if player.model == HUMAN:
        return DoctorFinding(name, "ok", "a person")
    try:
        if player.replayed is not None:
            places = Recording(root / player.replayed).places
            return DoctorFinding(name, "ok", f"a recording of {len(places)} steps: {player.replayed}")
        endpoint = endpoint_of(player.model, player.served, llm)
        check(endpoint)
    except VerdigrisError as error:
        return failure(name, error.message, error.hint)
    return DoctorFinding(name, "ok", f"{endpoint.shown} answers")
