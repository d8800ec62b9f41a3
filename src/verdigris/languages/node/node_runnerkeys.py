"""The keys of `package.json` and `tsconfig.json` by which tests are found, loaded and run."""

from __future__ import annotations

import json
import re
from typing import Any

from verdigris.languages.forms_runnerkeys import at, canonical, only, test_scripts

_TOOLS = ("jest", "vitest", "mocha", "ava", "c8", "nyc", "babel", "imports")
"""`imports` can lead what a test imports to another file; `babel` rewrites what jest runs."""
_RUNNERS = frozenset(
    (
        "vitest",
        "jest",
        "@jest/globals",
        "expect",
        "chai",
        "mocha",
        "ava",
        "ts-jest",
        "babel-jest",
        "@swc/jest",
    )
)
_DEPENDENCIES = ("dependencies", "devDependencies", "peerDependencies", "overrides", "resolutions")
"""Of these only what the runner itself is: other packages come and go while going green."""
_COMPILER = ("paths", "baseUrl", "rootDirs")
_JSONC = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)


def package(text: str) -> bytes:
    document: Any = json.loads(text)
    found = {key: at(document, key) for key in _TOOLS}
    found |= {key: only(at(document, key), _RUNNERS) for key in _DEPENDENCIES}
    found["pnpm"] = only(at(document, "pnpm", "overrides"), _RUNNERS)
    found["scripts"] = test_scripts(document)
    return canonical(found)


def compiler(text: str) -> bytes:
    """What a test's imports lead to; written with comments and trailing commas."""
    document: Any = json.loads(_JSONC.sub(lambda found: found[1] or " ", text))
    found = {key: at(document, "compilerOptions", key) for key in _COMPILER}
    return canonical({**found, "extends": at(document, "extends")})
