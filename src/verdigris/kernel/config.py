"""What `tdd.yaml` says: read, and checked against the tree."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from verdigris.core.errors import ConfigError, NotConfigured
from verdigris.core.globs import compile_glob
from verdigris.core.settings import Settings, Stack
from verdigris.core.value import value
from verdigris.kernel.configfile import NAME, Places, parse, wrong
from verdigris.kernel.configtext import render

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.kernel.configkeys import Document, StackKeys

__all__ = ["Loaded", "decode", "load", "render"]

_DOCS = "see docs/configuration.md for every key"
_SUPPORTED = {"language": ("python",), "runner": ("pytest",)}


@value
class Loaded:
    settings: Settings
    digest: str
    """SHA-256 of the file's bytes."""


def load(root: Path) -> Loaded:
    """Read `tdd.yaml` of a worktree; its stacks' roots must exist below it."""
    try:
        data = (root / NAME).read_bytes()
    except FileNotFoundError:
        raise NotConfigured(
            "Verdigris is not set up here: there is no tdd.yaml.", hint="run `tdd init`"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"{NAME}: cannot be read: {error.strerror}", hint="make it a readable file"
        ) from None
    settings, places = _decode(data)
    for index, stack in enumerate(settings.stacks):
        _check_folder(root, stack, places, f"stacks[{index}].root")
    return Loaded(settings, hashlib.sha256(data).hexdigest())


def decode(data: bytes) -> Loaded:
    """The same from bytes alone, without a look at the tree."""
    return Loaded(_decode(data)[0], hashlib.sha256(data).hexdigest())


def _decode(data: bytes) -> tuple[Settings, Places]:
    from verdigris.kernel.configenv import entries, plugins
    from verdigris.kernel.configkeys import document

    value, places = parse(data)
    found = document(value, places)
    _check_globs(found, places)
    settings = Settings(
        stacks=tuple(_stack(keys, index, places) for index, keys in enumerate(found.stacks)),
        red=found.red,
        claims=found.claims,
        strikes=found.strikes,
        spec=tuple(found.spec),
        oracle_include=tuple(found.oracle.include),
        timeout=found.room.timeout,
        room_env=entries(found.room.env, places),
        room_network=found.room.network,
        room_plugins=plugins(found.room.plugins, places),
        concerns=found.concerns,
        liveness=found.liveness.enabled,
        liveness_seconds=found.liveness.seconds,
        uncovered=found.uncovered,
        agents=tuple(found.agents),
    )
    _check_roots(settings, places)
    return settings, places


def _stack(keys: StackKeys, index: int, places: Places) -> Stack:
    for key, known in _SUPPORTED.items():
        value = getattr(keys, key)
        if value not in known:
            what = f"{value!r} is not supported by this version yet"
            raise wrong(places, f"stacks[{index}].{key}", what, f"use {', '.join(known)}")
    return Stack(
        root=str(PurePosixPath(keys.root)),
        language=keys.language,
        runner=keys.runner,
        python=keys.python,
        test=tuple(keys.test),
        source=tuple(keys.source),
        generated=tuple(keys.generated),
        suite=tuple(_suite(keys.suite, places, f"stacks[{index}].suite")),
        test_command=_words(keys.test_command, places, f"stacks[{index}].test_command"),
        check=keys.check,
        verify=keys.verify,
        format=keys.format,
    )


def _suite(entries: list[str], places: Places, at: str) -> Iterator[str]:
    """`-m` and its mark are one entry, also where they are written as two."""
    waiting = iter(entries)
    for entry in waiting:
        mark = next(waiting, None) if entry == "-m" else ""
        if mark is None:
            raise wrong(places, f"{at}[{len(entries) - 1}]", "a mark is missing", 'write "-m MARK"')
        yield f"{entry} {mark}" if mark else entry


def _words(value: list[str] | str, places: Places, at: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(value) if isinstance(value, str) else value)
    except ValueError as error:
        raise wrong(places, at, str(error).lower(), "close the quotation, or write a list of words") from None


def _check_globs(found: Document, places: Places) -> None:
    for at, glob in _globs(found):
        try:
            compile_glob(glob)
        except ConfigError as error:
            raise wrong(places, at, error.message, error.hint or _DOCS) from None


def _globs(found: Document) -> Iterator[tuple[str, str]]:
    lists = {"spec": found.spec, "oracle.include": found.oracle.include}
    for index, stack in enumerate(found.stacks):
        for key in ("test", "source", "generated"):
            lists[f"stacks[{index}].{key}"] = getattr(stack, key)
    for at, globs in lists.items():
        yield from ((f"{at}[{index}]", glob) for index, glob in enumerate(globs))


def _check_roots(settings: Settings, places: Places) -> None:
    seen: dict[str, int] = {}
    for index, stack in enumerate(settings.stacks):
        at = f"stacks[{index}].root"
        if stack.root.startswith("/") or ".." in stack.root.split("/") or "\0" in stack.root:
            raise wrong(places, at, f"{stack.root!r} is outside the worktree", "name a folder below it")
        first = seen.setdefault(stack.root, index)
        if first != index:
            raise wrong(
                places, at, f"{stack.root!r} is already the root of stacks[{first}]", "join the two stacks"
            )


def _check_folder(root: Path, stack: Stack, places: Places, at: str) -> None:
    folder = root / stack.root
    if not folder.is_dir():
        raise wrong(places, at, f"there is no folder {stack.root!r}", "make it, or correct the path")
    if not folder.resolve().is_relative_to(root.resolve()):
        raise wrong(places, at, f"{stack.root!r} is outside the worktree", "name a folder below it")
