from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdigris.core.errors import ConfigError
from verdigris.core.paths import compile_glob


def matches(pattern: str, path: str) -> bool:
    return re.fullmatch(compile_glob(pattern), path) is not None


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("tests", "tests"),
        ("tests", "tests/a/b.py"),
        ("tests/", "tests/a/b.py"),
        ("./tests//unit/", "tests/unit/x"),
        ("tests/**", "tests/a/b.py"),
        ("*.py", "calc.py"),
        ("*.py", ".py"),
        ("**/*.py", "calc.py"),
        ("**/*.py", "a/b/calc.py"),
        ("a/**/b", "a/b"),
        ("a/**/b", "a/x/y/b"),
        ("**/**/b", "b"),
        ("a?c", "abc"),
        ("[ab]x", "bx"),
        ("[!ab]x", "cx"),
        ("[^ab]x", "cx"),
        ("[]]x", "]x"),
        ("[*]", "*"),
        ("a+(b).$", "a+(b).$"),
        (".", "anything/at/all"),
        ("new\nline/*", "new\nline/x\ny"),
        ("caf\udce9/*", "caf\udce9/x"),
    ],
)
def test_matches(pattern: str, path: str) -> None:
    assert matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("tests", "tests2"),
        ("tests", "src/tests"),
        ("tests", "tests\n"),
        ("*.py", "a/calc.py"),
        ("a/*", "b/x"),
        ("a/*/c", "a/b/d/c"),
        ("a?c", "a/c"),
        ("[!a]x", "/x"),
        ("[.-0]x", "/x"),
        ("a/**/b", "ab"),
        ("*", ""),
        ("a.c", "abc"),
    ],
)
def test_does_not_match(pattern: str, path: str) -> None:
    assert not matches(pattern, path)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        " ",
        "/abs",
        "../up",
        "a/../b",
        "[abc",
        "a[",
        "[]",
        "a\\b",
        "a**b",
        "src/**.py",
        "{a,b}/x",
        "!tests",
        "a\0b",
        "[z-a]",
    ],
)
def test_a_broken_glob_is_named(pattern: str) -> None:
    with pytest.raises(ConfigError) as caught:
        compile_glob(pattern)
    assert repr(pattern) in caught.value.message
    assert caught.value.hint


@given(st.text(alphabet="ab[]!^-*?./", min_size=1, max_size=12), st.text(alphabet="ab[]!^-/.", max_size=12))
def test_every_glob_is_refused_or_compiles_to_a_regex(pattern: str, path: str) -> None:
    try:
        source = compile_glob(pattern)
    except ConfigError:
        return
    re.fullmatch(source, path)


@given(st.text(min_size=1).filter(lambda s: not set(s) & set("*?[]{}\\!/\0") and s.strip() and s.strip(".")))
def test_a_plain_name_matches_itself_and_what_is_below(name: str) -> None:
    assert matches(name, name)
    assert matches(name, f"{name}/below")
    assert not matches(name, f"x{name}")
