"""The machine's keys in `tdd.yaml`: machine, roles, llm, commit, budget."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Protocol
from urllib.parse import urlsplit

import msgspec

from verdigris.core.settings import (
    HUMAN,
    REPLAY,
    ConcernRule,
    MachineSettings,
    ModelSettings,
    Player,
    Squash,
    UncoveredRule,
)
from verdigris.storage.config.file import wrong

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.storage.config.file import Places

_DEFAULT = MachineSettings()
_KEY_OUTSIDE = (
    "put the key into an environment variable and write that variable's name: `api_key_env: LLM_API_KEY`"
)
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
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LIKE_A_KEY = re.compile(
    r"(sk|pk|rk)-[\w-]{12,}|gh[pousr]_\w{20,}|AIza[\w-]{20,}|xox[a-z]-\S{10,}|eyJ[\w-]{20,}\.\S+"
)
_LONG = 20

Positive = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class MachineKeys(msgspec.Struct, forbid_unknown_fields=True):
    kata_description: str = _DEFAULT.kata
    steps: Positive = _DEFAULT.steps
    max_attempts_per_agent: Positive = _DEFAULT.attempts
    sandbox: bool | None = None
    refactor_files: Positive = _DEFAULT.refactor_files
    refactor_lines: Positive = _DEFAULT.refactor_lines
    coverage_guard: bool = _DEFAULT.coverage_guard
    share: list[str] = []
    prompt_tokens: Annotated[int, msgspec.Meta(ge=3000)] = _DEFAULT.prompt_tokens
    uncovered: UncoveredRule = _DEFAULT.uncovered
    expected_literals: ConcernRule = _DEFAULT.expected_literals
    tests_per_step: Positive = _DEFAULT.tests_per_step
    test_seconds: Positive = _DEFAULT.test_seconds


class ServedKeys(msgspec.Struct, forbid_unknown_fields=True):
    base_url: str = ""
    api_key_env: str = ""
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    timeout: Seconds | None = None
    max_tokens: Positive | None = None


class RoleKeys(ServedKeys, forbid_unknown_fields=True):
    model: str = ""


class RolesKeys(msgspec.Struct, forbid_unknown_fields=True):
    tester: RoleKeys = msgspec.field(default_factory=RoleKeys)
    implementor: RoleKeys = msgspec.field(default_factory=RoleKeys)
    refactorer: RoleKeys = msgspec.field(default_factory=RoleKeys)


ROLES = RolesKeys.__struct_fields__


class CommitKeys(msgspec.Struct, forbid_unknown_fields=True):
    author_name: Annotated[str, msgspec.Meta(min_length=1)] = _DEFAULT.author_name
    author_email: Annotated[str, msgspec.Meta(min_length=1)] = _DEFAULT.author_email
    squash: Squash = _DEFAULT.squash


class BudgetKeys(msgspec.Struct, forbid_unknown_fields=True):
    tokens: Annotated[int, msgspec.Meta(ge=0)] = _DEFAULT.tokens


SECTIONS: tuple[tuple[str, type[msgspec.Struct]], ...] = (
    ("machine", MachineKeys),
    ("roles", RolesKeys),
    *((f"roles.{role}", RoleKeys) for role in ROLES),
    ("llm", ServedKeys),
    ("commit", CommitKeys),
    ("budget", BudgetKeys),
)


def elsewhere(key: str) -> str | None:
    """Where a word that people try is to be written."""
    return _ELSEWHERE.get(key)


class Sections(Protocol):
    """The sections of the document that are the machine's."""

    machine: MachineKeys
    roles: RolesKeys
    llm: ServedKeys
    commit: CommitKeys
    budget: BudgetKeys


def machine_settings(found: Sections, places: Places) -> MachineSettings:
    players = {role: _player(getattr(found.roles, role), f"roles.{role}", places) for role in ROLES}
    human = next((role for role, player in players.items() if player.human), None)
    said = found.machine
    if human is not None and said.sandbox:
        what = f"the {human} is a person, who works in the tree that they see, not in a private one"
        raise wrong(places, "machine.sandbox", what, "leave `sandbox` out, or write `sandbox: false`")
    for index, path in enumerate((said.kata_description, *said.share)):
        at = "machine.kata_description" if index == 0 else f"machine.share[{index - 1}]"
        if path.startswith("/") or ".." in path.split("/") or not path.strip():
            raise wrong(
                places, at, f"{path!r} is no path below the worktree's root", "name one from the root"
            )
    if "\n" in found.commit.author_name or not re.fullmatch(r"[^\s<>]+", found.commit.author_email):
        raise wrong(
            places, "commit", "an author is a name and an address", "author_email: machine@example.org"
        )
    return MachineSettings(
        kata=said.kata_description,
        steps=said.steps,
        attempts=said.max_attempts_per_agent,
        sandbox=human is None if said.sandbox is None else said.sandbox,
        refactor_files=said.refactor_files,
        refactor_lines=said.refactor_lines,
        coverage_guard=said.coverage_guard,
        share=tuple(said.share),
        prompt_tokens=said.prompt_tokens,
        uncovered=said.uncovered,
        expected_literals=said.expected_literals,
        tests_per_step=said.tests_per_step,
        test_seconds=said.test_seconds,
        roles=players,
        llm=_make_served(found.llm, "llm", places),
        author_name=found.commit.author_name,
        author_email=found.commit.author_email,
        squash=found.commit.squash,
        tokens=found.budget.tokens,
    )


def _player(keys: RoleKeys, at: str, places: Places) -> Player:
    for where, text in _texts(keys, at):
        if _LIKE_A_KEY.search(text):
            raise wrong(places, where, "this looks like a secret key", _KEY_OUTSIDE)
    if keys.model.startswith(REPLAY) and not keys.model.removeprefix(REPLAY).strip():
        raise wrong(places, f"{at}.model", "the recording's file is missing", "write `model: replay:FILE`")
    if keys.model.strip().lower() == HUMAN:
        return Player(HUMAN)
    return Player(keys.model.strip(), _make_served(keys, at, places))


def _make_served(keys: ServedKeys, at: str, places: Places) -> ModelSettings:
    for where, text in _texts(keys, at):
        if _LIKE_A_KEY.search(text):
            raise wrong(places, where, "this looks like a secret key", _KEY_OUTSIDE)
    name = keys.api_key_env
    if name and (not _VARIABLE.fullmatch(name) or _opaque(name)):
        raise wrong(places, f"{at}.api_key_env", "this is no name of an environment variable", _KEY_OUTSIDE)
    _check_address(keys.base_url, f"{at}.base_url", places)
    return ModelSettings(keys.base_url, name, keys.temperature, keys.timeout, keys.max_tokens)


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


def _opaque(name: str) -> bool:
    """Long, of small letters and digits: nobody names a variable so."""
    return len(name) >= _LONG and any(c.islower() for c in name) and any(c.isdigit() for c in name)


def _texts(keys: msgspec.Struct, at: str) -> Iterator[tuple[str, str]]:
    said: dict[str, Any] = msgspec.structs.asdict(keys)
    yield from ((f"{at}.{key}", text) for key, text in said.items() if isinstance(text, str))
