"""`tdd doctor`: runs every check, whatever the others found."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from verdigris.core.errors import VerdigrisError
from verdigris.core.paths import Classes
from verdigris.core.records import Actor, from_json
from verdigris.core.settings import Settings
from verdigris.core.state import State
from verdigris.execution.resident.resident import running
from verdigris.runners.protocol import Progress
from verdigris.setup.detection import detect
from verdigris.setup.doctor_checks import DoctorFinding, check_git, check_room, check_stack, failure
from verdigris.setup.initialisation import has_tests
from verdigris.setup.safeguards import check_sandbox
from verdigris.storage.config import load
from verdigris.storage.log.log import Log
from verdigris.storage.project import CONFIG, Project, open_log
from verdigris.storage.repository import Repository, find_repository, head, in_progress
from verdigris.turns.baseline import take_baseline

UNCOVERED = "write a first test; for code without tests a person may say `tdd refactor begin --uncovered`"


def examine(
    start: Path, actor: Actor, *, room: bool = False, progress: Progress | None = None
) -> tuple[DoctorFinding, ...]:
    """`room` also runs the suite, once in the room and once as the user's shell would."""
    return tuple(_examine(start, actor, room=room, progress=progress))


def _examine(start: Path, actor: Actor, *, room: bool, progress: Progress | None) -> Iterator[DoctorFinding]:
    yield check_git(start)
    yield check_sandbox()
    try:
        repo = find_repository(start)
        branch = head(repo).branch
    except VerdigrisError as error:
        yield failure("repository", error.message, error.hint)
        return
    yield _repository(repo, branch)
    yield _disk(repo)
    log = open_log(repo)
    broken = _log(log)
    yield broken or DoctorFinding("log", "ok", "log intact")
    settings, finding = _configuration(repo, None if broken else log)
    yield finding
    for stack in settings.stacks:
        yield from check_stack(repo.root, stack)
    if names := running(str(repo.private)):
        what = f"loaded for the next `tdd test`: {', '.join(names)}; `tdd off` ends that"
        yield DoctorFinding("warm", "ok", what)
    if finding.level != "fail" and broken is None:
        project = _project(repo, log, actor, settings)
        yield from _tests(project, progress) if project else ()
        yield from (check_room(project, progress),) if project and room else ()


def _repository(repo: Repository, branch: str | None) -> DoctorFinding:
    where = f"worktree {repo.worktree}, {f'branch {branch}' if branch else 'detached HEAD'}"
    if unfinished := in_progress(repo):
        fix = f"`git {unfinished} --continue` or `git {unfinished} --abort`"
        return DoctorFinding(
            "repository", "warn", f"{where}; a {unfinished} is in progress: nothing can be claimed", fix
        )
    return DoctorFinding("repository", "ok", where)


def _disk(repo: Repository) -> DoctorFinding:
    """Tries to write where the log and the store live (or will)."""
    folder = repo.control if repo.control.is_dir() else repo.common_dir
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"x")
    except OSError as error:
        what = f"{folder} cannot be written: {error.strerror}"
        return failure("disk", what, "make it writable; until then only what reads works")
    return DoctorFinding("disk", "ok", "the repository's git folder is writable")


def _log(log: Log[State]) -> DoctorFinding | None:
    """The log's first fault; None if it is intact."""
    try:
        found = log.verify()
    except VerdigrisError as error:
        return failure("log", error.message, error.hint)
    if found.whole:
        return None
    first = found.findings[0]
    return failure(
        "log",
        f"event {first.seq}: {first.kind}: {first.message} ({len(found.findings)} in all)",
        "`tdd log verify` names all; `tdd log repair --why WHY` keeps what is whole",
    )


def _configuration(repo: Repository, log: Log[State] | None) -> tuple[Settings, DoctorFinding]:
    """The settings as far as they can be read, and whether the file and the log agree."""
    recorded = log.state().of(repo.worktree).configuration if log is not None else None
    path = repo.root / CONFIG
    if not path.exists():
        if recorded is not None:
            what = "tdd.yaml is gone; the configuration recorded in the log holds"
            return from_json(Settings, recorded.settings), DoctorFinding(
                "configuration", "warn", what, "`tdd init`"
            )
        what = "Verdigris is not set up here: there is no tdd.yaml"
        return Settings(stacks=detect(repo.root).stacks), failure("configuration", what, "`tdd init`")
    try:
        settings = load(repo.root).settings
    except VerdigrisError as error:
        return Settings(stacks=()), failure("configuration", error.message, error.hint)
    if recorded is None:
        what = "tdd.yaml is there, and not recorded yet"
        return settings, DoctorFinding("configuration", "warn", what, "`tdd init` adopts it")
    if hashlib.sha256(path.read_bytes()).hexdigest() != recorded.tdd_yaml:
        what = "tdd.yaml changed since it was recorded"
        if log is not None and log.state().of(repo.worktree).turn is None:
            return settings, DoctorFinding("configuration", "ok", f"{what}; the next command takes it in")
        return settings, DoctorFinding(
            "configuration", "warn", what, "the old one holds until the turn is settled"
        )
    return settings, DoctorFinding("configuration", "ok", "tdd.yaml is as recorded")


def _project(repo: Repository, log: Log[State], actor: Actor, settings: Settings) -> Project | None:
    """Opens it with the settings of the file, so that a fix can be tried before it is recorded."""
    recorded = log.state().configuration
    if recorded is None:
        return None
    return Project(repo, log, actor, settings, Classes.from_json(recorded.classes))


def _tests(project: Project, progress: Progress | None) -> Iterator[DoctorFinding]:
    """What is known of the suite on this tree; it is run if nothing is."""
    try:
        present = has_tests(project)
        take_baseline(project, progress)
        told = project.state().suite.removeprefix("baseline: ")
    except VerdigrisError as error:
        yield failure("tests", f"the suite cannot be looked at: {error.message}", error.hint)
        return
    found = project.state().hindrance
    if found is not None and not found.stopped:
        fix = found.cure or "`tdd test` shows each file with its error"
        yield DoctorFinding("tests", "fail" if found.blocks else "warn", told, fix)
    elif present:
        yield DoctorFinding("tests", "ok", told or "there are tests")
    else:
        yield DoctorFinding("tests", "warn", f"there are no tests in {os.fspath(project.root)}", UNCOVERED)
