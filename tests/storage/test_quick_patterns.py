"""The quick entry's matcher decides as `re` does, on every rule that our tables make."""

from __future__ import annotations

import marshal
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdigris.core.languages import READ_LANGUAGES
from verdigris.core.paths import Detected, compile_glob, with_frozen
from verdigris.core.settings import Settings, Stack
from verdigris.languages.conventions import compile_classes
from verdigris.languages.registry import usual
from verdigris.storage.quick_patterns import matches, read_pattern

_STACKS = tuple(Stack(root=root, language=name) for name in READ_LANGUAGES for root in (".", "web/app"))
_LAYOUTS = (
    Detected(flat=True, environments=("env",)),
    Detected(source=("src", "lib"), generated=("a/_v.py",)),
)
RULES = sorted(
    {
        regex
        for layout in _LAYOUTS
        for stack in _STACKS
        for _, regex in with_frozen(
            compile_classes(Settings(stacks=(stack,)), {(stack.root, stack.language): layout}, usual),
            ["data/x.json", "data/a b.csv"],
        ).rules
    }
)
GLOBS = ("docs/**/*.md", "a?[b-d].py", "[!x]y/*", "**", "src", "*.[]ch]", "[^a-c]*", "a-b.c+d")
_NAMES = (
    *(
        "src",
        "tests",
        "test_a.py",
        "a.py",
        "lib.rs",
        "a_test.go",
        "x.test.ts",
        "conftest.py",
        ".claude",
        "plans",
    ),
    *(
        "settings.json",
        ".git",
        "HEAD",
        "node_modules",
        "__pycache__",
        "a.pyc",
        "tdd.yaml",
        "web",
        "app",
        "data",
    ),
    *(
        "x.json",
        "docs",
        "b.md",
        "ab.py",
        "yy",
        "Cargo.toml",
        "package.json",
        "é.py",
        "a\nb",
        "env",
        "bin",
        "]",
    ),
)
_PATHS = st.lists(st.sampled_from(_NAMES) | st.text(min_size=1, max_size=4), min_size=1, max_size=4).map(
    "/".join
)


@given(_PATHS)
def test_every_rule_of_ours_is_matched_as_re_matches_it(path: str) -> None:
    for regex in (*RULES, *map(compile_glob, GLOBS)):
        pattern = read_pattern(regex)
        assert pattern is not None, regex
        assert matches(pattern, path) == bool(re.fullmatch(regex, path, re.DOTALL)), (regex, path)


def test_a_pattern_can_be_kept_in_a_card() -> None:
    for regex in RULES:
        pattern = read_pattern(regex)
        assert marshal.loads(marshal.dumps(pattern)) == pattern


@pytest.mark.parametrize(
    "regex",
    [r"a{2}", r"^a", r"a$", r"\d", r"a*?", r"a++", r"(a)", r"(?i:a)", r"(?<!a)b", "(?:a", "[a", "a)", "*"],
)
def test_what_is_not_known_is_left_to_the_slow_entry(regex: str) -> None:
    assert read_pattern(regex) is None
