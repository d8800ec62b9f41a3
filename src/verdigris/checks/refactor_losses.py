"""Asks what a refactor took out of code that stays: taken out of the old tree alone, does a test notice?

What replaced a call is not told apart by tests that pass before and after; it is named.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.checks.mutants import Trial, describe_place, try_mutants
from verdigris.checks.refactor import Survivors
from verdigris.core.paths import PathClass
from verdigris.core.value import replace
from verdigris.languages.findings import Mutant, Removals, Swap
from verdigris.languages.registry import by_language, reader_of
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from verdigris.checks.observation import Candidate
    from verdigris.core.report import RunUses, Status, TestReport
    from verdigris.languages.protocol import Language
    from verdigris.runners.protocol import Progress

_MOST_FILES = 20
"""Files that did not change and are read, because the new code calls what they define."""


def find_dropped(
    candidate: Candidate,
    before: Mapping[str, Status],
    ran: TestReport,
    seconds: float,
    progress: Progress | None = None,
) -> Survivors:
    """`before`: how the tests ended on the old tree; `ran`: the suite on the new one.

    Both trees change places: a mutant of the old one is without what has gone from the new one.
    """
    removals = _read_removals(candidate)
    unsafe, swaps = (sorted(str(s) for s in removals.swaps if s.unsafe is each) for each in (True, False))
    if candidate.room is None:
        return Survivors(tuple(unsafe), tuple(swaps))
    room = replace(candidate.room, wanted=candidate.start, worktree=candidate.tree)
    reverse = replace(candidate, start=candidate.tree, tree=candidate.start, room=room)
    known = replace(
        ran,
        results=tuple(result for result in ran.results if result.native_id in before),
        uses=None if ran.uses is None else _uses_before(candidate, ran.uses, removals.mutants),
    )
    tried = try_mutants(reverse, removals.mutants, Trial(known, seconds, progress=progress))
    dropped, noted = (
        dict.fromkeys(_describe(mutant) for mutant in tried.unnoticed if mutant.weak is is_weak)
        for is_weak in (False, True)
    )
    untried = (f"not tried: what is gone at {what}" for what in dict.fromkeys(tried.untried))
    return Survivors((*sorted(dropped), *unsafe), (*sorted(noted), *swaps, *sorted(untried)))


def _describe(mutant: Mutant) -> str:
    what = mutant.what if mutant.kind == "removal" else f"`{mutant.subject}` is gone"
    return f"{describe_place(mutant)} before the refactor: {what}, and no test noticed it"


def _read_removals(candidate: Candidate) -> Removals:
    read = candidate.project.workspace.read_many
    paths = [c.path for c in candidate.edits.source if not reader_of(c.path).imports.is_declaration(c.path)]
    mutants: list[Mutant] = []
    swaps: list[Swap] = []
    for language, every in by_language(paths).items():
        mine = [path for path in every if language.source.reads(path)]
        old, new = (read(at, mine) for at in (candidate.start, candidate.tree))
        removals = language.source.removals(old, new, {})
        if removals.calls and (called := _defining(candidate, language, removals.calls, mine)):
            removals = language.source.removals(old, new, called)
        mutants += removals.mutants
        swaps += removals.swaps
    return Removals(tuple(mutants), tuple(swaps))


def _defining(
    candidate: Candidate, language: Language, names: Collection[str], changed: Collection[str]
) -> dict[str, bytes | None]:
    """The files of source that did not change and define one of these names."""
    project = candidate.project
    words = "|".join(sorted(map(re.escape, names)))
    defined = re.compile(
        rf"\b(?:def|class|func(?:\s*\([^)]*\))?|fn|function\*?|const|let|async|static)\s+(?:{words})\b"
    )
    paths = [
        entry.path
        for entry in project.workspace.files(candidate.tree)
        if entry.path not in changed
        and language in by_language([entry.path])
        and language.source.reads(entry.path)
        and project.classify(entry.path) is PathClass.SOURCE
    ]
    texts = texts_at(project, candidate.tree, paths)
    chosen = [path for path, text in texts.items() if defined.search(text)][:_MOST_FILES]
    return dict(project.workspace.read_many(candidate.tree, chosen))


def _uses_before(candidate: Candidate, uses: RunUses, mutants: Iterable[Mutant]) -> RunUses | None:
    """The functions that each test runs, by their lines in the old files.

    None if a function of a mutant has no namesake in its new file: it is not known who runs it.
    """
    project = candidate.project
    paths = {mutant.path for mutant in mutants}
    old, new = (texts_at(project, at, paths) for at in (candidate.start, candidate.tree))
    lines: dict[tuple[str, int], tuple[str, int]] = {}
    for path in paths:
        tracing = reader_of(path).tracing()
        if tracing is None:
            continue
        here = [line for at, line in uses.places if at == path]
        then = tracing.name_lines(old[path], range(1, old[path].count("\n") + 2))
        now = tracing.name_lines(new.get(path, ""), here)
        words = tracing.module_words(new.get(path, ""))
        if then is None or now is None or words is None:
            return None
        asked = {then.get(mutant.line, "") for mutant in mutants if mutant.path == path}
        if not asked <= {"", *words.functions}:
            return None
        first = {name: line for line, name in sorted(then.items(), reverse=True)}
        lines |= {(path, line): (path, first[now[line]]) for line in here if now[line] in first}
    return replace(uses, places=tuple(lines.get(p, ("", 0)) if p[0] in paths else p for p in uses.places))
