"""Writes a client's files and gives back what was there: its settings, and its pages for a cycle.

An event keeps the texts before and after. A file that somebody else changed since is only cleaned of ours.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from verdigris.core.errors import StorageError, UserError
from verdigris.core.events import (
    CycleFilesInstalled,
    CycleFilesRemoved,
    Event,
    GateInstalled,
    GateRemoved,
    decode,
)
from verdigris.core.value import value
from verdigris.gates.clients.hook_settings import read_settings, render
from verdigris.storage.config.file import parse
from verdigris.storage.config.template import with_key
from verdigris.storage.durable_files import read_whole, write_whole
from verdigris.storage.project import CONFIG, Project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from verdigris.gates.clients.registry import Client

    Settings = dict[str, Any]

Installed = TypeVar("Installed", GateInstalled, CycleFilesInstalled)


def last_installed(
    project: Project, client: str, installed: type[Installed], removed: type[Event]
) -> Installed | None:
    """What was written last for this client, if it was not removed since."""
    for record in project.log.records(reverse=True):
        if record.worktree != project.repo.worktree or record.data.get("client") != client:
            continue
        event = decode(record.type, record.data)
        if isinstance(event, installed):
            return event
        if isinstance(event, removed):
            return None
    return None


def _refuse_while_open(project: Project) -> None:
    """Settings are switches: they are frozen with the oracle."""
    state = project.state()
    if state.open_cycle is not None:
        hint = "end it first: `tdd cycle status` says how"
        raise UserError(f"the cycle {state.open_cycle.id} is open, and its settings are frozen.", hint=hint)
    _refuse_in_turn(project)


def _refuse_in_turn(project: Project) -> None:
    state = project.state()
    if state.turn is not None or state.refactor is not None:
        hint = "`tdd settle` first, or `tdd refactor end`"
        raise UserError(f"the {state.phase} phase is open, in which settings are frozen.", hint=hint)


@contextmanager
def report_unwritable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path} cannot be changed: {error.strerror}", hint="make it writable and try again"
        ) from error


# -- settings ---------------------------------------------------------------------------------


@value
class SettingsFile:
    name: str
    """From the worktree's root."""
    path: Path
    with_ours: Callable[[Settings], Settings]
    without_ours: Callable[[Settings], Settings]
    personal: bool = False
    """It names this machine's paths, so it is not to be committed."""


def write_settings(project: Project, client: str, files: Sequence[SettingsFile]) -> tuple[str, ...]:
    """The files that were written; none when everything was as it should be. Safe to repeat."""
    before = {file.name: text for file in files if (text := read_whole(file.path)) is not None}
    after = {file.name: render(file.with_ours(_read(file, before.get(file.name)))) for file in files}
    written = [file for file in files if before.get(file.name) != after[file.name]]
    if not written:
        return ()
    if not all(file.personal for file in written):
        _refuse_in_turn(project)
    known = last_installed(project, client, GateInstalled, GateRemoved)
    originals = _originals(known, before, files)
    excluded = _exclude(project, [f"/{file.name}" for file in files if file.personal])
    for file in written:
        _write(file.path, after[file.name])
    if known is not None:
        originals, after = {**known.before, **originals}, {**known.after, **after}
        excluded = (*known.excluded, *excluded)
    project.record(GateInstalled(client=client, before=originals, after=after, excluded=excluded))
    return tuple(file.name for file in written)


def remove_settings(project: Project, client: str, files: Sequence[SettingsFile]) -> tuple[str, ...]:
    """The files from which something was taken out; nothing that is not ours goes."""
    known = last_installed(project, client, GateInstalled, GateRemoved)
    touched = tuple(file.name for file in files if _take_out(file, known))
    for file in files:
        with suppress(OSError):
            file.path.parent.rmdir()
    if known is not None:
        _include(project, known.excluded)
        project.record(GateRemoved(client=client))
    return touched


def _read(file: SettingsFile, text: str | None) -> Settings:
    return read_settings(text, file.name)


def _originals(
    known: GateInstalled | None, before: Mapping[str, str], files: Sequence[SettingsFile]
) -> dict[str, str]:
    """The files as they were before our hooks, or without our hooks if somebody changed them since."""
    if known is None:
        return dict(before)
    found = {}
    for file in files:
        text = before.get(file.name)
        if text is not None and known.after.get(file.name) != text:
            found[file.name] = render(file.without_ours(_read(file, text)))
        elif text is not None and file.name in known.before:
            found[file.name] = known.before[file.name]
    return found


def _take_out(file: SettingsFile, known: GateInstalled | None) -> bool:
    text = read_whole(file.path)
    if text is None:
        return False
    if known is not None and known.after.get(file.name) == text:
        left = known.before.get(file.name)
    else:
        settings = _read(file, text)
        clean = file.without_ours(settings)
        if clean == settings:
            return False
        left = render(clean) if clean or (known is not None and file.name in known.before) else None
    if left is None:
        with report_unwritable(file.path):
            file.path.unlink()
    else:
        _write(file.path, left)
    return True


def _exclude(project: Project, lines: Sequence[str]) -> tuple[str, ...]:
    """Those that were not there yet."""
    path = _ignored(project)
    text = read_whole(path) or ""
    missing = tuple(line for line in lines if line not in text.splitlines())
    if missing:
        end = "" if not text or text.endswith("\n") else "\n"
        _write(path, "".join((text, end, *(f"{line}\n" for line in missing))))
    return missing


def _include(project: Project, lines: Sequence[str]) -> None:
    text = read_whole(_ignored(project)) or ""
    left = "".join(line for line in text.splitlines(keepends=True) if line.rstrip("\n") not in lines)
    if left != text:
        _write(_ignored(project), left)


def _ignored(project: Project) -> Path:
    return project.repo.common_dir / "info" / "exclude"


def _write(path: Path, text: str) -> None:
    """In place: a user's settings may be a link to a file elsewhere."""
    with report_unwritable(path):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())


# -- pages for a cycle ------------------------------------------------------------------------

SECTION, KEY, REQUIRED = "cycle", "judgement", "required"
"""A sub-agent plays the validator, so its judgement is required besides the kernel's checks."""


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
    known = last_installed(project, client.name, CycleFilesInstalled, CycleFilesRemoved)
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
    known = last_installed(project, client.name, CycleFilesInstalled, CycleFilesRemoved)
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


def _remove(root: Path, path: str) -> None:
    """Removes the file, and the folders that this empties."""
    (root / path).unlink(missing_ok=True)
    with suppress(OSError):
        for folder in (root / path).relative_to(root).parents:
            if folder.name:
                (root / folder).rmdir()
