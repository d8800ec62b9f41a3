"""Installs the gate into Claude Code's settings, removes it, and checks for `tdd doctor` whether it works."""

from __future__ import annotations

import json
import os
import shlex
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError, UserError, VerdigrisError
from verdigris.core.events import GateInstalled, GateRemoved, decode
from verdigris.gates.agent_shell.launcher import (
    HOOK,
    arguments,
    files_of,
    hook_launcher,
    hook_program,
    import_paths,
    write_hook_commands,
    write_launcher,
)
from verdigris.gates.clients.claude.quick import NAME
from verdigris.gates.clients.claude.settings import (
    LOCAL,
    PREFIX,
    SHARED,
    commands,
    place_of,
    read_settings,
    render,
    with_hooks,
    without_hooks,
)
from verdigris.storage.durable_files import read_whole
from verdigris.storage.repository import LINKED_MAIN, MAIN, find_repository

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.setup.doctor_checks import DoctorFinding, Level
    from verdigris.storage.project import Project
    from verdigris.storage.repository import Repository


def install(project: Project) -> tuple[str, ...]:
    """The files that were written; none when everything was as it should be. Safe to repeat."""
    write(project.repo)
    return write_settings(project, (SHARED, LOCAL))


def write_settings(project: Project, names: tuple[str, ...]) -> tuple[str, ...]:
    before = {name: text for name in names if (text := read_whole(place_of(project.repo, name))) is not None}
    after = {
        name: render(with_hooks(read_settings(before.get(name), name), _prefix_for(project, name)))
        for name in names
    }
    written = tuple(name for name in names if before.get(name) != after[name])
    if not written:
        return ()
    if SHARED in written:
        _refuse_while_open(project)
    known = _last_installed(project)
    originals = _originals(known, before)
    _exclude(project)
    for name in written:
        _write(place_of(project.repo, name), after[name])
    if known is not None:
        originals, after = {**known.before, **originals}, {**known.after, **after}
    project.record(GateInstalled(client=NAME, before=originals, after=after))
    return written


def confine(project: Project) -> None:
    """What a fresh clone or worktree lacks, since it is nobody's to commit; the client reads it at once."""
    write(project.repo)
    write_settings(project, (LOCAL,))


def uninstall(project: Project) -> tuple[str, ...]:
    known = _last_installed(project)
    touched = [name for name in (SHARED, LOCAL) if _take_out(project, name, known)]
    with suppress(OSError):
        (project.root / SHARED).parent.rmdir()
    remove(project.repo)
    if known is not None:
        project.record(GateRemoved(client=NAME))
    return tuple(touched)


def _prefix_for(project: Project, name: str) -> str | None:
    return prefix(project.repo) if name == LOCAL else None


def _refuse_while_open(project: Project) -> None:
    """Settings are switches: they are frozen with the oracle."""
    state = project.state()
    if state.turn is not None or state.refactor is not None:
        raise UserError(
            f"the {state.phase} phase is open, in which an agent's settings are frozen.",
            hint="`tdd settle` first, or `tdd refactor end`",
        )


def _last_installed(project: Project) -> GateInstalled | None:
    """What was written last, where that was not taken out since."""
    for record in project.log.records(reverse=True):
        if record.worktree == project.repo.worktree and record.type in {"gate_installed", "gate_removed"}:
            event = decode(record.type, record.data)
            return event if isinstance(event, GateInstalled) else None
    return None


def _originals(known: GateInstalled | None, before: dict[str, str]) -> dict[str, str]:
    """Returns the files as they were before any of ours, where nobody has touched them since."""
    if known is None:
        return before
    found = {}
    for name, text in before.items():
        if known.after.get(name) != text:
            found[name] = render(without_hooks(read_settings(text, name)))
        elif name in known.before:
            found[name] = known.before[name]
    return found


def _take_out(project: Project, name: str, known: GateInstalled | None) -> bool:
    path = place_of(project.repo, name)
    text = read_whole(path)
    if text is None:
        return False
    if known is not None and known.after.get(name) == text:
        left = known.before.get(name)
    else:
        settings = read_settings(text, name)
        clean = without_hooks(settings)
        if clean == settings:
            return False
        left = render(clean) if clean or (known is not None and name in known.before) else None
    if left is None:
        with report_unwritable(path):
            path.unlink()
    else:
        _write(path, left)
    return True


def _exclude(project: Project) -> None:
    """The personal file names this machine's paths: it is not to be committed."""
    path = project.repo.common_dir / "info" / "exclude"
    text = read_whole(path) or ""
    if f"/{LOCAL}" not in text.splitlines():
        end = "" if not text or text.endswith("\n") else "\n"
        _write(path, f"{text}{end}/{LOCAL}\n")


def _write(path: Path, text: str) -> None:
    with report_unwritable(path):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())


SHELL = "shell"
WHICH = """\
#!/bin/sh
# The client stays in the worktree that it was started in, wherever its agent goes.
d=$(cd -P "/proc/$CLAUDE_PID/cwd" 2>/dev/null && pwd -P) n={main}
while [ -n "$d" ] && [ ! -e "$d/.git" ]; do d=${{d%/*}}; done
if [ -f "$d/.git" ]; then read -r _ g <"$d/.git"; n=${{g##*/}}; [ "$n" != {main} ] || n={linked}; fi
if [ ! -x {folder}/"$n"/shell ]; then
  [ -d {linked_ones}/"${{g##*/}}" ] && mkdir -p {folder}/"$n" && exec {entry} "$d" {folder}/"$n" {paths} "$@"
  n={main}
fi
exec {folder}/"$n"/shell "$@"
"""
"""One prefix for all worktrees: the client reads its personal settings in the main one, for each of them."""


def prefix(repo: Repository) -> str:
    """The client takes what follows the last ` -` for options, and a folder's name may hold one."""
    path = str(repo.control / SHELL)
    return f"{path} -c" if " -" in path else path


def write(repo: Repository) -> None:
    write_launcher(repo)
    write_hook_commands(repo, NAME, commands())
    _write_file(hook_launcher(repo), hook_program())
    folder = shlex.quote(str(repo.private.parent))
    entry, linked_ones = shlex.join(arguments(repo)[:-3]), shlex.quote(str(repo.common_dir / "worktrees"))
    lines = shlex.quote("\n".join(import_paths()))
    names = {"main": MAIN, "linked": LINKED_MAIN, "folder": folder, "linked_ones": linked_ones}
    _write_file(repo.control / SHELL, WHICH.format(entry=entry, paths=lines, **names))


def _write_file(path: Path, text: str) -> None:
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    with report_unwritable(path):
        fresh.write_bytes(os.fsencode(text))
        fresh.chmod(0o755)
        fresh.replace(path)


def remove(repo: Repository) -> None:
    for path in (*files_of(repo, NAME), repo.control / SHELL):
        with report_unwritable(path):
            path.unlink(missing_ok=True)


@contextmanager
def report_unwritable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path.name} cannot be changed: {error.strerror}", hint="make it writable and try again"
        ) from error


AGAIN = "`tdd init --agent claude`, then start the client anew"
SECONDS = 30.0
_CODE = 7
_ASKED = b'{"hook_event_name":"Notification"}'


def check(start: Path) -> DoctorFinding | None:
    """None where there is no repository: another finding says so."""
    try:
        repo = find_repository(start)
        shared, local = (_settings(repo, name) for name in (SHARED, LOCAL))
    except VerdigrisError as error:
        return _bad(error.message, error.hint or AGAIN) if "settings" in error.message else None
    if not _ours(shared) and not _ours(local):
        return _finding("ok", "Claude Code is not connected; `tdd init --agent claude` connects it")
    if off := _file_without_hooks(repo):
        return _bad(f"{off} says disableAllHooks: nothing stands before the agent", "take that line out")
    if with_hooks(shared) != shared or with_hooks(local, prefix(repo)) != local:
        return _finding(
            "warn", "Claude Code's hooks or shell prefix are missing or of another version", AGAIN
        )
    return _try_programs(repo)


def _try_programs(repo: Repository) -> DoctorFinding:
    """The programs that the settings lead to, called as the client calls them."""
    code, out = _call_program([str(repo.control / HOOK), NAME, "Notification"], _ASKED)
    if (code, out.strip()) != (0, b"{}"):
        return _bad(f"the hook does not answer (exit {code}), so every call is blocked", AGAIN)
    code, _ = _call_program([str(repo.control / SHELL), f"exit {_CODE}"])
    if code != _CODE:
        return _bad(f"the shell prefix does not run commands (exit {code})", AGAIN)
    return _finding("ok", "the gate is in the client's settings, its hook answers, its shell prefix works")


def _call_program(argv: Sequence[str], given: bytes = b"") -> tuple[int, bytes]:
    import subprocess  # late: every hook loads this module, and only `tdd doctor` comes here

    environment = {name: text for name, text in os.environ.items() if name != "CLAUDE_PID"}
    try:
        done = subprocess.run(
            argv, input=given, env=environment, capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return -1, b""
    return done.returncode, done.stdout


def _settings(repo: Repository, name: str) -> dict[str, object]:
    try:
        return read_settings(place_of(repo, name).read_bytes().decode(), name)
    except (OSError, UnicodeDecodeError):
        return {}


def _ours(settings: dict[str, object]) -> bool:
    return "tdd/hook" in json.dumps(settings) or PREFIX in json.dumps(settings)


def _file_without_hooks(repo: Repository) -> str:
    home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    for path in (place_of(repo, SHARED), place_of(repo, LOCAL), home / "settings.json"):
        try:
            if json.loads(path.read_bytes()).get("disableAllHooks"):
                return str(path)
        except (OSError, ValueError, AttributeError):
            continue
    return ""


def _bad(what: str, fix: str) -> DoctorFinding:
    return _finding("fail", what, fix)


def _finding(level: Level, what: str, fix: str = "") -> DoctorFinding:
    from verdigris.setup.doctor_checks import DoctorFinding  # late, as above

    return DoctorFinding(NAME, level, what, fix)
