"""The cycle's section of `tdd.yaml`, and the file of stacks that other orchestrators read."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from verdigris.core.paths import PathClass
from verdigris.core.roles import names_of
from verdigris.core.settings import DriverSettings, Stack, key, section
from verdigris.storage.config import load_driver
from verdigris.storage.config.drivers import DriverSection
from verdigris.storage.durable_files import prepare_folder, write_whole
from verdigris.storage.project import Project

JudgementRule = Literal["optional", "required"]


@section("cycle")
class CycleSettings(DriverSettings):
    judgement: JudgementRule = "optional"
    """Whether the kernel's checks suffice for a PASS, or a person or model has to judge as well. This and the
    keys below: [cycle.md](cycle.md).
    """
    rounds: int = key(default=3, least=1)
    """How often the tests may be sent back before the cycle stops for a person."""
    attempts: int = key(default=5, least=1)
    """Attempts of one role in one stage of `tdd cycle run`."""
    plans: str = key(default=".tdd/plans", of="path")
    """The folder of the plans."""
    prompt_tokens: int = key(default=24_000, least=3000)
    """The most that a prompt may hold of spec and files."""


SECTION = DriverSection(
    "cycle",
    CycleSettings,
    roles=names_of("cycle"),
    teams=(names_of("cycle", "planner", "tester", "coder"),),
)


def load_cycle(root: Path) -> CycleSettings:
    return load_driver(root, SECTION)


PATH = ".tdd/cycle/stack.json"


def stack_document(project: Project) -> dict[str, Any]:
    """Returns the fields of the first stack, all stacks below `stacks`, and a hash of it all."""
    stacks = [_fields(project, stack) for stack in project.settings.stacks]
    document = {**stacks[0], "stacks": stacks}
    return {**document, "hash": _digest(document)}


def _fields(project: Project, stack: Stack) -> dict[str, Any]:
    root = "" if stack.root == "." else f"{stack.root}/"
    return {
        "language": stack.language,
        "test_command": " ".join((stack.runner, *stack.test_command)),
        "test_file_glob": _globs(project, root, stack.test, PathClass.TEST),
        "source_file_glob": _globs(project, root, stack.source, PathClass.SOURCE),
        "red_confirm": "red: assertion",
        "lint_command": stack.check or "",
    }


def _globs(project: Project, root: str, named: tuple[str, ...], cls: PathClass) -> str:
    """Joins the configured globs with a glob for the folder and suffix of each existing file."""
    found = {root + glob for glob in named}
    for entry in project.workspace.files(project.workspace.snapshot()):
        if entry.path.startswith(root) and project.classify(entry.path) is cls:
            folder, _, name = entry.path.rpartition("/")
            suffix = f"*.{name.rpartition('.')[2]}" if "." in name else name
            found.add(f"{folder}/{suffix}" if folder else suffix)
    return "|".join(sorted(found))


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def write_stack(project: Project) -> str:
    """Writes the file; returns a warning if somebody had edited it."""
    prepare_folder(project.root)
    path = project.root / PATH
    said = ""
    if path.is_file() and not _is_derived(path.read_text("utf-8", "replace")):
        said = f"{PATH} was edited by hand: it is derived from tdd.yaml, and was made anew"
    write_whole(path, (json.dumps(stack_document(project), indent=2) + "\n").encode())
    return said


def _is_derived(text: str) -> bool:
    try:
        found = json.loads(text)
        known = found.pop("hash")
    except (ValueError, KeyError, AttributeError):
        return False
    return bool(_digest(found) == known)
