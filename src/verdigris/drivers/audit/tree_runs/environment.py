"""The environment that the tests of a commit run in: the present one, or a folder that is built once.

What a project says about itself is code where it is installed, so tools run in a room that shows the commit,
with the machine's network, and write nothing but the environment and their own cache.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from verdigris.core.errors import ToolMissing, UserError, VerdigrisError
from verdigris.core.settings import Stack
from verdigris.core.value import field, replace, value
from verdigris.drivers.answer_keys import key_of
from verdigris.drivers.audit.tree_runs.folder import AuditFolder
from verdigris.drivers.audit.units import Unit
from verdigris.execution.process import Command, run
from verdigris.execution.rooms import RoomEquipment, possible, room
from verdigris.execution.tools.interpreter import find_interpreter
from verdigris.languages.registry import language_named
from verdigris.storage.lock import hold_lock
from verdigris.storage.project import Project

PRESENT = "present"
UV, LOCK = "uv", "lock"
"""`uv` builds environments for Python alone, `lock` for every language that installs packages."""
NO_ROOMS = "no sandbox can be made here, and an audit runs every commit's code in one"
WAYS_OUT = (
    "allow it (`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`), or use a container that may"
    " make namespaces (`docker run --privileged …`); `tdd doctor` tells what the system refuses"
)


def require_rooms(project: Project) -> None:
    if not possible(project).ok:
        raise ToolMissing(NO_ROOMS, hint=WAYS_OUT)


def present_environment(project: Project) -> str:
    """Returns a key of what is installed for the stacks, by names and versions."""
    installed = [list(_describe(project, stack)) for stack in project.settings.stacks]
    return f"{PRESENT}-{key_of(installed)[:12]}"


def _describe(project: Project, stack: Stack) -> Iterator[str]:
    root = project.root / stack.root
    if language_named(stack.language).project.has_interpreter:
        known = project.repo.private / "interpreters.json"
        try:
            found = find_interpreter(root, project.root, stack.python, os.environ, known, stack.runner)
        except VerdigrisError as error:
            yield error.message
            return
        yield str(found.path)
        for folder in found.places.packages if found.places else ():
            with suppress(OSError):
                names = os.listdir(folder)  # noqa: PTH208 - only names
                yield from sorted(n for n in names if n.endswith((".dist-info", ".egg-info", ".pth")))
        return
    lock = root / "node_modules" / ".package-lock.json"
    yield str(lock.stat().st_mtime_ns) if lock.is_file() else ""


SECONDS = 900.0
_READY = "ready"
_HANDED = (
    "UV_",
    "SSL_CERT",
    "NPM_CONFIG_",
    "NODE_EXTRA_CA_CERTS",
    "YARN_",
    "PNPM_",
    "HTTP_PROXY",
    "HTTPS_PROXY",
)
"""Beginnings of the variables, in capitals, by which the user reaches a registry."""


@value
class BuildRequest:
    """Asks for the packages of one stack of a commit."""

    project: Project
    """Its view shows the commit."""
    folder: AuditFolder
    unit: Unit
    stack: Stack

    @property
    def home(self) -> str:
        """The stack's folder from the root, with a `/` at its end; empty at the root."""
        root = self.stack.root
        return "" if root in {"", "."} else f"{root.rstrip('/')}/"

    def upwards(self) -> Iterator[str]:
        """Yields the stack's folder and those above it, written as `home` is."""
        folder = self.home
        while folder:
            yield folder
            above, _, _ = folder.rstrip("/").rpartition("/")
            folder = f"{above}/" if above else ""
        yield ""


@value
class InstallCall:
    """A call of a tool that installs packages, in a room that shows the commit."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    writable: tuple[Path, ...] = ()
    placed: tuple[tuple[str, str], ...] = ()


def build_once(folder: AuditFolder, key: str, fill: Callable[[Path], str | None]) -> Path:
    """Returns the folder of that key; `fill` makes its content the first time, and returns what failed."""
    place = folder.path / "environments" / key
    with hold_lock(folder.path / f"environment-{key[:12]}.lock", wait=SECONDS):
        if not (place / _READY).is_file():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            if failed := fill(place):
                shutil.rmtree(place, ignore_errors=True)
                raise UserError(
                    f"its environment cannot be built: {failed}",
                    hint="`--env` left out takes the present one",
                )
            (place / _READY).touch()
    return place


def call_tool(project: Project, call: InstallCall) -> str | None:
    """Returns None if it succeeded, else all that it printed."""
    for folder in call.writable:
        folder.mkdir(parents=True, exist_ok=True)
    networked = replace(project, settings=replace(project.settings, room_network="host"))
    equipment = RoomEquipment(
        needed=(str(Path(call.argv[0]).parent),),
        writable=tuple((str(folder), str(folder)) for folder in call.writable),
        placed=call.placed,
    )
    with room(networked, call.argv, equip=equipment.add_to) as made:
        own = {name: text for name, text in os.environ.items() if name.upper().startswith(_HANDED)}
        command = Command(call.argv, call.cwd, {**made.env, **own, **call.env}, confine=made.confine)
        done = run(command, timeout=SECONDS)
    if done.timed_out:
        return f"{Path(call.argv[0]).name} did not end within {SECONDS:.0f} s"
    said = done.output.decode("utf-8", "replace").strip()
    return None if done.exit_code == 0 else said or f"{Path(call.argv[0]).name} said nothing"
