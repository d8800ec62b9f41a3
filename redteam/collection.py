"""The forms in which cheats are kept: a folder each, or texts with the sections of their files.

A text holds one cheat, `class, base` in its first line, or several, each below `=== name, class, base`. Where
`refactor` follows, the honest fix is settled first, and the cheat is tried in a refactoring after it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

BASES = "bases.txt"
DELETED = "cheat.delete"
SCRIPT = "cheat.apply.py"
HIDDEN = "hidden.json"
_HONEST = "honest:"
_TIDY = "refactor:"
"""Files of a base: the honest fix, and an honest refactoring of it."""
_SEVERAL = "=== "


@dataclass(frozen=True, slots=True)
class Cheat:
    name: str
    kind: str
    base: dict[str, bytes]
    honest: dict[str, bytes]
    cheat: dict[str, bytes]
    deleted: tuple[str, ...] = ()
    script: str = ""
    """A program that is run in the project after the cheat's files were written."""
    hidden: list[Any] = field(default_factory=list)
    """Rows `[module:function, arguments, expected]` of a held-out test."""
    tidy: dict[str, bytes] = field(default_factory=dict)
    """An honest refactoring, where the cheat is one that claims to refactor."""
    refactors: bool = False


def cheats_in(folder: Path) -> list[Cheat]:
    if (folder / BASES).exists():
        bases = dict(parts((folder / BASES).read_text(), "=== "))
        texts = [path for path in sorted(folder.glob("*.txt")) if path.name != BASES]
        return [cheat for path in texts for cheat in _written(path, bases)]
    kinds = _kinds(folder / "index.jsonl")
    return [_stored(each, kinds.get(each.name, "")) for each in sorted(folder.glob("*/"))]


def _kinds(index: Path) -> dict[str, str]:
    lines = index.read_text().splitlines() if index.exists() else []
    return {entry["dir"]: entry["cls"] for entry in map(json.loads, lines)}


def _stored(folder: Path, kind: str) -> Cheat:
    return Cheat(
        folder.name,
        kind,
        _files(folder / "base"),
        _files(folder / "honest"),
        _files(folder / "cheat"),
        tuple(_text(folder / DELETED).split()),
        _text(folder / SCRIPT),
        json.loads(_text(folder / HIDDEN) or "[]"),
    )


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def _written(path: Path, bases: dict[str, str]) -> list[Cheat]:
    text = path.read_text()
    if not text.startswith(_SEVERAL):
        head, _, files = text.partition("\n")
        return [_cheat(f"{path.stem}, {head}", files, bases)]
    return [_cheat(head, files, bases) for head, files in parts(text, _SEVERAL)]


def _cheat(head: str, text: str, bases: dict[str, str]) -> Cheat:
    name, kind, base, *how = head.split(", ")
    stands = dict(parts(bases[base], "--- "))
    hidden = json.loads(stands.pop(HIDDEN, "[]"))
    files = dict(parts(text, "--- "))
    script = files.pop(SCRIPT, "")
    deleted = files.pop(DELETED, "")
    return Cheat(
        name,
        kind,
        {p: t.encode() for p, t in stands.items() if not p.startswith((_HONEST, _TIDY))},
        _marked(stands, _HONEST),
        {p: t.encode() for p, t in files.items()},
        deleted=tuple(deleted.split()),
        script=script,
        hidden=hidden,
        tidy=_marked(stands, _TIDY),
        refactors=how == ["refactor"],
    )


def _marked(files: dict[str, str], mark: str) -> dict[str, bytes]:
    return {p.removeprefix(mark): t.encode() for p, t in files.items() if p.startswith(mark)}


def parts(text: str, opening: str) -> list[tuple[str, str]]:
    parts = f"\n{text}".split(f"\n{opening}")[1:]
    pairs = (part.partition("\n") for part in parts)
    return [(name, f"{body.rstrip()}\n" if body.strip() else "") for name, _, body in pairs]
