"""Repairs the store: a new one gets every object that is whole, and the damaged one is kept in it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

from verdigris.core.value import replace, value
from verdigris.storage.git import store_git
from verdigris.storage.snapshots.workspace import draft_store, open_store

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from verdigris.storage.git import Git
    from verdigris.storage.repository import Repository


STORE, DRAFTS = "store", "store.*"
DERIVED = "listing.json"
"""The file of a worktree that says which objects the store has."""
_FIXED = ("HEAD", "config", "info/attributes")
_NAME = re.compile("[0-9a-f]+")
_HASHES = {40: "sha1", 64: "sha256"}
_BLOCK = 1 << 20


@value
class StoreRepair:
    kept: str = ""
    """Where the damaged store is, from the control area; empty if nothing was damaged."""
    damaged: int = 0
    """How many objects of it cannot be read."""


def repair_store(repo: Repository) -> StoreRepair:
    """Safe to repeat, and after a kill: what an earlier one left is a source, too."""
    store, left = repo.control / STORE, sorted(repo.control.glob(DRAFTS))
    fresh = draft_store(repo)
    try:
        damaged = _unsound(repo, store)
        if not os.path.lexists(store) or (not damaged and not left and _is_as_made(store, fresh)):
            return StoreRepair()
        for source in (store, *left):
            _take_over(repo, source, fresh)
        kept = _free_name(fresh)
        store.rename(kept)
        fresh.rename(store)
    finally:
        if fresh.exists():
            shutil.rmtree(fresh)
    for folder in left:
        shutil.rmtree(folder, ignore_errors=True)
    for file in (repo.control / "worktrees").glob(f"*/{DERIVED}"):
        file.unlink(missing_ok=True)
    return StoreRepair(f"{STORE}/{kept.name}", damaged)


def find_lost(repo: Repository, names: Collection[str]) -> frozenset[str]:
    """Those of the trees and blobs that cannot be had any more.

    What the user's repository has of them is copied first: most files of a snapshot are committed, too.
    """
    git = open_store(repo)
    lent = {**git.environment, "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(repo.common_dir / "objects")}
    git = replace(git, environment=lent)
    kinds = _kinds(git, names)
    needed = [name for name, kind in kinds.items() if kind in {"tree", "blob"}]
    lost = {name for name, kind in kinds.items() if not kind}
    parts: set[str] = set()
    for name in needed:
        listed = git.call("rev-list", "--objects", "--no-object-names", "--missing=print", name)
        found = listed.stdout.decode("ascii").split()
        if listed.code != 0 or any(part.startswith("?") for part in found):
            lost.add(name)
        parts.update(part for part in found if not part.startswith("?"))
    if absent := parts.difference(_present(repo)):
        pack = str(git.git_dir / "objects" / "pack" / "pack")
        git.run("pack-objects", "-q", pack, stdin="".join(f"{name}\n" for name in sorted(absent)).encode())
    return frozenset(lost)


def _kinds(git: Git, names: Collection[str]) -> dict[str, str]:
    """The kind of each object; empty if it is missing."""
    asked = "".join(f"{name}\n" for name in names).encode()
    said = git.run("cat-file", "--batch-check=%(objecttype)", stdin=asked).decode("ascii").splitlines()
    return {name: "" if " " in line else line for name, line in zip(names, said, strict=True)}


def _present(repo: Repository) -> frozenset[str]:
    said = open_store(repo).run("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    return frozenset(said.decode("ascii").split())


def _is_as_made(store: Path, fresh: Path) -> bool:
    try:
        return all((store / name).read_bytes() == (fresh / name).read_bytes() for name in _FIXED)
    except OSError:
        return False


def _unsound(repo: Repository, store: Path) -> int:
    """How many objects, packs and folders of objects are not what their names say."""
    if not (store / "objects").is_dir():
        return 1
    loose = sum(not is_sound(path, path.parent.name + path.name) for path in _loose(store))
    folders = sum(not path.is_dir() for path in (store / "objects").iterdir())
    packs = sum(not _is_whole(repo, store, index) for index in _packs(store))
    return loose + folders + packs


def _take_over(repo: Repository, source: Path, store: Path) -> None:
    for path in _loose(source):
        if is_sound(path, path.parent.name + path.name):
            _link(path, store / "objects" / path.parent.name / path.name)
    for pack in _packs(source):
        if _is_whole(repo, source, pack):
            for file in pack.parent.glob(f"{pack.stem}.*"):
                _link(file, store / "objects" / "pack" / file.name)
        else:
            with suppress(OSError):
                store_git(repo, store).call("unpack-objects", "-q", "-r", stdin=pack.read_bytes())


def _loose(store: Path) -> Iterator[Path]:
    return (path for path in store.glob("objects/??/*") if _NAME.fullmatch(path.parent.name + path.name))


def _packs(store: Path) -> Iterable[Path]:
    return store.glob("objects/pack/*.pack")


def _is_whole(repo: Repository, store: Path, pack: Path) -> bool:
    return store_git(repo, store).call("verify-pack", str(pack.with_suffix(".idx"))).code == 0


def is_sound(path: Path, name: str) -> bool:
    """Whether a loose object has the content that its name says, of any size."""
    unpacking = zlib.decompressobj()
    content = hashlib.new(_HASHES.get(len(name), "sha1"), usedforsecurity=False)
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                content.update(unpacking.decompress(block))
    except (OSError, zlib.error):
        return False
    return unpacking.eof and content.hexdigest() == name


def _link(path: Path, to: Path) -> None:
    to.parent.mkdir(exist_ok=True)
    with suppress(FileExistsError):
        os.link(path, to)


def _free_name(store: Path) -> Path:
    number = 1
    while (store / f"damaged-{number}").exists():
        number += 1
    return store / f"damaged-{number}"
