"""Builds the environment that a commit's own files ask for, with uv: once for all commits that ask the same.

What a project says about itself is code where it is built, so uv runs in a room that shows the commit, with
the machine's network, and writes nothing but the environment and its own cache.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ToolMissing, UserError
from verdigris.core.value import replace, value
from verdigris.drivers.audit.environment import Environment
from verdigris.drivers.audit.folder import key_of
from verdigris.execution.interpreter import find_interpreter
from verdigris.execution.process import Command, run
from verdigris.execution.room.rooms import RoomEquipment, room
from verdigris.languages.registry import language_named
from verdigris.storage.lock import hold_lock
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from verdigris.core.settings import Stack
    from verdigris.drivers.audit.folder import AuditFolder
    from verdigris.drivers.audit.units import Unit
    from verdigris.storage.project import Project

UV = "uv"
_ASKING = re.compile(
    r"(?:pyproject\.toml|setup\.(?:py|cfg)|uv\.lock|[\w.-]*requirements[\w./-]*\.(?:txt|in)|requirements/[\w.-]+\.txt)"
)
_FOR_TESTS = re.compile(r"tests?|testing|dev|develop(?:ment)?")
_READY = "ready"
_SECONDS = 900.0


@value
class Wishes:
    """What the files of a commit ask for."""

    texts: dict[str, str]
    date: str
    """Nothing newer than this day is taken."""


def find_uv() -> str:
    found = shutil.which(UV) or shutil.which(UV, path=str(Path(sys.executable).parent))
    if found is None:
        raise ToolMissing(
            "`--env uv` builds environments with uv, and there is none here",
            hint="`pip install uv`, or leave `--env` out: then the tests run in your present environment",
        )
    return found


def build_environment(project: Project, folder: AuditFolder, unit: Unit) -> tuple[Project, Environment]:
    """The project whose Python stacks run in what was built; a UserError says why it cannot be."""
    uv = find_uv()
    stacks = []
    keys = []
    for stack in project.settings.stacks:
        if not language_named(stack.language).has_interpreter:
            stacks.append(stack)
            continue
        key, python = _build(project, folder, unit, stack, uv)
        stacks.append(replace(stack, python=python))
        keys.append(key[:12])
    settings = replace(project.settings, stacks=tuple(stacks))
    return replace(project, settings=settings), Environment("-".join((UV, *dict.fromkeys(keys))))


def _build(project: Project, folder: AuditFolder, unit: Unit, stack: Stack, uv: str) -> tuple[str, str]:
    wishes = _read_wishes(project, unit, stack)
    base = find_interpreter(
        project.root / stack.root, project.root, None, os.environ, project.repo.private / "interpreters.json"
    )
    version = base.places.cache_tag if base.places else ""
    key = key_of(wishes.texts, wishes.date, version)
    place = folder.path / "environments" / key
    with hold_lock(folder.path / f"environment-{key[:12]}.lock", wait=_SECONDS):
        if not (place / _READY).is_file():
            _fill(_UvRoom(project, folder, stack, uv, place), wishes, str(base.path))
            (place / _READY).write_text(wishes.date, "ascii")
    return key, str(place / "bin" / "python")


def _read_wishes(project: Project, unit: Unit, stack: Stack) -> Wishes:
    home = "" if stack.root in {"", "."} else f"{stack.root.rstrip('/')}/"
    paths = [entry.path for entry in project.workspace.files(unit.after) if entry.path.startswith(home)]
    asking = [path for path in paths if _ASKING.fullmatch(path.removeprefix(home))]
    texts = {path.removeprefix(home): text for path, text in texts_at(project, unit.after, asking).items()}
    # The end of its month: commits of some days share what they ask alike.
    return Wishes(texts, f"{unit.commit.date[:7]}-28" if unit.commit.date else "")


class _UvRoom:
    """Runs uv where the commit's files lie."""

    def __init__(self, project: Project, folder: AuditFolder, stack: Stack, uv: str, place: Path) -> None:
        self.project = replace(project, settings=replace(project.settings, room_network="host"))
        self.cwd = project.root / stack.root
        self.uv = uv
        self.place = place
        self.cache = folder.path / "uv-cache"

    def call(self, *words: str) -> str | None:
        """None where it went well, else the last line of what it said."""
        for written in (self.place, self.cache):
            written.mkdir(parents=True, exist_ok=True)
        argv = (self.uv, *words)
        equipment = RoomEquipment(
            needed=(str(Path(self.uv).parent),), writable=(str(self.place), str(self.cache))
        )
        with room(self.project, argv, equip=equipment.of) as made:
            own = {name: text for name, text in os.environ.items() if name.startswith(("UV_", "SSL_CERT"))}
            env = {
                **made.env,
                **own,
                "UV_CACHE_DIR": str(self.cache),
                "SETUPTOOLS_SCM_PRETEND_VERSION": "0.0.0",
                "VIRTUAL_ENV": str(self.place),
            }
            done = run(Command(argv, self.cwd, env, confine=made.confine), timeout=_SECONDS)
        if done.exit_code == 0 and not done.timed_out:
            return None
        said = [line.strip() for line in done.output.decode("utf-8", "replace").splitlines() if line.strip()]
        return said[-1] if said else "uv said nothing"


def _fill(uv: _UvRoom, wishes: Wishes, python: str) -> None:
    shutil.rmtree(uv.place, ignore_errors=True)
    failed = uv.call("venv", "--quiet", "--allow-existing", "--python", python, str(uv.place))
    target = ("pip", "install", "--quiet", "--python", str(uv.place / "bin" / "python"))
    until = ("--exclude-newer", wishes.date) if wishes.date else ()
    failed = failed or uv.call(*target, *until, *list_words(wishes), "pytest")
    if failed:
        shutil.rmtree(uv.place, ignore_errors=True)
        raise UserError(
            f"its environment cannot be built: {failed}", hint="`--env` left out takes the present one"
        )
    if {"pyproject.toml", "setup.py"} & wishes.texts.keys():
        # For what it tells about itself; its modules come from the commit, so a failure does not matter.
        uv.call(*target, *until, "--no-deps", ".")


def list_words(wishes: Wishes) -> list[str]:
    """Requirements of the project and of its tests, as uv is told them."""
    words: list[str] = []
    document = _read_toml(wishes.texts.get("pyproject.toml", ""))
    table = document.get("project")
    if isinstance(table, dict):
        words += ["-r", "pyproject.toml"]
        extras = table.get("optional-dependencies")
        words += [w for name in extras or () if _FOR_TESTS.fullmatch(name) for w in ("--extra", name)]
    elif "setup.py" in wishes.texts:
        words += ["-r", "setup.py"]
    groups = document.get("dependency-groups")
    words += [w for name in groups or () if _FOR_TESTS.fullmatch(name) for w in ("--group", name)]
    for path in wishes.texts:
        stem = re.split(r"[/._-]", path)
        if path.endswith(".txt") and (path == "requirements.txt" or any(map(_FOR_TESTS.fullmatch, stem))):
            words += ["-r", path]
    return words


def _read_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
