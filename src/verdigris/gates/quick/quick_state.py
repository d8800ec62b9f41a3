"""Writes the quick state of a worktree, where the quick entry may answer from it."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ConfigError, NotARepository, StorageError
from verdigris.core.languages import manifest_names, suffixes_with_tests
from verdigris.core.paths import compile_glob
from verdigris.core.records import SCHEMA
from verdigris.storage import card
from verdigris.storage.log import light
from verdigris.storage.repository import head

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project


NO_CLIENT: Mapping[str, Any] = {"guarded": (), "home": "", "prefix": ""}


def refresh(project: Project, client: Mapping[str, Any] = NO_CLIENT) -> bool:
    """Whether there is a card now; there is none while an operation or HEAD has to be looked at first.

    `client`: the fields of the card that the client's side knows.
    """
    private, control = os.fspath(project.repo.private), os.fspath(project.repo.control)
    made = _make_card(project, control, client, card.rules_by_text(card.read(private)))
    if made is None:
        card.forget(private)
        return False
    with suppress(OSError):
        card.write(private, made)
        return True
    return False


def _make_card(
    project: Project, control: str, more: Mapping[str, Any], known: Mapping[str, card.Rule]
) -> card.QuickCard | None:
    before, refs = light.head(control), _refs(project)
    if before is None or refs is None:
        return None
    state = project.state()
    try:
        seen = head(project.repo)
    except (NotARepository, StorageError):
        return None
    settled = state.intent is None and state.ground is not None and state.configuration is not None
    if not settled or state.head is None or (state.head.on, state.head.commit) != (seen.branch, seen.commit):
        return None
    after = light.head(control)
    if after is None or light.stamp(after) != light.stamp(before) or _refs(project) != refs:
        return None
    fields = {**_fields(project, state, known), **more, "stamp": light.stamp(after), "refs": refs}
    if state.open_cycle is not None:
        # Its spec is of a class that red lets everyone write.
        spec = os.fspath(project.root / state.open_cycle.spec_path)
        fields["guarded"] = (*fields["guarded"], spec)
    return card.QuickCard(fields)


def _refs(project: Project) -> card.Refs | None:
    return card.refs(os.fspath(project.repo.git_dir), os.fspath(project.repo.common_dir))


def _fields(project: Project, state: WorktreeState, known: Mapping[str, card.Rule]) -> dict[str, Any]:
    frozen = state.turn is not None or state.refactor is not None or state.open_cycle is not None
    return {
        "root": os.fspath(project.root),
        "control": os.fspath(project.repo.control),
        "worktree": project.repo.worktree,
        "schema": SCHEMA.current,
        "phase": state.phase.value,
        "suspended": state.turn is not None and state.turn.suspended,
        "targets": _target_rule(target for claim in state.claims.values() for target in claim.targets),
        "rules": [(cls.value, known.get(regex) or _rule(regex)) for cls, regex in project.classes.rules],
        "texts": [regex for _, regex in project.classes.rules],
        "mixed": sorted(manifest_names()),
        "mixed_source": suffixes_with_tests(),
        "held_out": sorted(state.held_out),
        "config": None if frozen or state.configuration is None else state.configuration.tdd_yaml,
    }


def _target_rule(targets: Iterable[str]) -> card.Rule | None:
    """As `core.policy.reds.covers`."""
    regexes = [regex for target in targets for regex in _target(target)]
    return _rule("|".join(dict.fromkeys(regexes))) if regexes else None


def _target(target: str) -> Iterator[str]:
    if target == ".":
        yield r".*\Z"
        return
    yield re.escape(target.rstrip("/")) + r"(?:/.*)?\Z"
    with suppress(ConfigError):
        yield compile_glob(target)


def _rule(regex: str) -> card.Rule:
    """What `re.compile` gives to the engine: private, and so tied to the interpreter by the card's tag."""
    from re import _compiler, _parser  # type: ignore[attr-defined]

    parsed = _parser.parse(regex, re.DOTALL)
    flags = int(re.DOTALL | parsed.state.flags)
    return flags, [int(code) for code in _compiler._code(parsed, flags)], parsed.state.groups - 1  # noqa: SLF001
