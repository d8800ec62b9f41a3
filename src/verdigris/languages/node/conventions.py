"""The usual places of a JavaScript or TypeScript stack, and its runner keys."""

from __future__ import annotations

import json
import re
from typing import Any

from verdigris.core.paths import NODE_MODULES
from verdigris.languages.conventions import (
    SIDE,
    Usual,
    any_of,
    anywhere,
    at,
    at_root,
    canonical,
    only,
    outside,
    test_scripts,
)

_SCRIPT = r"\.[cm]?[jt]sx?"
_CONFIGURED_BY = {
    "vitest": (r"vite\.config\.[^/]*",),
    "jest": (r"babel\.config\.[^/]*", r"\.babelrc[^/]*", r"\.swcrc"),
}
"""Vite's configuration holds vitest's, and what jest runs is what Babel made of it; beside another runner
these are plain build files."""
_NAMED = {"node-test": rf"(?:.*/)?(?:test|test-[^/]*|[^/]*[-_]test){_SCRIPT}\Z"}
"""Names by which node itself finds tests; elsewhere `ab-test.ts` may well be source."""

_TESTS = (
    at_root("e2e", "cypress", "playwright", "specs?", "testdata", "fixtures"),
    anywhere("tests?", "__tests__", "__mocks__", "__snapshots__", "__fixtures__", r"[^/]*\.snap"),
    r"(?:.*/)?[^/]*\.(?:test|spec|test-d|e2e-spec|cy)\.[^/]*\Z",
    rf"(?:.*/)?(?:setup-?[Tt]ests?|test-?(?:[Ss]etup|[Uu]tils?|[Hh]elpers?)){_SCRIPT}\Z",
)
_RUNNER = (
    r"(?:vitest|jest)[.-][^/]*",
    r"(?:playwright|cypress|ava|wdio)\.config\.[^/]*",
    r"karma\.conf\.[^/]*",
    r"\.(?:mocharc|nycrc|c8rc)[^/]*",
)
_BUILT = anywhere("dist", "build", "out", "coverage", "storybook-static")
_PACKAGES = rf"(?:(?!(?:src|app|lib|tests?|__tests__)/)[^/]+/)*{NODE_MODULES}(?:/.*)?\Z"
"""No tool installs packages among the source or the tests: there it is a folder like others."""
_TRANSIENT = (
    _PACKAGES,
    anywhere(r"\.(?:next|nuxt|output|svelte-kit|turbo|cache|parcel-cache|nyc_output|vite)"),
    "(?!(?:app|lib|pages)/)" + outside("src|tests?|__tests__", _BUILT),
)
"""A folder `build` inside the source is a module's name rather than what a build made."""
_NOT_SOURCE = (
    r"\.",
    SIDE,
    outside("src|app|lib", rf"(?:.*/)?[^/]*\.(?:config|conf){_SCRIPT}\Z"),
    r"(?:.*/)?[^/]*\.d\.[cm]?ts\Z",
    r"(?:gulpfile|Gruntfile)\.",
)


def places(runner: str) -> Usual:
    return Usual(
        tests=any_of(*_TESTS, *([_NAMED[runner]] if runner in _NAMED else ())),
        runner=anywhere(*_RUNNER, *_CONFIGURED_BY.get(runner, ())),
        transient=any_of(*_TRANSIENT),
        not_source=any_of(*_NOT_SOURCE),
    )


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
