"""The languages that are known: what their files are called, and which test tools run them."""

from __future__ import annotations

import re

PYTHON, NODE, RUST, GO = "python", "node", "rust", "go"

SUFFIXES = {
    PYTHON: (".py", ".pyi", ".pyx"),
    NODE: (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte"),
    RUST: (".rs",),
    GO: (".go",),
    "java": (".java",),
    "kotlin": (".kt", ".kts"),
    "scala": (".scala",),
    "groovy": (".groovy",),
    "php": (".php",),
    "ruby": (".rb",),
    "csharp": (".cs",),
    "swift": (".swift",),
    "elixir": (".ex", ".exs"),
}
"""JavaScript and TypeScript are `node`: one tool chain runs both."""

JVM = ("java", "kotlin", "scala", "groovy")
"""One build runs them all, so a stack of one may hold files of the others."""
JUNIT = "junit"
_RUNNERS = {
    PYTHON: ("pytest", "unittest"),
    NODE: ("vitest", "jest", "node-test"),
    RUST: ("cargo",),
    GO: ("go",),
}
_BY_SUFFIX = {suffix: language for language, suffixes in SUFFIXES.items() for suffix in suffixes}
_SUFFIX = re.compile(r"\.\w+(?=::)")


def language_of(path: str) -> str | None:
    _, dot, end = path.rpartition("/")[2].rpartition(".")
    return _BY_SUFFIX.get(dot + end)


def suffixes_of(language: str) -> tuple[str, ...]:
    """Of the files that a stack of this language holds."""
    family = JVM if language in JVM else (language,)
    return tuple(suffix for one in family for suffix in SUFFIXES.get(one, ()))


def runners_of(language: str) -> tuple[str, ...]:
    """The usual one first; a tool that writes JUnit XML may test any language."""
    return (*_RUNNERS.get(language, ()), JUNIT)


RUNNERS = tuple(dict.fromkeys(runner for language in SUFFIXES for runner in runners_of(language)))


def file_end(test_id: str) -> int:
    """Where the path of an id ends: a path may hold `::` too, and only a file of code ends it for certain."""
    for found in _SUFFIX.finditer(test_id):
        if found[0] in _BY_SUFFIX:
            return found.end()
    return test_id.find("::")
