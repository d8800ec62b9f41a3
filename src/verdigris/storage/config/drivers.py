"""The drivers' sections of `tdd.yaml`: the declaration of each, and the keys that all of them share.

A driver declares its section as a `DriverSection` named `SECTION`. The module is listed in `BUILT_IN`, or is
an entry point of another package. Nothing else in the configuration names a driver.
"""

from __future__ import annotations

import re
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Generic, Protocol, TypeAlias, TypeVar, cast
from urllib.parse import urlsplit

import msgspec

from verdigris.core.roles import names_of
from verdigris.core.settings import (
    HUMAN,
    REPLAY,
    ConcernRule,
    DriverSettings,
    MachineSettings,
    ModelSettings,
    Player,
    Prices,
    Squash,
    UncoveredRule,
)
from verdigris.core.value import value
from verdigris.storage.config.file import wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from importlib.metadata import EntryPoint

    from verdigris.storage.config.file import Places


GROUP = "verdigris.drivers"
"""Entry points of other packages: a driver's name, and the object that is its `DriverSection`."""
BUILT_IN = {
    "machine": "verdigris.storage.config.drivers",
    "cycle": "verdigris.drivers.cycle.settings",
    "loop": "verdigris.drivers.loop.settings",
    "code": "verdigris.drivers.code.settings",
}
"""The module with the `SECTION` of each driver.

The machine's is in storage, since `tdd init` reads its kata's path.
"""

_DEFAULT = DriverSettings()
_KEY_OUTSIDE = (
    "put the key into an environment variable and write that variable's name: `api_key_env: LLM_API_KEY`"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LIKE_A_KEY = re.compile(
    r"(?<![\w-])(?:(?:sk|pk|rk)-(?=[\w-]*\d)[\w-]{12,}|gh[pousr]_\w{20,}|AIza[\w-]{20,}|xox[a-z]-\S{10,}"
    r"|eyJ[\w-]{20,}\.\S+)"
)
_LONG = 20

Positive = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]
Price = Annotated[float, msgspec.Meta(ge=0)]
Keys = TypeVar("Keys", bound=msgspec.Struct)
Kind = TypeVar("Kind", bound=DriverSettings)


@value
class DriverSection(Generic[Keys, Kind]):
    driver: str
    """Its key in `tdd.yaml`."""
    keys: type[Keys]
    """The keys of the section. Each has a default."""
    settings: Callable[[Keys, DriverSettings, Places], Kind]
    """Makes the driver's settings from its section and the shared ones; raises `wrong(…)` with the place."""
    roles: tuple[str, ...]
    """The names that `roles` may have for it."""
    teams: tuple[tuple[str, ...], ...] = ()
    """Roles that work together: if one has a player, each needs one. Empty: all roles are one team."""


AnySection: TypeAlias = DriverSection[Any, Any]


class PriceKeys(msgspec.Struct, forbid_unknown_fields=True):
    input: Price
    output: Price
    cached: Price | None = None


class ServedKeys(msgspec.Struct, forbid_unknown_fields=True):
    base_url: str = ""
    api_key_env: str = ""
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    timeout: Seconds | None = None
    max_tokens: Positive | None = None
    prices: PriceKeys | None = None


class RoleKeys(ServedKeys, forbid_unknown_fields=True):
    model: str = ""


class CommitKeys(msgspec.Struct, forbid_unknown_fields=True):
    author_name: Annotated[str, msgspec.Meta(min_length=1)] = _DEFAULT.author_name
    author_email: Annotated[str, msgspec.Meta(min_length=1)] = _DEFAULT.author_email
    squash: Squash = _DEFAULT.squash


class BudgetKeys(msgspec.Struct, forbid_unknown_fields=True):
    tokens: Annotated[int, msgspec.Meta(ge=0)] = _DEFAULT.tokens


class RolesKeys(msgspec.Struct, forbid_unknown_fields=True):
    """`with_sections` adds a key for each role that a driver declares."""


class SharedKeys(Protocol):
    """The keys at the top of the document that all drivers share. Each reads the roles that it declares."""

    roles: RolesKeys
    llm: ServedKeys
    commit: CommitKeys
    budget: BudgetKeys


def built_in_sections() -> tuple[AnySection, ...]:
    return tuple(cast("AnySection", import_module(home).SECTION) for home in BUILT_IN.values())


def find_sections(unknown: Callable[[Collection[AnySection]], bool]) -> tuple[AnySection, ...]:
    """Our sections; also those of other packages, which take long to find, if ours leave a key `unknown`."""
    ours = built_in_sections()
    if not unknown(ours):
        return ours
    others = (point for point in _points() if point.name not in BUILT_IN)
    return (*ours, *(cast("AnySection", point.load()) for point in others))


def _points() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points

    return tuple(entry_points(group=GROUP))


def role_names(sections: Collection[AnySection]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(role for section in sections for role in section.roles))


def with_sections(document: type[Keys], sections: Collection[AnySection]) -> type[Keys]:
    """A document's class with the sections and their roles in it, so that one conversion checks all of it."""
    roles = msgspec.defstruct(
        "RolesKeys",
        [(role, RoleKeys, msgspec.field(default_factory=RoleKeys)) for role in role_names(sections)],
        bases=(RolesKeys,),
        forbid_unknown_fields=True,
    )
    whole = msgspec.defstruct(
        document.__name__,
        [
            ("roles", roles, msgspec.field(default_factory=roles)),
            *((one.driver, one.keys, msgspec.field(default_factory=one.keys)) for one in sections),
        ],
        bases=(document,),
        forbid_unknown_fields=True,
    )
    return cast("type[Keys]", whole)


def section_settings(section: DriverSection[Keys, Kind], found: SharedKeys, places: Places) -> Kind:
    """A driver's settings; `found` is a document `with_sections`."""
    players = {role: _player(getattr(found.roles, role), f"roles.{role}", places) for role in section.roles}
    if "\n" in found.commit.author_name or not re.fullmatch(r"[^\s<>]+", found.commit.author_email):
        raise wrong(
            places, "commit", "an author is a name and an address", "author_email: machine@example.org"
        )
    shared = DriverSettings(
        roles=players,
        llm=_make_served(found.llm, "llm", places),
        author_name=found.commit.author_name,
        author_email=found.commit.author_email,
        squash=found.commit.squash,
        tokens=found.budget.tokens,
    )
    return section.settings(getattr(found, section.driver), shared, places)


def driver_values(said: msgspec.Struct, shared: DriverSettings) -> dict[str, Any]:
    """Collects by field what all drivers share and what a driver's section says, for its own settings."""
    values = {field.name: getattr(shared, field.name) for field in fields(DriverSettings)}
    return values | msgspec.structs.asdict(said)


def check_below_root(path: str, at: str, places: Places) -> None:
    if path.startswith("/") or ".." in path.split("/") or not path.strip():
        raise wrong(places, at, f"{path!r} is no path below the worktree's root", "name one from the root")


def _player(keys: RoleKeys, at: str, places: Places) -> Player:
    for where, text in _texts(keys, at):
        if LIKE_A_KEY.search(text):
            raise wrong(places, where, "this looks like a secret key", _KEY_OUTSIDE)
    if keys.model.startswith(REPLAY) and not keys.model.removeprefix(REPLAY).strip():
        raise wrong(places, f"{at}.model", "the recording's file is missing", "write `model: replay:FILE`")
    if keys.model.strip().lower() == HUMAN:
        return Player(HUMAN)
    return Player(keys.model.strip(), _make_served(keys, at, places))


def _make_served(keys: ServedKeys, at: str, places: Places) -> ModelSettings:
    for where, text in _texts(keys, at):
        if LIKE_A_KEY.search(text):
            raise wrong(places, where, "this looks like a secret key", _KEY_OUTSIDE)
    name = keys.api_key_env
    if name and (not _VARIABLE.fullmatch(name) or _looks_secret(name)):
        raise wrong(
            places, f"{at}.api_key_env", "this is not the name of an environment variable", _KEY_OUTSIDE
        )
    _check_address(keys.base_url, f"{at}.base_url", places)
    said = keys.prices
    prices = None if said is None else Prices(said.input, said.output, said.cached)
    return ModelSettings(keys.base_url, name, keys.temperature, keys.timeout, keys.max_tokens, prices)


def _check_address(url: str, at: str, places: Places) -> None:
    if not url:
        return
    try:
        parts = urlsplit(url)
        plain = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        plain = False
    if not plain:
        raise wrong(places, at, "a server's address is expected", "write it as http://localhost:11434/v1")
    if parts.username or parts.password or parts.query:
        raise wrong(places, at, "an address must not carry a password or a key", _KEY_OUTSIDE)


def _looks_secret(name: str) -> bool:
    """Whether a name looks like a secret key: long, of lower-case letters and digits."""
    return len(name) >= _LONG and any(c.islower() for c in name) and any(c.isdigit() for c in name)


def _texts(keys: msgspec.Struct, at: str) -> Iterator[tuple[str, str]]:
    said: dict[str, Any] = msgspec.structs.asdict(keys)
    yield from ((f"{at}.{key}", text) for key, text in said.items() if isinstance(text, str))


_MACHINE = MachineSettings()


class MachineKeys(msgspec.Struct, forbid_unknown_fields=True):
    kata: str = msgspec.field(default=_MACHINE.kata, name="kata_description")
    steps: Positive = _MACHINE.steps
    attempts: Positive = msgspec.field(default=_MACHINE.attempts, name="max_attempts_per_agent")
    sandbox: bool | None = None
    refactor_files: Positive = _MACHINE.refactor_files
    refactor_lines: Positive = _MACHINE.refactor_lines
    coverage_guard: bool = _MACHINE.coverage_guard
    share: tuple[str, ...] = ()
    prompt_tokens: Annotated[int, msgspec.Meta(ge=3000)] = _MACHINE.prompt_tokens
    uncovered: UncoveredRule = _MACHINE.uncovered
    expected_literals: ConcernRule = _MACHINE.expected_literals
    tests_per_step: Positive = _MACHINE.tests_per_step
    test_seconds: Positive = _MACHINE.test_seconds


def machine_settings(said: MachineKeys, shared: DriverSettings, places: Places) -> MachineSettings:
    human = next((role for role, player in shared.roles.items() if player.human), None)
    if human is not None and said.sandbox:
        what = f"the {human} is a person, who works in the tree that they see, not in a private one"
        raise wrong(places, "machine.sandbox", what, "leave `sandbox` out, or write `sandbox: false`")
    check_below_root(said.kata, "machine.kata_description", places)
    for index, path in enumerate(said.share):
        check_below_root(path, f"machine.share[{index}]", places)
    sandbox = human is None if said.sandbox is None else said.sandbox
    return MachineSettings(**{**driver_values(said, shared), "sandbox": sandbox})


SECTION = DriverSection("machine", MachineKeys, machine_settings, names_of("machine"))
