"""Which stacks a project has that has no `tdd.yaml` yet, found by looking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.languages import GO, JVM, NODE, PYTHON, RUST, SUFFIXES
from verdigris.core.settings import Stack
from verdigris.languages.node import node_detecting
from verdigris.languages.python import python_detecting
from verdigris.languages.walking import Found, folders
from verdigris.setup import compiled, reported

if TYPE_CHECKING:
    from pathlib import Path

_ALSO = {
    **dict.fromkeys(("js", "javascript", "ts", "typescript", "nodejs"), NODE),
    "py": PYTHON,
    "rs": RUST,
    "golang": GO,
    "rb": "ruby",
    "c#": "csharp",
}
_BARE = {PYTHON: "pytest", NODE: "node-test", RUST: "cargo", GO: "go"}
"""What tests a language where nothing is there yet; node's own tool needs no package."""


def detect(root: Path, lang: str | None = None) -> Found:
    """The stacks, outermost first; with `lang` those of that language alone."""
    known = folders(root)
    others = (
        node_detecting.found(root, known),
        compiled.rust(known),
        compiled.go(known),
        reported.found(root, known),
    )
    elsewhere = tuple(stack for found in others for stack in found.stacks)
    only_python = lang is not None and language_named(lang) == PYTHON
    seen = (python_detecting.found(root, known, alone=only_python or not elsewhere), *others)
    stacks = sorted((s for found in seen for s in found.stacks), key=lambda s: (s.root != ".", s.root))
    if lang is not None:
        return Found(_of_language(stacks, language_named(lang)))
    notes = tuple(note for found in seen for note in found.notes)
    return Found(tuple(stacks), notes) if stacks or notes else node_detecting.bare(root, known)


def language_named(lang: str) -> str:
    """As a person may call it."""
    name = _ALSO.get(lang.lower(), lang.lower())
    if name not in SUFFIXES:
        raise UserError(f"{lang} is no language that is known here.", hint=f"use {', '.join(SUFFIXES)}")
    return name


def _of_language(stacks: list[Stack], language: str) -> tuple[Stack, ...]:
    family = JVM if language in JVM else (language,)
    found = tuple(stack for stack in stacks if stack.language in family)
    if not found and language in _BARE:
        return (Stack(language=language, runner=_BARE[language]),)
    if not found:
        raise UserError(
            f"no test tool of {language} is found here.",
            hint="write tdd.yaml with `runner: junit` (`tdd help configuration`), then `tdd init` again",
        )
    return found
