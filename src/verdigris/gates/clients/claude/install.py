"""`tdd init --agent claude` and its undoing: settings merged with others, and taken out again."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.events import GateInstalled, GateRemoved, decode
from verdigris.gates.clients.claude import launchers
from verdigris.gates.clients.claude.settings import (
    LOCAL,
    SHARED,
    place_of,
    read,
    render,
    with_hooks,
    without_hooks,
)

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.storage.project import Project

CLIENT = "claude"


def install(project: Project) -> tuple[str, ...]:
    """The files that were written; none when everything was as it should be. Safe to repeat."""
    launchers.write(project.repo)
    return write_settings(project, (SHARED, LOCAL))


def write_settings(project: Project, names: tuple[str, ...]) -> tuple[str, ...]:
    before = {name: text for name in names if (text := _text(place_of(project.repo, name))) is not None}
    after = {
        name: render(with_hooks(read(before.get(name), name), _prefix_for(project, name))) for name in names
    }
    written = tuple(name for name in names if before.get(name) != after[name])
    if not written:
        return ()
    if SHARED in written:
        _refuse_while_open(project)
    known = _known(project)
    originals = _originals(known, before)
    _exclude(project)
    for name in written:
        _write(place_of(project.repo, name), after[name])
    if known is not None:
        originals, after = {**known.before, **originals}, {**known.after, **after}
    project.record(GateInstalled(client=CLIENT, before=originals, after=after))
    return written


def confine(project: Project) -> None:
    """What a fresh clone or worktree lacks, since it is nobody's to commit; the client reads it at once."""
    launchers.write(project.repo)
    write_settings(project, (LOCAL,))


def uninstall(project: Project) -> tuple[str, ...]:
    known = _known(project)
    touched = [name for name in (SHARED, LOCAL) if _take_out(project, name, known)]
    with suppress(OSError):
        (project.root / SHARED).parent.rmdir()
    launchers.remove(project.repo)
    if known is not None:
        project.record(GateRemoved(client=CLIENT))
    return tuple(touched)


def _prefix_for(project: Project, name: str) -> str | None:
    return launchers.prefix(project.repo) if name == LOCAL else None


def _refuse_while_open(project: Project) -> None:
    """Settings are switches: they are frozen with the oracle."""
    state = project.state()
    if state.turn is not None or state.refactor is not None:
        raise UserError(
            f"the {state.phase} phase is open, in which an agent's settings are frozen.",
            hint="`tdd settle` first, or `tdd refactor end`",
        )


def _known(project: Project) -> GateInstalled | None:
    """What was written last, where that was not taken out since."""
    for record in project.log.records(reverse=True):
        if record.worktree == project.repo.worktree and record.type in {"gate_installed", "gate_removed"}:
            event = decode(record.type, record.data)
            return event if isinstance(event, GateInstalled) else None
    return None


def _originals(known: GateInstalled | None, before: dict[str, str]) -> dict[str, str]:
    """As the files were before any of ours, where nobody has touched them since."""
    if known is None:
        return before
    found = {}
    for name, text in before.items():
        if known.after.get(name) != text:
            found[name] = render(without_hooks(read(text, name)))
        elif name in known.before:
            found[name] = known.before[name]
    return found


def _take_out(project: Project, name: str, known: GateInstalled | None) -> bool:
    path = place_of(project.repo, name)
    text = _text(path)
    if text is None:
        return False
    if known is not None and known.after.get(name) == text:
        left = known.before.get(name)
    else:
        settings = read(text, name)
        clean = without_hooks(settings)
        if clean == settings:
            return False
        left = render(clean) if clean or (known is not None and name in known.before) else None
    if left is None:
        with launchers.changing(path):
            path.unlink()
    else:
        _write(path, left)
    return True


def _exclude(project: Project) -> None:
    """The personal file names this machine's paths: it is not to be committed."""
    path = project.repo.common_dir / "info" / "exclude"
    text = _text(path) or ""
    if f"/{LOCAL}" not in text.splitlines():
        end = "" if not text or text.endswith("\n") else "\n"
        _write(path, f"{text}{end}/{LOCAL}\n")


def _text(path: Path) -> str | None:
    """As it is, line ends included: that is what `uninit` gives back."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path.name} cannot be read: {error}", hint="repair it, then try again") from None


def _write(path: Path, text: str) -> None:
    with launchers.changing(path):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
