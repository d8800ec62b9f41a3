"""The environment that the tests of a commit run in, present or built, and the key of its answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import ToolMissing, VerdigrisError
from verdigris.core.value import replace, value
from verdigris.drivers.answer_keys import key_of
from verdigris.execution.interpreter import find_interpreter
from verdigris.execution.rooms import possible
from verdigris.languages.registry import language_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.settings import Stack
    from verdigris.drivers.audit.folder import AuditFolder
    from verdigris.drivers.audit.units import Unit
    from verdigris.storage.project import Project

PRESENT = "present"
UV, LOCK = "uv", "lock"
"""Python environments alone; and those of every language that installs packages for a project."""
NO_ROOMS = "no sandbox can be made here, and an audit runs every commit's code in one"
WAYS_OUT = (
    "allow it (`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`), or use a container that may"
    " make namespaces (`docker run --privileged …`); `tdd doctor` tells what the system refuses"
)


@value
class Environment:
    key: str
    """Tells one from another; the user's own is `present-…`."""


def require_rooms(project: Project) -> None:
    if not possible(project).ok:
        raise ToolMissing(NO_ROOMS, hint=WAYS_OUT)


def present_environment(project: Project) -> Environment:
    """What is installed for the stacks, told by names and versions."""
    told = [list(_describe(project, stack)) for stack in project.settings.stacks]
    return Environment(f"{PRESENT}-{key_of(told)[:12]}")


def build_environment(
    project: Project, folder: AuditFolder, unit: Unit, env: str
) -> tuple[Project, Environment]:
    """The project whose stacks run in what was built; a UserError says why it cannot be."""
    from verdigris.drivers.audit.environment_build import BuildRequest

    stacks, keys = [], []
    lent: tuple[tuple[str, str], ...] = ()
    for stack in project.settings.stacks:
        asked = BuildRequest(project, folder, unit, stack)
        language = language_named(stack.language)
        if language.has_interpreter:
            from verdigris.drivers.audit.packages import install_python

            key, python = install_python(asked)
            stacks.append(replace(stack, python=python))
            keys.append(key)
            continue
        stacks.append(stack)
        if env == LOCK and language.packages_folder:
            from verdigris.drivers.audit.packages import install_node

            key, packages = install_node(asked)
            keys.append(key)
            lent += tuple(one for one in packages if one not in lent)
    settings = replace(project.settings, stacks=tuple(stacks))
    view = project.view and replace(project.view, lent=lent)
    named = "-".join((env, *(key[:12] for key in dict.fromkeys(keys))))
    return replace(project, settings=settings, view=view), Environment(named)


def _describe(project: Project, stack: Stack) -> Iterator[str]:
    root = project.root / stack.root
    if language_named(stack.language).has_interpreter:
        known = project.repo.private / "interpreters.json"
        try:
            found = find_interpreter(root, project.root, stack.python, os.environ, known)
        except VerdigrisError as error:
            yield error.message
            return
        yield str(found.path)
        for folder in found.places.packages if found.places else ():
            yield from sorted(_list_installed(Path(folder)))
        return
    lock = root / "node_modules" / ".package-lock.json"
    yield str(lock.stat().st_mtime_ns) if lock.is_file() else ""


def _list_installed(folder: Path) -> Iterator[str]:
    try:
        yield from (name for name in os.listdir(folder) if name.endswith((".dist-info", ".egg-info", ".pth")))  # noqa: PTH208 - only names
    except OSError:
        return
