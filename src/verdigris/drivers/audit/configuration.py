"""Settings and path classes of a commit: from its own `tdd.yaml`, or detected as `tdd init` would."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import ConfigError, UserError
from verdigris.core.languages import facts_of_manifest
from verdigris.core.paths import LINK, Classes
from verdigris.core.records import from_json, to_json
from verdigris.core.settings import Settings, Stack
from verdigris.core.value import replace, value
from verdigris.drivers.audit.folder import key_of
from verdigris.drivers.private_worktree import link_shared
from verdigris.languages.conventions import compile_classes
from verdigris.languages.registry import usual
from verdigris.setup.detection import detect
from verdigris.storage.config import load
from verdigris.storage.config.stacks import layouts
from verdigris.storage.project import CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.core.paths import Entry
    from verdigris.drivers.audit.folder import AuditFolder
    from verdigris.storage.snapshots.workspace import Workspace

_KIND = "configurations"
_CONFIGURING = (".toml", ".ini", ".cfg", ".json", ".yaml", ".yml", ".mod", ".lock", ".txt", ".xml")
_NAMES = frozenset(
    {"conftest.py", "setup.py", "noxfile.py", "Makefile", "Pipfile", "Gemfile", ".gitignore", ".rspec"}
)
_MANY = 3000
_LARGE = 1 << 18


@value
class UnitConfiguration:
    settings: Settings
    classes: Classes
    note: str = ""
    """Why the commit's own `tdd.yaml` was not taken."""


def configure(folder: AuditFolder, workspace: Workspace, home: Path, tree: str) -> UnitConfiguration:
    """`home`: the user's worktree, whose environments every commit finds. Nobody is asked anything."""
    entries = workspace.files(tree)
    telling = [(e.path, e.blob if _configures(e.path) else "") for e in entries]
    key = key_of(str(home), telling)
    known = folder.read(_KIND, key)
    if known is not None:
        return UnitConfiguration(
            from_json(Settings, known["settings"]), Classes.from_json(known["classes"]), known["note"]
        )
    found = _detect(workspace, home, tree, entries)
    plain = {
        "settings": to_json(found.settings),
        "classes": found.classes.to_json(),
        "note": found.note,
    }
    folder.keep(_KIND, key, plain)
    return found


def _configures(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in _NAMES or name.endswith(_CONFIGURING) or facts_of_manifest(name) is not None


def _detect(workspace: Workspace, home: Path, tree: str, entries: Iterable[Entry]) -> UnitConfiguration:
    with tempfile.TemporaryDirectory(prefix="verdigris-audit.") as place:
        root = Path(place, "tree")
        root.mkdir()
        _export(workspace, tree, tuple(entries), root)
        link_shared(home, root, (), ())
        note = ""
        settings = None
        if (root / CONFIG).is_file():
            try:
                settings = load(root).settings
            except ConfigError as error:
                note = f"its tdd.yaml cannot be used, so its tests were detected: {error.message}"
        settings = settings or _detected(root)
        classes = compile_classes(settings, layouts(root, settings), usual)
    return UnitConfiguration(_for_audits(settings), classes, note)


def _detected(root: Path) -> Settings:
    try:
        found = detect(root)
    except UserError:
        return Settings()
    return Settings(stacks=found.stacks or (Stack(),))


def _for_audits(settings: Settings) -> Settings:
    """Nothing stays loaded between runs, and no tool besides the tests' is asked."""
    stacks = tuple(replace(stack, check=None, verify=None, format=None) for stack in settings.stacks)
    return replace(settings, stacks=stacks, warm=False, bounds=None)


def _export(workspace: Workspace, tree: str, entries: tuple[Entry, ...], root: Path) -> None:
    """Every name; contents of what configures, and of all the rest too where that is little."""
    small = len(entries) <= _MANY
    wanted = [e.path for e in entries if e.mode != LINK and (small or _configures(e.path))]
    texts = workspace.read_many(tree, wanted)
    for entry in entries:
        data = texts.get(entry.path) or b""
        file = Path(os.fspath(root), entry.path)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data if len(data) <= _LARGE else b"")
        except OSError:  # a name that this file system does not take tells nothing about the project
            continue
