"""Reads `tdd.yaml` and checks it against the tree."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import ConfigError, NotConfigured
from verdigris.core.languages import suffixes_of
from verdigris.core.settings import Settings
from verdigris.core.value import value
from verdigris.storage.config.drivers import SECTION, section_settings
from verdigris.storage.config.file import NAME, Places, parse, wrong
from verdigris.storage.config.keys import document, entries, plugins, sections_for, writable_paths
from verdigris.storage.config.stacks import check_glob, stack
from verdigris.storage.config.template import render
from verdigris.storage.repository import find_repository

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.settings import DriverSettings, MachineSettings
    from verdigris.storage.config.drivers import AnySection, DriverSection, Keys, Kind
    from verdigris.storage.config.keys import ConfigDocument

__all__ = ["Loaded", "decode", "load", "load_driver", "load_drivers", "load_machine", "render"]


_TAKEN_OVER = ("red", "claims", "strikes", "spec", "concerns", "uncovered", "warm", "agents")
"""Keys at the top that become settings unchanged."""


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
    settings, places = _decode(data)
    for index, one in enumerate(settings.stacks):
        _check_folder(root, one.root, places, f"stacks[{index}].root")
    for index, path in enumerate(settings.sandbox_write):
        _check_written(root, path, places, f"sandbox.write[{index}]")
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


def _decode(data: bytes) -> tuple[Settings, Places]:
    sections, found, places = _read_document(data)
    for at, glob in _globs(found):
        check_glob(glob, places, at)
    for section in sections:
        section_settings(section, found, places)
    settings = Settings(
        stacks=tuple(stack(keys, f"stacks[{index}]", places) for index, keys in enumerate(found.stacks)),
        oracle_include=found.oracle.include,
        oracle_exclude=found.oracle.exclude,
        timeout=found.room.timeout,
        test_timeout=found.room.test_timeout,
        room_env=entries(found.room.env, places),
        room_network=found.room.network,
        room_git=found.room.git,
        room_plugins=plugins(found.room.plugins, places),
        sandbox_write=writable_paths(found.sandbox.write, places),
        liveness=found.liveness.enabled,
        liveness_seconds=found.liveness.seconds,
        **{key: getattr(found, key) for key in _TAKEN_OVER},
    )
    _check_roots(settings, places)
    return settings, places


def _read_document(data: bytes) -> tuple[tuple[AnySection, ...], ConfigDocument, Places]:
    value, places = parse(data)
    sections = sections_for(value)
    return sections, document(value, sections, places), places


def _globs(found: ConfigDocument) -> Iterator[tuple[str, str]]:
    lists = {
        "spec": found.spec,
        "oracle.include": found.oracle.include,
        "oracle.exclude": found.oracle.exclude,
    }
    for index, keys in enumerate(found.stacks):
        for key in ("test", "source", "generated"):
            lists[f"stacks[{index}].{key}"] = getattr(keys, key)
    for at, globs in lists.items():
        yield from ((f"{at}[{index}]", glob) for index, glob in enumerate(globs))


def _check_roots(settings: Settings, places: Places) -> None:
    seen: dict[tuple[str, tuple[str, ...]], int] = {}
    for index, one in enumerate(settings.stacks):
        at = f"stacks[{index}].root"
        if one.root.startswith("/") or ".." in one.root.split("/") or "\0" in one.root:
            raise wrong(places, at, f"{one.root!r} is outside the worktree", "name a folder below it")
        first = seen.setdefault((one.root, suffixes_of(one.language)), index)
        if first != index:
            what = f"{one.root!r} is already the root of stacks[{first}], with files of {one.language} too"
            raise wrong(places, at, what, "join the two stacks")


def _check_written(root: Path, path: str, places: Places, at: str) -> None:
    """Refuses the control area, and folders that contain it, the worktree or the home."""
    opened = Path(path).expanduser().resolve()
    control = find_repository(root).control.resolve()
    held = (place for place in (control, root.resolve(), Path.home()) if place.is_relative_to(opened))
    if place := next(held, None):
        raise wrong(
            places, at, f"{path!r} holds {place}, which is not opened as a whole", "name a folder in it"
        )
    if opened.is_relative_to(control):
        raise wrong(places, at, f"{path!r} is in Verdigris' own folder", "name another folder")


def _check_folder(root: Path, name: str, places: Places, at: str) -> None:
    folder = root / name
    if not folder.is_dir():
        raise wrong(places, at, f"there is no folder {name!r}", "make it, or correct the path")
    if not folder.resolve().is_relative_to(root.resolve()):
        raise wrong(places, at, f"{name!r} is outside the worktree", "name a folder below it")


def load_driver(root: Path, section: DriverSection[Keys, Kind]) -> Kind:
    """A driver's settings from the `tdd.yaml` of a worktree; the defaults if there is none."""
    _, found, places = _read_document(_read_file(root) or b"")
    return section_settings(section, found, places)


def load_drivers(root: Path) -> tuple[tuple[AnySection, DriverSettings], ...]:
    """The settings of every driver that may have a section."""
    sections, found, places = _read_document(_read_file(root) or b"")
    return tuple((section, section_settings(section, found, places)) for section in sections)


def load_machine(root: Path) -> MachineSettings:
    return load_driver(root, SECTION)
