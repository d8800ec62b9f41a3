"""Writes the files with which an agent plays a cycle, and takes them away; a user's own are left alone."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.events import CycleFilesInstalled, CycleFilesRemoved, decode
from verdigris.core.value import value
from verdigris.storage.config.file import parse
from verdigris.storage.config.template import with_key
from verdigris.storage.durable_files import read_whole, write_whole
from verdigris.storage.project import CONFIG

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from verdigris.gates.clients.registry import Client
    from verdigris.storage.project import Project

SECTION, KEY, REQUIRED = "cycle", "judgement", "required"
"""A sub-agent plays the validator, so its word is asked for besides the kernel's checks."""


@value
class CycleFiles:
    written: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """What somebody else wrote under one of these names."""
    judgement: str = REQUIRED
    """As tdd.yaml has it now."""


def check_plays(client: Client) -> None:
    if not client.cycle_files():
        raise UserError(
            f"{client.title} has no files for the cycle.",
            hint=f"`tdd init --agent {client.name}` connects it; a cycle goes by the verbs of `tdd cycle`",
        )


def install_cycle_files(project: Project, client: Client) -> CycleFiles:
    """Safe to repeat: what we wrote is brought up to date, what others wrote is kept."""
    known = _last_installed(project, client)
    wanted = {**client.cycle_files(), CONFIG: _with_judgement(project)}
    found = {path: read_whole(project.root / path) for path in wanted}
    kept = tuple(path for path in wanted if path != CONFIG and _is_theirs(path, found, wanted, known))
    written = tuple(path for path, text in wanted.items() if path not in kept and found[path] != text)
    judgement = str(parse(wanted[CONFIG].encode())[0][SECTION][KEY])
    if not written:
        return CycleFiles((), kept, judgement)
    _refuse_while_open(project)
    before = {path: text for path in written if (text := found[path]) is not None}
    after = {path: wanted[path] for path in written}
    if known is not None:
        # What was there before the first of ours is what `tdd uninit` gives back.
        ours = {path for path in written if known.after.get(path) == found[path] is not None}
        before = {**known.before, **{path: text for path, text in before.items() if path not in ours}}
        after = {**known.after, **after}
    project.record(CycleFilesInstalled(client=client.name, before=before, after=after))
    for path in written:
        write_whole(project.root / path, wanted[path].encode())
    return CycleFiles(written, kept, judgement)


def remove_cycle_files(project: Project, client: Client) -> tuple[str, ...]:
    """Those that are as they were written; a file that was changed since is the user's."""
    known = _last_installed(project, client)
    texts = {**client.cycle_files(), **(known.after if known else {})}
    touched = tuple(path for path, text in texts.items() if read_whole(project.root / path) == text)
    for path in touched:
        before = known.before.get(path) if known else None
        if before is not None:
            write_whole(project.root / path, before.encode())
        else:
            _remove(project.root, path)
    if known is not None:
        project.record(CycleFilesRemoved(client=client.name))
    return touched


def _is_theirs(
    path: str,
    found: Mapping[str, str | None],
    wanted: Mapping[str, str],
    known: CycleFilesInstalled | None,
) -> bool:
    ours = {None, wanted[path], known.after.get(path) if known else None}
    return found[path] not in ours


def _with_judgement(project: Project) -> str:
    return with_key(read_whole(project.root / CONFIG) or "", SECTION, KEY, REQUIRED)


def _last_installed(project: Project, client: Client) -> CycleFilesInstalled | None:
    for record in project.log.records(reverse=True):
        if record.worktree != project.repo.worktree or record.data.get("client") != client.name:
            continue
        match decode(record.type, record.data):
            case CycleFilesInstalled() as event:
                return event
            case CycleFilesRemoved():
                return None
    return None


def _refuse_while_open(project: Project) -> None:
    """They are switches, as tdd.yaml is: frozen with the oracle."""
    state = project.state()
    if state.open_cycle is not None:
        hint = "end it first: `tdd cycle status` says how"
        raise UserError(f"the cycle {state.open_cycle.id} is open, and its settings are frozen.", hint=hint)
    if state.turn is not None or state.refactor is not None:
        hint = "`tdd settle` first, or `tdd refactor end`"
        raise UserError(f"the {state.phase} phase is open, in which settings are frozen.", hint=hint)


def _remove(root: Path, path: str) -> None:
    """Removes the files, and the folders that this empties."""
    (root / path).unlink(missing_ok=True)
    with suppress(OSError):
        for folder in (root / path).relative_to(root).parents:
            if folder.name:
                (root / folder).rmdir()
