"""Makes a commit's tree as a checkout shows it, and reads its settings and path classes.

The tree has files of submodules and of LFS, not references to them. Settings come from the commit's own
`tdd.yaml`, or are detected as `tdd init` would.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from verdigris.core.errors import ConfigError, UserError
from verdigris.core.languages import facts_of_manifest
from verdigris.core.paths import FILE, LINK, Classes, Entry
from verdigris.core.records import from_json, to_json
from verdigris.core.settings import Settings, Stack
from verdigris.core.value import replace, value
from verdigris.drivers.answer_keys import answer_key
from verdigris.drivers.audit.tree_runs.folder import AuditFolder
from verdigris.drivers.private_worktree import link_shared
from verdigris.languages.conventions import compile_classes
from verdigris.languages.registry import usual
from verdigris.setup.detection import detect
from verdigris.storage.config import load
from verdigris.storage.config.stacks import layouts
from verdigris.storage.git import null_split, users_git
from verdigris.storage.project import CONFIG, Project
from verdigris.storage.snapshots.workspace import Workspace

_LINK = "160000"
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\n")
_LONGEST = 1024
"""Bytes that a pointer of LFS has at most."""

Contents = dict[str, tuple[str, bytes | Path] | None]


def check_out(project: Project, tree: str, worktree: str) -> str:
    """Returns the tree with the files of submodules and of LFS; most have neither, and stay as they are.

    Files of submodules come from the worktree: the repository has no others.
    """
    listed = null_split(users_git(project.repo).run("ls-tree", "-r", "-l", "-z", "--full-tree", tree))
    rows = [(row.split("\t", 1)[0].split(), row.split("\t", 1)[1]) for row in listed]
    links = [path for (mode, *_), path in rows if mode == _LINK]
    contents: Contents = dict.fromkeys(links)
    lying = _files_of_submodules(project, worktree, links)
    if any(path.rpartition("/")[2] == ".gitattributes" for _, path in rows):
        small = {
            path: mode for (mode, _, _, size), path in rows if size.isdecimal() and int(size) <= _LONGEST
        }
        pointers = _find_pointers(project, tree, small)
        # LFS's own store has the content, if it was fetched.
        store = project.repo.common_dir / "lfs" / "objects"
        kept = {path: store / oid[:2] / oid[2:4] / oid for path, oid in pointers.items()}
        fetched = {path: file for path, file in kept.items() if os.path.isfile(file)}  # noqa: PTH113 - a broken link is none
        contents |= {path: (small[path] or FILE, file) for path, file in fetched.items()}
        rest = {path: oid for path, oid in pointers.items() if path not in fetched}
        lying += _same_in_worktree(project, worktree, rest)
    made = project.workspace.compose(tree, contents)
    return project.workspace.graft(made, worktree, lying) if lying else made


def _files_of_submodules(project: Project, worktree: str, links: Iterable[str]) -> list[str]:
    below = tuple(f"{path}/" for path in links)
    if not below:
        return []
    return [e.path for e in project.workspace.files(worktree) if e.path.startswith(below)]


def _find_pointers(project: Project, tree: str, small: dict[str, str]) -> dict[str, str]:
    """Returns the files that are pointers of LFS, each with the id of its content."""
    told = b"".join(
        data
        for path, data in project.workspace.read_many(
            tree, [p for p in small if p.endswith(".gitattributes")]
        ).items()
        if data is not None
    )
    if b"filter=lfs" not in told:
        return {}
    texts = project.workspace.read_many(tree, small)
    matches = {path: _POINTER.match(data) for path, data in texts.items() if data is not None}
    return {path: pointer[1].decode() for path, pointer in matches.items() if pointer is not None}


def _same_in_worktree(project: Project, worktree: str, pointers: dict[str, str]) -> list[str]:
    """Returns the pointers whose content lies in the worktree."""
    found = []
    entries = project.workspace.entries(worktree, pointers)
    with project.workspace.open_blobs() as blobs:
        for path, entry in entries.items():
            digest = hashlib.sha256()
            for piece in blobs.pieces(entry.blob):
                digest.update(piece)
            if digest.hexdigest() == pointers[path]:
                found.append(path)
    return found


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
    """Why the commit's own `tdd.yaml` is not used."""


def configure(folder: AuditFolder, workspace: Workspace, home: Path, tree: str) -> UnitConfiguration:
    """`home`: the user's worktree, whose environments every commit uses."""
    entries = workspace.files(tree)
    telling = [(e.path, e.blob if _configures(e.path) else "") for e in entries]
    key = answer_key(str(home), telling)
    known = folder.read(_KIND, key)
    if known is not None:
        return UnitConfiguration(
            from_json(Settings, known["settings"]), Classes.from_json(known["classes"]), known["note"]
        )
    found = _detect(workspace, home, entries)
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


def _detect(workspace: Workspace, home: Path, entries: Iterable[Entry]) -> UnitConfiguration:
    with tempfile.TemporaryDirectory(prefix="verdigris-audit.") as place:
        root = Path(place, "tree")
        root.mkdir()
        _export(workspace, tuple(entries), root)
        link_shared(home, root, (), ())
        note = ""
        settings = None
        if (root / CONFIG).is_file():
            try:
                settings = load(root).settings
            except ConfigError as error:
                note = f"its tdd.yaml cannot be used, so its tests were detected: {error.message}"
        if settings is None:
            settings = Settings()
            with suppress(UserError):
                settings = Settings(stacks=detect(root).stacks or (Stack(),))
        classes = compile_classes(settings, layouts(root, settings), usual)
    return UnitConfiguration(_for_audits(settings), classes, note)


def _for_audits(settings: Settings) -> Settings:
    """An audit keeps nothing loaded between runs, and runs no tool but the tests'."""
    stacks = tuple(replace(stack, check=None, verify=None, format=None) for stack in settings.stacks)
    return replace(settings, stacks=stacks, warm=False, bounds=None)


def _export(workspace: Workspace, entries: tuple[Entry, ...], root: Path) -> None:
    """Writes every name, and the contents of files that configure; in a small tree, all contents."""
    small = len(entries) <= _MANY
    wanted = [e for e in entries if e.mode != LINK and (small or _configures(e.path))]
    sizes = workspace.blob_sizes(dict.fromkeys(entry.blob for entry in wanted))
    read = {entry.path for entry in wanted if sizes.get(entry.blob, _LARGE) < _LARGE}
    with workspace.open_blobs() as blobs:
        for entry in entries:
            data = b"".join(blobs.pieces(entry.blob)) if entry.path in read else b""
            file = Path(os.fspath(root), entry.path)
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            except OSError:  # a name that this file system refuses does not matter for the settings
                continue
