"""No name of a language stands outside its folder, the registry of facts, and what runs its tools."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import verdigris
from verdigris.core.languages import READ_LANGUAGES

ROOT = Path(verdigris.__file__).parent
OWN = re.compile(
    rf"languages/(?:{'|'.join(READ_LANGUAGES)})/|core/languages\.py"
    # What finds and calls the tools of a language is the runner seam's.
    r"|runners/|execution/(?:tools|resident)/"
)
PROGRAMS = {
    "core/confinement/needs.py": "folders where programs are installed",
    "core/confinement/protection.py": "caches of tools",
}
"""Where such a word is the name of a program or of its folder."""
MODULES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in ROOT.rglob("*.py")
    if not OWN.match(path.relative_to(ROOT).as_posix())
)


@pytest.mark.parametrize("module", MODULES)
def test_no_module_compares_with_the_name_of_a_language(module: str) -> None:
    if module in PROGRAMS:
        return
    tree = ast.parse((ROOT / module).read_text("utf-8"))
    compared = [
        node
        for one in ast.walk(tree)
        if isinstance(one, ast.Compare | ast.MatchValue | ast.Dict | ast.Set | ast.arguments | ast.Subscript)
        for node in ast.walk(one)
    ]
    found = {
        node.value for node in compared if isinstance(node, ast.Constant) and node.value in READ_LANGUAGES
    }
    assert not found
