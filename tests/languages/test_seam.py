"""No name of a language and no ending of its files stands outside its folder, but where a tool is meant.

That nobody imports the folder of a language is a contract of import-linter (`pyproject.toml`).
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import verdigris
from verdigris.core.languages import FACTS, READ_LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(verdigris.__file__).parent
OWN = re.compile(
    rf"languages/(?:{'|'.join(READ_LANGUAGES)})/|core/languages\.py"
    # What finds and calls the tools of a language is the runner seam's.
    r"|runners/|execution/(?:tools|resident)/"
)
MODULES = sorted(
    name
    for path in ROOT.rglob("*.py")
    if path.stem != "__main__" and not OWN.match(name := path.relative_to(ROOT).as_posix())
)
ENDINGS = tuple(suffix for name in READ_LANGUAGES for suffix in FACTS[name].suffixes)
EXCEPTED = {
    "checks/foundation.py": ("the source of a cached file of bytecode", {".py"}),
    "core/confinement/toolchains.py": ("programs, and where they keep things", {"go", "node", "python"}),
    "drivers/audit/outcome.py": ("files that name packages", {"setup.py"}),
    "drivers/audit/tree_runs/configuration.py": (
        "files that configure tools",
        {"conftest.py", "noxfile.py", "setup.py"},
    ),
    "drivers/audit/tree_runs/node_packages.py": ("a program", {"node"}),
    "drivers/audit/tree_runs/packages.py": (
        "programs and files of package managers",
        {"python", "setup.py"},
    ),
    "drivers/audit/tree_runs/reuse.py": (
        "what is built for an interpreter, in any language",
        {".pyx", ".rs"},
    ),
    "drivers/loop/discovery.py": ("the file of a command `-m MODULE`", {".py", "/__main__.py"}),
    "drivers/loop/evaluation.py": (
        "what an interpreter and its test tool load unasked",
        {"conftest.py", "sitecustomize.py", "usercustomize.py"},
    ),
    "execution/rooms.py": ("what a test tool loads unasked", {"__init__.py"}),
    "gates/agent_shell/launcher.py": ("files of our own", {"entry.py", "shell.py"}),
    "storage/config/stacks.py": ("a key of tdd.yaml", {"python"}),
    "storage/snapshots/scan.py": ("files that configure tools", {"noxfile.py", "setup.py"}),
    "views/audit/page.py": ("a file of our own", {"page.js"}),
}
"""By module: why it may have such words, and which. The list may become shorter, never longer."""


@pytest.mark.parametrize("module", MODULES)
def test_no_module_names_a_language_or_an_ending_of_its_files(module: str) -> None:
    _, allowed = EXCEPTED.get(module, ("", set()))
    assert set(_words((ROOT / module).read_text("utf-8"))) <= allowed


def test_every_exception_is_still_needed() -> None:
    found = {module: set(_words((ROOT / module).read_text("utf-8"))) for module in EXCEPTED}
    assert found == {module: words for module, (_, words) in EXCEPTED.items()}


def _words(text: str) -> Iterator[str]:
    """Strings by which code may decide: a sentence for people may have an example in any language."""
    tree = ast.parse(text)
    nodes = [*ast.walk(tree)]
    documented = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    sentences = {
        id(part)
        for node in nodes
        if isinstance(node, ast.JoinedStr)
        and any(isinstance(one, ast.Constant) and " " in str(one.value) for one in node.values)
        for part in node.values
    }
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            word = node.value
            if id(node) in documented | sentences or re.search(r"\s", word):
                continue
            if word in READ_LANGUAGES or word.endswith(ENDINGS):
                yield word


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('x.endswith(".py")', [".py"]),
        ('stack.language == "node"', ["node"]),
        ('{"rust": 1}', ["rust"]),
        ('f"{folder}/lib.rs"', ["/lib.rs"]),
        ('"""Of `.py` files."""', []),
        ('raise ValueError("e.g. tests/test_x.py")', []),
        ('raise ValueError(f"e.g. {folder}/test_x.py")', []),
    ],
)
def test_what_counts_as_a_word(code: str, found: list[str]) -> None:
    assert [*_words(code)] == found
