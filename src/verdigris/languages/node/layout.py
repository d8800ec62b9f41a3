"""Which files the configuration of a runner loads before or around the tests."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from verdigris.core.paths import Detected
from verdigris.languages.folders import PACKAGES_DEPTH, is_usable_glob, literal_glob, text_in, walk
from verdigris.languages.node.detection import manifest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SETUP = re.compile(
    r"""["']?\b(?:setupFiles\w*|globalSetup|globalTeardown|snapshotSerializers|testEnvironment|runner)["']?\s*:\s*"""
    r"""(\[[^\]]*\]|["'`][^"'`\n]*["'`])"""
)
_QUOTED = re.compile(r"""["'`](?:<rootDir>/|\./)?([^"'`\n]+)["'`]""")
_NODE_CONFIG = frozenset(
    f"{name}.{end}"
    for name in ("vitest.config", "vite.config", "jest.config", "vitest.workspace")
    for end in ("ts", "mts", "cts", "js", "mjs", "cjs", "json")
) | {"package.json"}


def layout(home: Path) -> Detected:
    return Detected(flat=True, tests=_setup_files(home))


def _setup_files(home: Path) -> tuple[str, ...]:
    """Files that a runner's configuration, also a package's own, says it loads before or around the tests."""
    found: dict[str, None] = {}
    for at, _, files in walk(home, PACKAGES_DEPTH):
        if configured := sorted(_NODE_CONFIG & frozenset(files)):
            named = (path for text in _texts(home / at, configured) for path in _named_files(text))
            found |= dict.fromkeys(f"{at}/{path}".removeprefix("./") for path in named)
    return tuple(literal_glob(path) for path in found if _is_ours(home, path))


def _texts(folder: Path, configured: list[str]) -> Iterator[str]:
    yield json.dumps(manifest(folder).get("jest"))
    yield text_in(folder, *(name for name in configured if name != "package.json"))


def _named_files(text: str) -> Iterator[str]:
    return (path for words in _SETUP.findall(text) for path in _QUOTED.findall(words))


def _is_ours(home: Path, path: str) -> bool:
    return (
        not path.startswith("/")
        and ".." not in path
        and (home / path).is_file()
        and is_usable_glob(literal_glob(path))
    )
