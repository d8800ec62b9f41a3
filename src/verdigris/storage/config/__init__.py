"""Reads `tdd.yaml` and checks it against the tree."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from verdigris.core.errors import ConfigError, NotConfigured
from verdigris.core.settings import DriverSettings, MachineSettings, Settings, keys_of
from verdigris.core.value import value
from verdigris.storage.config.drivers import (
    SECTION,
    AnySection,
    DriverSection,
    Kind,
    find_sections,
    key_names,
    section_settings,
)
from verdigris.storage.config.file import NAME, At, parse
from verdigris.storage.config.keys import check_known, fields_given, move_old_keys
from verdigris.storage.config.stacks import read_stacks
from verdigris.storage.config.template import render
from verdigris.storage.repository import find_repository

__all__ = ["Loaded", "decode", "load", "load_driver", "load_drivers", "load_machine", "render"]


@value
class Loaded:
    settings: Settings
    digest: str
    """SHA-256 of the file's bytes."""


def load(root: Path) -> Loaded:
    """Reads the `tdd.yaml` of a worktree; the roots of its stacks must exist below it."""
    data = _read_file(root)
    if data is None:
        raise NotConfigured("Verdigris is not set up here: there is no tdd.yaml.", hint="run `tdd init`")
    settings, at = _decode(data)
    for index, stack in enumerate(settings.stacks):
        _check_folder(root, stack.root, at / "stacks" / index / "root")
    for index, path in enumerate(settings.sandbox_write):
        _check_written(root, path, at / "sandbox.write" / index)
    return Loaded(settings, hashlib.sha256(data).hexdigest())


def _read_file(root: Path) -> bytes | None:
    """None if there is no file."""
    try:
        return (root / NAME).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        what = f"{NAME}: cannot be read: {error.strerror}"
        raise ConfigError(what, hint="make it a readable file") from None


def decode(data: bytes) -> Loaded:
    """Reads settings from bytes, without checks against the tree."""
    return Loaded(_decode(data)[0], hashlib.sha256(data).hexdigest())


def _decode(data: bytes) -> tuple[Settings, At]:
    sections, document, at = _read_document(data)
    fields = fields_given(Settings, {key: said for key, said in document.items() if key != "stacks"}, at)
    for section in sections:
        section_settings(section, document, at)
    if "stacks" in document:
        fields["stacks"] = read_stacks(document["stacks"], at / "stacks")
    return Settings(**fields), at


def _read_document(data: bytes) -> tuple[tuple[AnySection, ...], dict[Any, Any], At]:
    """The document, whose keys are known, with the drivers' sections that it may have."""
    content, places = parse(data)
    document, at = move_old_keys(content), At(places)
    ours = [key.name for key in keys_of(Settings).values()]

    def leave_unknown(names: Collection[str]) -> bool:
        try:
            check_known(document, [*ours, *names], at)
        except ConfigError:
            return True
        return False

    sections = find_sections(leave_unknown)
    check_known(document, [*ours, *key_names(sections)], at)
    return sections, document, at


def _check_written(root: Path, path: str, at: At) -> None:
    """Refuses the control area, and folders that contain it, the worktree or the home."""
    opened = Path(path).expanduser().resolve()
    control = find_repository(root).control.resolve()
    held = (place for place in (control, root.resolve(), Path.home()) if place.is_relative_to(opened))
    if place := next(held, None):
        raise at.wrong(f"{path!r} holds {place}, which is not opened as a whole", "name a folder in it")
    if opened.is_relative_to(control):
        raise at.wrong(f"{path!r} is in Verdigris' own folder", "name another folder")


def _check_folder(root: Path, name: str, at: At) -> None:
    folder = root / name
    if not folder.is_dir():
        raise at.wrong(f"there is no folder {name!r}", "make it, or correct the path")
    if not folder.resolve().is_relative_to(root.resolve()):
        raise at.wrong(f"{name!r} is outside the worktree", "name a folder below it")


def load_driver(root: Path, section: DriverSection[Kind]) -> Kind:
    """A driver's settings from the `tdd.yaml` of a worktree; the defaults if there is none."""
    _, document, at = _read_document(_read_file(root) or b"")
    return section_settings(section, document, at)


def load_drivers(root: Path) -> tuple[tuple[AnySection, DriverSettings], ...]:
    """The settings of every driver that may have a section."""
    sections, document, at = _read_document(_read_file(root) or b"")
    return tuple((section, section_settings(section, document, at)) for section in sections)


def load_machine(root: Path) -> MachineSettings:
    return load_driver(root, SECTION)
