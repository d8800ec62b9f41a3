"""No runner is named outside its folder, its tool on the machine, and the languages that it tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import verdigris
from verdigris.core.languages import FACTS, READ_LANGUAGES
from verdigris.execution.tools.registry import TestTool, tool_of
from verdigris.runners.junit import PRESETS
from verdigris.runners.registry import BUILT_IN, kind_of

ROOT = Path(verdigris.__file__).parent
OWN = re.compile(r"runners/|execution/tools/|core/languages\.py")
"""The runners and their registry, what finds and calls them, and which of them a language has."""
EXCEPTED = {
    r"core/confinement/toolchains\.py": "toolchains, in use or not: what rooms and shells serve of each",
    r"core/settings\.py|storage/config/.*|cli/init\.py": "keys of tdd.yaml that are called after a tool",
    r"views/audit/formats\.py|cli/drivers/audit\.py": "JUnit XML as a format of reports",
    r"drivers/demo/play\.py": "the demonstration's own tdd.yaml",
    r"languages/(?:conventions|grammar/\w+)\.py": "files and comments of tools that a change must not touch",
}
"""Each with its reason."""
AMBIGUOUS = {"go": r"go test|[\"']go[\"']", "node-test": r"node-test|node:test"}
"""Names that are also something else: a language, a verb."""


def pattern(names: set[str]) -> re.Pattern[str]:
    """A name on its own: `.pytest_cache`, `Cargo.toml` and `CARGO_HOME` are names of files and variables."""
    words = "|".join(AMBIGUOUS.get(name, re.escape(name)) for name in sorted(names))
    return re.compile(rf"(?i)(?<![A-Za-z\d.])(?:{words})(?!\w|\\?\.(?:toml|lock)\b)")


NAMES = {*BUILT_IN, *PRESETS}
MODULES = sorted(
    name
    for path in ROOT.rglob("*")
    if path.suffix in {".py", ".cjs", ".mjs", ".js", ".sh"}
    and not OWN.match(name := path.relative_to(ROOT).as_posix())
    and not any(re.fullmatch(files, name) for files in EXCEPTED)
)


def language_of(module: str) -> str | None:
    return next((name for name in READ_LANGUAGES if module.startswith(f"languages/{name}/")), None)


@pytest.mark.parametrize("module", MODULES)
def test_no_module_names_a_runner_and_a_language_names_its_own_alone(module: str) -> None:
    """A language detects which of its tools a project uses, and knows the words of their tests."""
    language = language_of(module)
    own = set() if language is None else {*FACTS[language].runners, language}
    found = pattern(NAMES - own).findall((ROOT / module).read_text("utf-8"))
    assert not found


@pytest.mark.parametrize("files", EXCEPTED)
def test_every_exception_is_needed(files: str) -> None:
    texts = [
        path.read_text("utf-8")
        for path in ROOT.rglob("*.py")
        if re.fullmatch(files, path.relative_to(ROOT).as_posix())
    ]
    assert any(pattern(NAMES).search(text) for text in texts)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_runner_has_its_facts_and_its_tool_under_one_name(name: str) -> None:
    kind = kind_of(name)
    assert kind.name == name
    assert (kind.find, kind.tool) == (None, None), "ours are found by the module of the same name"
    tool = tool_of(name)
    assert isinstance(tool, TestTool)
    assert type(tool).find is not TestTool.find


@pytest.mark.parametrize("name", BUILT_IN)
def test_what_a_runner_prints_in_a_log_can_be_read_where_it_says_so(name: str) -> None:
    kind = kind_of(name)
    for pattern_of_output, move in (*kind.downloads, *kind.missing):
        re.compile(pattern_of_output)
        assert move
    re.compile(kind.refusals)
    if kind.read_log is not None:
        assert list(kind.read_log("nothing that a tool prints\n")) == []
