"""The keys of `tdd.yaml`, and the values that each may have."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Annotated, Any, get_args

import msgspec

from verdigris.core.settings import (
    ClaimRule,
    ConcernRule,
    JUnitErrors,
    Network,
    RedRule,
    Settings,
    Stack,
    UncoveredRule,
)
from verdigris.storage.config.drivers import (
    BudgetKeys,
    CommitKeys,
    RolesKeys,
    ServedKeys,
    find_sections,
    role_names,
    with_sections,
)
from verdigris.storage.config.file import wrong

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from verdigris.core.errors import ConfigError
    from verdigris.storage.config.drivers import AnySection
    from verdigris.storage.config.file import Places

_DEFAULT = Settings()
_STACK = Stack()
_DOCS = "`tdd help configuration` lists every key"
_ELSEWHERE = {
    "kata_description": "it is `machine.kata_description`",
    "steps": "it is `machine.steps`",
    "max_attempts_per_agent": "it is `machine.max_attempts_per_agent`",
    "language": "it is `language` of an entry of `stacks`",
    "ci": "an entry of `stacks` has `test_command`, `check` and `format`",
    "test_cmd": "it is `test_command` of an entry of `stacks`",
    "check_cmd": "it is `check` of an entry of `stacks`",
    "fmt_cmd": "it is `format` of an entry of `stacks`",
    "api_key": "a key never stands in a file: `api_key_env` names the variable that holds it",
}
_MOVED = {("code", "prices"): ("llm", "prices")}
"""Keys that had another place in an earlier version, where they are still read."""


class JUnitKeys(msgspec.Struct, forbid_unknown_fields=True):
    preset: str = ""
    command: tuple[str, ...] | str = ()
    everything: tuple[str, ...] | str = ()
    item: str | None = None
    join: str | None = None
    escape: bool | None = None
    reports: tuple[str, ...] = ()
    pattern: str | None = None
    path: str | None = None
    source: str | None = None
    build_error: str | None = None
    errors: JUnitErrors | None = None


class StackKeys(msgspec.Struct, forbid_unknown_fields=True):
    root: str = _STACK.root
    language: str = _STACK.language
    runner: str | None = None
    """If it is missing, the usual runner of the language."""
    python: str | None = None
    test: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()
    suite: list[str] = []
    test_command: tuple[str, ...] | str = ()
    test_command_for: dict[Any, Any] = {}
    """Checked by `stacks.py`, which names the line of each entry."""
    junit: JUnitKeys | None = None
    check: str | None = None
    verify: str | None = None
    format: str | None = None


class OracleKeys(msgspec.Struct, forbid_unknown_fields=True):
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class RoomKeys(msgspec.Struct, forbid_unknown_fields=True):
    timeout: Annotated[int, msgspec.Meta(ge=1)] = _DEFAULT.timeout
    test_timeout: Annotated[int, msgspec.Meta(ge=1)] = _DEFAULT.test_timeout
    env: list[Any] | dict[Any, Any] = []
    """Checked by `entries`, which names the line of each entry."""
    network: Network = _DEFAULT.room_network
    plugins: list[str] | None = None
    git: bool = _DEFAULT.room_git


class SandboxKeys(msgspec.Struct, forbid_unknown_fields=True):
    write: list[str] = []


class LivenessKeys(msgspec.Struct, forbid_unknown_fields=True):
    enabled: bool = _DEFAULT.liveness
    seconds: Annotated[int, msgspec.Meta(ge=1)] = _DEFAULT.liveness_seconds


class ConfigDocument(msgspec.Struct, forbid_unknown_fields=True):
    """The keys that are no driver's; `with_sections` adds the drivers' sections."""

    stacks: Annotated[list[StackKeys], msgspec.Meta(min_length=1)] = msgspec.field(
        default_factory=lambda: [StackKeys()]
    )
    red: RedRule = _DEFAULT.red
    claims: ClaimRule = _DEFAULT.claims
    strikes: Annotated[int, msgspec.Meta(ge=1)] = _DEFAULT.strikes
    spec: tuple[str, ...] = ()
    oracle: OracleKeys = msgspec.field(default_factory=OracleKeys)
    room: RoomKeys = msgspec.field(default_factory=RoomKeys)
    sandbox: SandboxKeys = msgspec.field(default_factory=SandboxKeys)
    liveness: LivenessKeys = msgspec.field(default_factory=LivenessKeys)
    concerns: ConcernRule = _DEFAULT.concerns
    uncovered: UncoveredRule = _DEFAULT.uncovered
    warm: bool = _DEFAULT.warm
    agents: tuple[str, ...] = ()
    roles: RolesKeys = msgspec.field(default_factory=RolesKeys)
    llm: ServedKeys = msgspec.field(default_factory=ServedKeys)
    commit: CommitKeys = msgspec.field(default_factory=CommitKeys)
    budget: BudgetKeys = msgspec.field(default_factory=BudgetKeys)


_CHOICES = {
    "red": get_args(RedRule),
    "claims": get_args(ClaimRule),
    "concerns": get_args(ConcernRule),
    "uncovered": get_args(UncoveredRule),
    "room.network": get_args(Network),
}


def sections_for(value: dict[Any, Any]) -> tuple[AnySection, ...]:
    """The drivers' sections that this document may have."""
    own = set(ConfigDocument.__struct_encode_fields__)

    def leave_unknown(sections: Collection[AnySection]) -> bool:
        drivers = {section.driver for section in sections}
        return bool(set(value) - own - drivers or set(_mapping(value.get("roles"))) - {*role_names(sections)})

    return find_sections(leave_unknown)


def document(value: dict[Any, Any], sections: Collection[AnySection], places: Places) -> ConfigDocument:
    """The document with checked values; the first value that does not fit is an error with its place."""
    value = _move_old_keys(value)
    whole = with_sections(ConfigDocument, sections)
    _check_keys(value, whole, "", places)
    try:
        return msgspec.convert(value, whole)
    except msgspec.ValidationError as error:
        raise _misfit(str(error), places) from None


def _move_old_keys(value: dict[Any, Any]) -> dict[Any, Any]:
    """Moves values from old places of keys; a value in the new place wins."""
    for (old, key), (new, name) in _MOVED.items():
        if key in _mapping(value.get(old)):
            rest = {one: said for one, said in value[old].items() if one != key}
            value = {**value, old: rest, new: {name: value[old][key], **_mapping(value.get(new))}}
    return value


def _mapping(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _check_keys(value: Any, kind: type[msgspec.Struct], at: str, places: Places) -> None:
    """Refuses the first key that is unknown: here, or in a section below. `kind` has the known ones."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            _check_keys(_mapping(item), kind, f"{at}[{index}]", places)  # YAML may put a list into itself
        return
    below = {field.encode_name: _section_in(field.type) for field in msgspec.structs.fields(kind)}
    for key in _mapping(value):
        if key not in below:
            raise _unknown(key, tuple(below), at, places)
    for key, said in _mapping(value).items():
        if (section := below[key]) is not None:
            _check_keys(said, section, f"{at}.{key}" if at else key, places)


def _section_in(annotation: Any) -> type[msgspec.Struct] | None:
    """The struct that is the value of a key, also if it is optional or in a list."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation
    return next(filter(None, map(_section_in, get_args(annotation))), None)


def _unknown(key: Any, known: Sequence[str], at: str, places: Places) -> ConfigError:
    line = {"": places.get(f"{at}.{key}" if at else str(key), places.get(at, 1))}
    where = f"{at}: " if at else ""
    if there := _ELSEWHERE.get(str(key)):
        return wrong(line, "", f"{where}unknown key `{key}`; {there}", _DOCS)
    near = difflib.get_close_matches(str(key), known, n=1)
    guess = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(f'`{k}`' for k in known)}"
    return wrong(line, "", f"{where}unknown key `{key}`; {guess}", _DOCS)


def _as_written(at: str, places: Places) -> str:
    """The path of a key in the document: a key that moved may stand in its old place."""
    for old, new in _MOVED.items():
        if at not in places and at.startswith(".".join(new)):
            return at.replace(".".join(new), ".".join(old), 1)
    return at


def _misfit(message: str, places: Places) -> ConfigError:
    what, _, at = message.partition(" - at `")
    at = _as_written(at.removesuffix("`").removeprefix("$").removeprefix("."), places)
    choices = f"; expected one of {', '.join(_CHOICES[at])}" if at in _CHOICES else ""
    hint = "quote it: 'text'" if re.search("Expected `str.*(int|float|bool|date)", what) else _DOCS
    return wrong(places, at, what[0].lower() + what[1:] + choices, hint)


_ENV = "room.env"
_FORMS = "write NAME to hand it on, or NAME=VALUE"
_WORD = re.compile(r"[^\s\0=]+")


def entries(given: Sequence[Any] | Mapping[Any, Any], places: Places) -> tuple[str, ...]:
    """The entries `NAME` and `NAME=VALUE`; in a mapping, a name without a value means `NAME`."""
    if isinstance(given, dict):
        return tuple(_pair(name, value, places) for name, value in given.items())
    return tuple(_entry(entry, f"{_ENV}[{index}]", places) for index, entry in enumerate(given))


def plugins(given: Sequence[str] | None, places: Places) -> tuple[str, ...] | None:
    for index, name in enumerate(given or ()):
        if not _WORD.fullmatch(name):
            what = f"{name!r} is not the name of a plugin"
            raise wrong(places, f"room.plugins[{index}]", what, "write what `pytest -p` takes")
    return None if given is None else tuple(given)


def writable_paths(given: Sequence[str], places: Places) -> tuple[str, ...]:
    """Paths that an agent's shell may write."""
    for index, path in enumerate(given):
        at = f"sandbox.write[{index}]"
        if not path.startswith(("/", "~/")) or "\0" in path:
            raise wrong(places, at, f"{path!r} is no absolute path", "begin it with / or ~/")
        if {".", ".."} & set(path.split("/")) or not path.strip("~/"):
            raise wrong(places, at, f"{path!r} is too much, or not plain", "name one folder or file outright")
    return tuple(given)


def _pair(name: Any, value: Any, places: Places) -> str:
    at = f"{_ENV}.{name}"
    if not isinstance(name, str):
        raise wrong(places, at, f"{str(name)!r} is not the name of a variable", "quote it: 'text'")
    match value:
        case None:
            return _entry(name, at, places)
        case bool() | float():
            raise wrong(places, at, "its value is not text", "quote it: 'text'")
        case str() | int():
            _check_name(name, at, places)
            return _entry(f"{name}={value}", at, places)
        case _:
            raise wrong(places, at, "its value is not text", _FORMS)


def _entry(entry: Any, at: str, places: Places) -> str:
    if not isinstance(entry, str):
        raise wrong(places, at, "it is not text", _FORMS)
    if "\0" in entry:
        raise wrong(places, at, "no variable can hold a zero byte", "leave it out")
    _check_name(entry.partition("=")[0], at, places)
    return entry


def _check_name(name: str, at: str, places: Places) -> None:
    if not name:
        raise wrong(places, at, "it has no name", _FORMS)
    if not _WORD.fullmatch(name):
        raise wrong(places, at, f"{name!r} is not the name of a variable", _FORMS)
