"""The usual places of a Python stack."""

from __future__ import annotations

import re

from verdigris.core.toolfolders import ENVIRONMENT_PARTS, FILLED, NODE_MODULES
from verdigris.languages.forms import SIDE, Usual, any_of, anywhere, at_root

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
