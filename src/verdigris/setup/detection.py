"""Detects the stacks of a project that has no `tdd.yaml` yet."""

from __future__ import annotations

from pathlib import Path

from verdigris.core.errors import UserError
from verdigris.core.languages import family_of, known_languages
from verdigris.core.settings import Stack
from verdigris.languages.folders import FoundStacks, folders
from verdigris.languages.registry import all_languages, language_named, load_third_parties, readers
from verdigris.runners.registry import built_in


def detect(root: Path, lang: str | None = None) -> FoundStacks:
    """The stacks, outermost first; with `lang` those of that language alone."""
    known = folders(root)
    load_third_parties()
    wanted = None if lang is None else name_of_language(lang)
    default, *rest = readers()
    others = [
        *(language.project.detect(root, known, alone=False) for language in rest),
        *(kind.detect(root, known) for kind in built_in() if kind.detect),
    ]
    elsewhere = any(one.stacks for one in others if one is not None)
    first = default.project.detect(root, known, alone=wanted == default.name or not elsewhere)
    seen = [one for one in (first, *others) if one is not None]
    stacks = sorted((s for one in seen for s in one.stacks), key=lambda s: (s.root != ".", s.root))
    if wanted is not None:
        return FoundStacks(_of_language(stacks, wanted))
    notes = tuple(note for one in seen for note in one.notes)
    if stacks or notes:
        return FoundStacks(tuple(stacks), notes)
    bare = (language.project.detect_bare(root, known) for language in readers())
    return next((one for one in bare if one is not None), FoundStacks())


def name_of_language(lang: str) -> str:
    """Our name for a language, however a person calls it."""
    load_third_parties()
    word = lang.lower()
    name = next((one.name for one in all_languages() if word in (one.name, *one.facts.aliases)), None)
    if name is None:
        hint = f"use {', '.join(known_languages())}"
        raise UserError(f"{lang} is not a language that Verdigris knows.", hint=hint)
    return name


def _of_language(stacks: list[Stack], language: str) -> tuple[Stack, ...]:
    family = family_of(language)
    found = tuple(stack for stack in stacks if stack.language in family)
    if not found and (runner := language_named(language).project.bare_runner) is not None:
        return (Stack(language=language, runner=runner),)
    if not found:
        described = next(kind.name for kind in built_in() if kind.has_templates)
        write = f"write tdd.yaml with `runner: {described}` (`tdd help configuration`)"
        raise UserError(f"no test tool of {language} is found here.", hint=f"{write}, then `tdd init` again")
    return found
