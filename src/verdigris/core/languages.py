"""The registry of languages: file suffixes, test tools, and the facts that the law needs."""

from __future__ import annotations

import re

PYTHON, NODE, RUST, GO = "python", "node", "rust", "go"
STUB_MARK = "STUB:TDD"
"""What marks a declaration that does no work, in every language."""

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
_CASES = {PYTHON: "[", GO: "/"}
LOADED_SINGLY = frozenset({PYTHON, NODE, None})
"""Elsewhere one file that does not compile keeps every test of its package from being found."""
_READ = frozenset({PYTHON, NODE, RUST, GO})
_COMPILED = frozenset({*JVM, "csharp", "swift"})
_BY_SUFFIX = {suffix: language for language, suffixes in SUFFIXES.items() for suffix in suffixes}
_SUFFIX = re.compile(r"\.\w+(?=::)")


def language_of(path: str) -> str | None:
    _, dot, end = path.rpartition("/")[2].rpartition(".")
    return _BY_SUFFIX.get(dot + end)


def case_mark(path: str) -> str | None:
    """What begins a case in a test's id; in a file of no known language, what does in Python."""
    return _CASES.get(language_of(path) or PYTHON)


def is_loaded_singly(path: str) -> bool:
    return language_of(path) in LOADED_SINGLY


def declaring(path: str) -> str:
    """How a test of this source comes by the names without which it does not load."""
    language = language_of(path)
    if language in _READ:
        return f"`tdd stub ID` declares what it needs to load, with bodies that fail, marked {STUB_MARK}"
    if language in _COMPILED:
        return (
            f"no grammar tells stubs in {language} from code, so what it needs to compile is a person's to "
            "declare: `tdd off --why WHY`, then `tdd on`"
        )
    return ""


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
