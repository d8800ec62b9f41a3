"""Finds the stacks of a Python project, where they keep source and tests, and the keys of its runner."""

from __future__ import annotations

import posixpath
import re
import tomllib
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING

from verdigris.core.paths import ENVIRONMENT_PARTS, FILLED, NODE_MODULES, Detected, PathClass, classify
from verdigris.core.settings import Settings, Stack
from verdigris.languages.conventions import (
    SIDE,
    Usual,
    any_of,
    anywhere,
    at,
    at_root,
    canonical,
    compile_classes,
)
from verdigris.languages.folders import (
    FoundStacks,
    folders_with,
    holds_suffix,
    is_environment,
    is_usable_glob,
    literal_glob,
    outermost_of,
    text_in,
    walk,
)
from verdigris.languages.protocol import Project
from verdigris.languages.python.manifests import CONFIG_FILES, PytestConfig, read_pytest_config, settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from verdigris.core.suite_health import Hindrance
    from verdigris.languages.findings import StackFacts
    from verdigris.languages.folders import Folder
    from verdigris.languages.starter import Starter


_TEST_FOLDERS = at_root("[Tt]ests?", "[^/]*[_-]tests", "tests[_-][^/]*", "testdata", "test_data", "goldens?")
_TEST_FILES = r"(?:.*/)?(?:test_[^/]*|[^/]*_test)\.py\Z"

_PARTS = "|".join(map(re.escape, ENVIRONMENT_PARTS))

HOLDS_TESTS = re.compile(rb"^(?:async )?def test|^class \w+\(.*TestCase\b", re.MULTILINE)
"""Matches the beginning of a line at which a runner finds a test, if it collects the file."""
PLACES = Usual(
    tests=any_of(_TEST_FOLDERS, anywhere("tests", "__snapshots__")),
    test_names=_TEST_FILES,
    runner=anywhere(
        r"conftest\.py",
        r"\.?pytest\.(?:ini|toml)",
        r"\.coveragerc",
        r"[^/]*\.pth",
        r"(?:site|user)customize(?:\.[^/]*)?",
    ),
    transient=at_root(rf"\.?venv/(?:{_PARTS})", *map(re.escape, FILLED), NODE_MODULES),
    not_source=any_of(
        r"\.",
        SIDE,
        "(?:bin|build|dist|site|htmlcov)/",
        r"(?:setup|noxfile|tasks|fabfile|dodo|manage)\.py\Z",
    ),
)
"""Tests are in test folders at the stack's root, in `tests/` of any package, and in files that pytest
collects by name. The runner's files include those that an interpreter executes at its start. Installed
packages contain tests and `.pth` files of their own: the claim hashes the ones that matter."""


_KEYS = (
    ("tool", "pytest"),
    ("tool", "coverage"),
    ("project", "entry-points", "pytest11"),
    ("tool", "poetry", "plugins", "pytest11"),
)
_SECTION = re.compile(r"(?:tool:)?pytest|coverage(?::.*)?")
_ENTRY_POINTS = "options.entry_points"


def _ini_lines(text: str) -> Iterator[str]:
    """The lines of the runner's sections, separated like pytest's own reader does it.

    An indented header may belong to a value: it can begin a section here, but never end one.
    """
    section, key = "", ""
    for line in text.splitlines():
        bare = line.strip()
        if not bare or bare[0] in "#;":
            continue
        header = _header(bare)
        if header is not None and (line[0] == "[" or _SECTION.fullmatch(header)):
            section, key = header, ""
        elif not line[0].isspace():
            key = re.split(r"[=:]", bare, maxsplit=1)[0].strip()
        if _SECTION.fullmatch(section) or (section == _ENTRY_POINTS and key == "pytest11"):
            yield line.rstrip()


def _header(bare: str) -> str | None:
    line = re.split("[#;]", bare, maxsplit=1)[0].rstrip()
    return line[1:-1].strip() if line.startswith("[") and line.endswith("]") else None


_COLLECTED = ("test_*.py", "*_test.py", "conftest.py")


def _find_uncollected(home: Path, packages: Sequence[str], config: PytestConfig) -> list[str]:
    """Packages outside of every testpath: pytest runs a `test_ids.py` there only if somebody names it.

    A testpath that is a folder of tests has the class of tests already, so it contains no package.
    """
    paths = [posixpath.normpath(path) for path in config.testpaths]
    if not paths or any(path == "." or set("*?[") & set(path) for path in paths):
        return []
    searched = {path.partition("/")[0] for path in paths if not _holds_tests(home, path)}
    return [name for name in packages if name not in searched]


def _configured_tests(home: Path, config: PytestConfig) -> tuple[str, ...]:
    files = [f"**/{glob}" for glob in config.python_files if glob.removesuffix(".py").strip("*")]
    return tuple(
        glob
        for glob in (*(p for p in config.testpaths if _holds_tests(home, p)), *files)
        if is_usable_glob(glob)
    )


def _holds_tests(home: Path, testpath: str) -> bool:
    """Whether a testpath is a folder of tests. It may also be a package or source root: that stays source."""
    name = testpath.rstrip("/").rpartition("/")[2]
    if "test" in name.lower():
        return True
    folder = home / testpath
    if not folder.is_dir() or (folder / "__init__.py").exists():
        return False
    return folder != home and folder != home / "src" and any(p.suffix == ".py" for p in folder.iterdir())


def _nested_test_folders(home: Path) -> list[str]:
    """Folders `test` inside a package that contain tests; any other is source, e.g. a test client."""
    return sorted(
        folder
        for folder, _, files in walk(home)
        if folder.endswith("/test") and any(fnmatchcase(name, glob) for name in files for glob in _COLLECTED)
    )


def _folders(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir() if path.is_dir()) if home.is_dir() else []


_MARKS = frozenset({"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"})
_PROJECTS = frozenset({"pyproject.toml", "setup.py"})
_NAMES_PYTEST = (
    *("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py", "Pipfile", "Makefile"),
    *("requirements.txt", "requirements-dev.txt", "dev-requirements.txt", "requirements/dev.txt"),
    *("pytest.ini", ".pytest.ini", "conftest.py", "tests/conftest.py", "test/conftest.py"),
)
_PYTEST = re.compile(r"\bpytest\b")
_UNITTEST = re.compile(r"\bunittest\b")
_TEST = re.compile(r"(?:test_.*|.*_test|tests?)\.py")
_DISCOVERED = re.compile(r"test.*\.py")
"""Matches the names of files that unittest's discovery collects."""
_MANY = 200
FLAT = compile_classes(Settings(), {(".", "python"): Detected(flat=True)}, lambda _: PLACES)


def _django_home(root: Path, place: str) -> str:
    """The folder of `manage.py`, if the project keeps its code in one folder with it."""
    home = root / place
    if settings_of(home) or (home / "tests").is_dir():
        return place
    inner = [name for name in _folders(home) if settings_of(home / name)]
    return posixpath.normpath(posixpath.join(place, inner[0])) if len(inner) == 1 else place


def _has_modules(root: Path) -> bool:
    paths = (f"{at}/{name}".removeprefix("./") for at, _, files in walk(root, 2) for name in files)
    return any(classify(p, FLAT) in {PathClass.SOURCE, PathClass.TEST} for p in paths if p.endswith(".py"))


def _runner(home: Path) -> str:
    """The runner of a project: unittest only if the project never mentions pytest, which runs both.

    Django needs to be set up: that is done by pytest if the project mentions it, else by `manage.py test`.
    """
    mentioned = _PYTEST.search(text_in(home, *_NAMES_PYTEST))
    if settings_of(home) and not mentioned:
        return "django"
    if mentioned or any(home.glob(".venv/lib/*/site-packages/pytest")):
        return "pytest"
    files = list(_test_files(home))
    if not all(_DISCOVERED.fullmatch(path.rpartition("/")[2]) for path in files):
        return "pytest"
    texts = [text_in(home, path) for path in files]
    only = bool(texts) and all(_UNITTEST.search(text) and not _PYTEST.search(text) for text in texts)
    return "unittest" if only else "pytest"


def _test_files(home: Path) -> Iterator[str]:
    paths = (f"{at}/{name}" for at, _, files in walk(home) for name in sorted(files) if _TEST.fullmatch(name))
    return islice(paths, _MANY)


class PythonProject(Project):
    has_interpreter = True
    bare_runner = "pytest"

    def conventions(self, runner: str) -> Usual:  # noqa: ARG002 - pytest collects unittest's cases too
        return PLACES

    def runner_keys(self, name: str, text: str) -> bytes:
        if name != "pyproject.toml":
            return "\n".join(_ini_lines(text)).encode()
        document = tomllib.loads(text)
        return canonical({".".join(keys): at(document, *keys) for keys in _KEYS})

    def configuration(self) -> tuple[str, ...]:
        return tuple(name for name, _ in CONFIG_FILES)

    def layout(self, home: Path) -> Detected:
        has_src = (home / "src").is_dir()
        in_src = [files for _, _, files in walk(home / "src") if files] if has_src else []
        python_in_src = any(name.endswith((".py", ".pyx")) for files in in_src for name in files)
        packages = [
            name
            for name in _folders(home)
            if (home / name / "__init__.py").is_file() and classify(f"{name}/x.py", FLAT) is PathClass.SOURCE
        ]
        flat = not has_src or (not python_in_src and bool(packages or in_src))
        config = read_pytest_config(home)
        return Detected(
            flat=flat,
            source=tuple(map(literal_glob, ["src", *([] if flat else packages)])) if has_src else (),
            tests=(
                *_configured_tests(home, config),
                *map(literal_glob, _nested_test_folders(home)),
                *(["**/tests.py", "manage.py"] if settings_of(home) else []),
            ),
            uncollected=tuple(
                map(literal_glob, _find_uncollected(home, [*(["src"] if has_src else []), *packages], config))
            ),
            environments=tuple(
                literal_glob(name) for name in _folders(home) if is_environment(f"{home}/{name}")
            ),
        )

    def detect(self, root: Path, known: Sequence[Folder], *, alone: bool) -> FoundStacks:
        """Finds stacks. If no other language is there (`alone`), code or a manifest by itself is enough."""
        places = ["."] if _MARKS & known[0].files else outermost_of(folders_with(known, _PROJECTS))
        if not alone:
            places = [place for place in places if holds_suffix(known, place, (".py", ".pyx"))]
        if not places and alone and _has_modules(root):
            places = ["."]
        homes = [_django_home(root, place) for place in places]
        return FoundStacks(tuple(Stack(root=home, runner=_runner(root / home)) for home in homes))

    def find_cause(self, runner: str, kind: str, text: str, facts: StackFacts) -> Hindrance | None:
        from verdigris.languages.python.causes import find_cause

        return find_cause(runner, kind, text, facts)

    def starter(self) -> Starter:
        from verdigris.languages.python.starter import STARTER

        return STARTER
