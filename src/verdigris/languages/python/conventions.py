"""The usual places of a Python stack, and the keys that pytest and coverage read."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from verdigris.core.paths import ENVIRONMENT_PARTS, FILLED, NODE_MODULES
from verdigris.languages.conventions import SIDE, Usual, any_of, anywhere, at, at_root, canonical

if TYPE_CHECKING:
    from collections.abc import Iterator


_TEST_FOLDERS = at_root("[Tt]ests?", "[^/]*[_-]tests", "tests[_-][^/]*", "testdata", "test_data", "goldens?")
_TEST_FILES = r"(?:.*/)?(?:test_[^/]*|[^/]*_test)\.py\Z"

_PARTS = "|".join(map(re.escape, ENVIRONMENT_PARTS))

PLACES = Usual(
    tests=any_of(_TEST_FOLDERS, anywhere("tests", "__snapshots__"), _TEST_FILES),
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
"""Test folders at the stack's root, `tests/` in any package, and files that pytest collects by name; of the
runner also what an interpreter executes at its start. Installed packages hold tests and `.pth` files of their
own: the claim hashes the ones that matter."""


_KEYS = (
    ("tool", "pytest"),
    ("tool", "coverage"),
    ("project", "entry-points", "pytest11"),
    ("tool", "poetry", "plugins", "pytest11"),
)
_SECTION = re.compile(r"(?:tool:)?pytest|coverage(?::.*)?")
_ENTRY_POINTS = "options.entry_points"


def pyproject(text: str) -> bytes:
    document = tomllib.loads(text)
    return canonical({".".join(keys): at(document, *keys) for keys in _KEYS})


def sections(text: str) -> bytes:
    return "\n".join(_ini_lines(text)).encode()


def _ini_lines(text: str) -> Iterator[str]:
    """Lines of the runner's sections, told apart as pytest's own reader does it.

    An indented header may belong to a value: it can begin a section here but never end one.
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
