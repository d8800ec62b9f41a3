"""The usual places, runner keys, scaffold and demo of JavaScript and TypeScript projects.

Also reads, from a runner's configuration, which files it loads before the tests.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdigris.core.paths import NODE_MODULES, Detected
from verdigris.core.settings import Stack
from verdigris.core.suite_health import AGAIN, Hindrance
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
from verdigris.languages.folders import PACKAGES_DEPTH, is_usable_glob, literal_glob, text_in, walk
from verdigris.languages.node.stacks import find_bare, find_stacks, manifest
from verdigris.languages.protocol import Project
from verdigris.languages.starter import (
    RequiredTool,
    Scaffolder,
    ScaffoldForm,
    Script,
    Starter,
    StarterTools,
    read_texts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.languages.findings import StackFacts
    from verdigris.languages.folders import Folder, FoundStacks
    from verdigris.languages.starter import FindPython


_SCRIPT = r"\.[cm]?[jt]sx?"
_CONFIGURED_BY = {
    "vitest": (r"vite\.config\.[^/]*",),
    "jest": (r"babel\.config\.[^/]*", r"\.babelrc[^/]*", r"\.swcrc"),
}
"""Vite's configuration contains vitest's, and jest runs what Babel compiled. For other runners these are
plain build files."""
_NAMED = {"node-test": rf"(?:.*/)?(?:test|test-[^/]*|[^/]*[-_]test){_SCRIPT}\Z"}
"""Names by which node itself finds tests; with other runners, `ab-test.ts` may be source."""

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
"""No tool installs packages among source or tests, so `node_modules` is an ordinary folder there."""
_TRANSIENT = (
    _PACKAGES,
    anywhere(r"\.(?:next|nuxt|output|svelte-kit|turbo|cache|parcel-cache|nyc_output|vite)"),
    "(?!(?:app|lib|pages)/)" + outside("src|tests?|__tests__", _BUILT),
)
"""A folder `build` inside the source is a module, not the output of a build."""
_NOT_SOURCE = (
    r"\.",
    SIDE,
    outside("src|app|lib", rf"(?:.*/)?[^/]*\.(?:config|conf){_SCRIPT}\Z"),
    r"(?:.*/)?[^/]*\.d\.[cm]?ts\Z",
    r"(?:gulpfile|Gruntfile)\.",
)
_TAKEN = frozenset({"test", "tests", "node_modules", "vitest", "typescript", "prettier", "favicon_ico"})

_TEXTS = Path(__file__).with_name("starter.txt")
"""The texts of the scaffold, and those of the demo."""
_BIN = "node_modules/.bin"
_TOOLS = {"prettier": "^3", "typescript": "^5", "vitest": "^3"}
_INSTALL = "npm install && git add package-lock.json && git commit -m 'chore: lock the tools'"
_MISSING = "install Node 20 or newer"


_RUNNER_NAMES = ("jest", "vitest", "mocha", "ava", "c8", "nyc", "babel", "imports")
"""`imports` can send the import of a test to another file; `babel` rewrites what jest runs."""
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
"""Of these tables only the runner's own packages count; other packages may change in a turn."""
_COMPILER = ("paths", "baseUrl", "rootDirs")
_JSONC = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)


def _package(text: str) -> bytes:
    document: Any = json.loads(text)
    found = {key: at(document, key) for key in _RUNNER_NAMES}
    found |= {key: only(at(document, key), _RUNNERS) for key in _DEPENDENCIES}
    found["pnpm"] = only(at(document, "pnpm", "overrides"), _RUNNERS)
    found["scripts"] = test_scripts(document)
    return canonical(found)


def _compiler(text: str) -> bytes:
    """The compiler options that decide what an import means. The file may have comments and final commas."""
    document: Any = json.loads(_JSONC.sub(lambda found: found[1] or " ", text))
    found = {key: at(document, "compilerOptions", key) for key in _COMPILER}
    return canonical({**found, "extends": at(document, "extends")})


_SETUP = re.compile(
    r"""["']?\b(?:setupFiles\w*|globalSetup|globalTeardown|snapshotSerializers|testEnvironment|runner)["']?\s*:\s*"""
    r"""(\[[^\]]*\]|["'`][^"'`\n]*["'`])"""
)
_OTHER_INCLUDES = re.compile(
    r"""["']?\b(?:coverage|typecheck|benchmark|optimizeDeps|optimizer|ssr)["']?\s*:\s*\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}"""
)
_INCLUDE = re.compile(r"""["']?\b(?:include|testMatch)["']?\s*:\s*(\[[^\]]*\]|["'`][^"'`\n]*["'`])""")
_QUOTED = re.compile(r"""["'`](?:<rootDir>/|\./)?([^"'`\n]+)["'`]""")
_CONFIG = frozenset(
    f"{name}.{end}"
    for name in ("vitest.config", "vite.config", "jest.config", "vitest.workspace")
    for end in ("ts", "mts", "cts", "js", "mjs", "cjs", "json")
) | {"package.json"}


def _configured_tests(home: Path) -> tuple[str, ...]:
    """What the configuration of a runner, in any package, takes for tests, or loads before or around them."""
    files: dict[str, None] = {}
    globs: dict[str, None] = {}
    for folder, _, names in walk(home, PACKAGES_DEPTH):
        if configured := sorted(_CONFIG & frozenset(names)):
            for text in _texts(home / folder, configured):
                named = (path for words in _SETUP.findall(text) for path in _QUOTED.findall(words))
                files |= dict.fromkeys(f"{folder}/{path}".removeprefix("./") for path in named)
                globs |= dict.fromkeys(f"{folder}/{glob}".removeprefix("./") for glob in _test_globs(text))
    loaded = (literal_glob(path) for path in files if _is_ours(home, path))
    return (*loaded, *filter(is_usable_glob, globs))


def _test_globs(text: str) -> Iterator[str]:
    """Globs of a runner's `include` that name tests: one that would take all source does not."""
    lists = _INCLUDE.findall(_OTHER_INCLUDES.sub("", text))
    given = (word for words in lists for word in _QUOTED.findall(words))
    for glob in (glob for word in given for glob in _alternatives(word)):
        name = glob.rpartition("/")[2]
        if "*" in name and name.rpartition(".")[0].strip("*?."):
            yield glob


def _alternatives(glob: str) -> Iterator[str]:
    """`a.{b,c}` as `a.b` and `a.c`."""
    found = re.search(r"\{([^{}]*)\}", glob)
    if found is None:
        yield glob
        return
    for part in found[1].split(","):
        yield from _alternatives(f"{glob[: found.start()]}{part.strip()}{glob[found.end() :]}")


def _texts(folder: Path, configured: list[str]) -> Iterator[str]:
    yield json.dumps(manifest(folder).get("jest"))
    yield text_in(folder, *(name for name in configured if name != "package.json"))


def _is_ours(home: Path, path: str) -> bool:
    return (
        not path.startswith("/")
        and ".." not in path
        and (home / path).is_file()
        and is_usable_glob(literal_glob(path))
    )


def _form(name: str, title: str) -> ScaffoldForm:
    texts = read_texts(_TEXTS)
    package = {
        "name": name,
        "version": "0.1.0",
        "private": True,
        "type": "module",
        "engines": {"node": ">=20"},
        "scripts": {"test": "vitest run", "check": "tsc", "format": "prettier --write src test"},
        "devDependencies": _TOOLS,
    }
    return ScaffoldForm(
        "package.json",
        {
            "package.json": json.dumps(package, indent=2) + "\n",
            **{path: texts[path] for path in ("tsconfig.json", "vitest.config.ts")},
            "src/index.ts": f"// {title}.\n",
            "test/smoke.test.ts": texts["test/smoke.test.ts"],
        },
        ("node_modules", "coverage/"),
    )


def _equipment(root: Path, _find_python: FindPython) -> StarterTools:
    stack = Stack(
        language="node",
        runner="vitest",
        check=f"{_BIN}/tsc",
        format=f"{_BIN}/prettier --write --log-level warn",
    )
    if (root / _BIN / "vitest").exists():
        return StarterTools(stack)
    return StarterTools(stack, (_INSTALL,) if shutil.which("npm") else (_MISSING, _INSTALL))


_NO_NODE = "install Node.js, and have `node` on PATH"
_BROKEN_NODE = "mend the installation of Node.js: `node --version` has to work"


def _script() -> Script:
    texts = read_texts(_TEXTS)
    calc, sub, tests = (texts[f"demo/{name}.js"] for name in ("calc", "sub", "tests"))
    real = tests.replace("{ add }", "{ add, sub }") + texts["demo/asked.js"]
    return Script(
        files={"package.json": texts["demo/package.json"], "src/calc.js": calc, "test/calc.test.js": tests},
        source="src/calc.js",
        tests="test/calc.test.js",
        nothing_new="test/calc.test.js::adds zero",
        asked="test/calc.test.js::subtracts",
        eager=calc + sub,
        easy=tests + texts["demo/easy.js"],
        real=real,
        stub=calc + texts["demo/stub.js"],
        weaker=real.replace("assert.equal(sub(5, 3), 2)", "assert.ok(sub(5, 3))"),
        careless=calc.replace("a + b", "a - b") + sub,
        good=calc + sub,
        needs=RequiredTool("node", "--version", _NO_NODE, _BROKEN_NODE),
    )


_NO_PACKAGE = re.compile(
    r"(?:Cannot find (?:package|module)|Failed to resolve import) ['\"]((?:@[\w.-]+/)?[A-Za-z][\w.-]*)"
)


def _find_missing_package(text: str, facts: StackFacts) -> Hindrance | None:
    """A package that `package.json` names and that is not installed."""
    described = text_in(facts.home, "package.json")
    names = (found[1] for found in _NO_PACKAGE.finditer(text))
    name = next((name for name in names if f'"{name}":' in described.replace(" ", "")), None)
    if name is None or (facts.home / "node_modules" / name).exists():
        return None
    return Hindrance(f"{name} is in package.json, and not installed", f"`{facts.install('')}`, {AGAIN}")


class NodeProject(Project):
    packages_folder = NODE_MODULES
    bare_runner = "node-test"
    """It is part of Node and needs no package."""

    def conventions(self, runner: str) -> Usual:
        return Usual(
            tests=any_of(*_TESTS, *([_NAMED[runner]] if runner in _NAMED else ())),
            runner=anywhere(*_RUNNER, *_CONFIGURED_BY.get(runner, ())),
            transient=any_of(*_TRANSIENT),
            not_source=any_of(*_NOT_SOURCE),
        )

    def configuration(self) -> tuple[str, ...]:
        return tuple(sorted(_CONFIG))

    def runner_keys(self, name: str, text: str) -> bytes:
        return _package(text) if name == "package.json" else _compiler(text)

    def layout(self, home: Path) -> Detected:
        return Detected(flat=True, tests=_configured_tests(home))

    def detect(self, root: Path, known: Sequence[Folder], *, alone: bool) -> FoundStacks:  # noqa: ARG002 - a mark is enough
        return find_stacks(root, known)

    def detect_bare(self, root: Path, known: Sequence[Folder]) -> FoundStacks:
        return find_bare(root, known)

    def find_cause(self, runner: str, kind: str, text: str, facts: StackFacts) -> Hindrance | None:  # noqa: ARG002 - its text tells
        return _find_missing_package(text, facts)

    def starter(self) -> Starter:
        return Starter(_script, Scaffolder(_TAKEN, _form, _equipment))
