"""The languages that are known, by what their files are called."""

from __future__ import annotations

PYTHON, NODE, RUST, GO = "python", "node", "rust", "go"

SUFFIXES = {
    PYTHON: (".py", ".pyi", ".pyx"),
    NODE: (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte"),
    RUST: (".rs",),
    GO: (".go",),
    "java": (".java",),
    "kotlin": (".kt", ".kts"),
    "php": (".php",),
    "ruby": (".rb",),
}
"""JavaScript and TypeScript are `node`: one tool chain runs both."""

_BY_SUFFIX = {suffix: language for language, suffixes in SUFFIXES.items() for suffix in suffixes}


def language_of(path: str) -> str | None:
    _, dot, end = path.rpartition("/")[2].rpartition(".")
    return _BY_SUFFIX.get(dot + end)
