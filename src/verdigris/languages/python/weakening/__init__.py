"""Lists what a Python suite loses between two states of its files."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from verdigris.core.test_ids import MARK, split_id
from verdigris.languages.findings import Weakening
from verdigris.languages.python.syntax import parse_or_none
from verdigris.languages.python.tests import read_test_comments
from verdigris.languages.python.weakening.suite import inherited_losses, pairs, states
from verdigris.languages.test_comments import marks_of
from verdigris.languages.weakening import describe_losses, is_given_up, losses_between

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def weakenings(
    before: Mapping[str, str], after: Mapping[str, str], revised: Collection[str] = ()
) -> tuple[Weakening, ...]:
    """Lists the losses. `revised`: test ids, slugs, paths and folders that were given up with a reason.

    Unchanged files may be given, too: they show which tests use a helper that changed.
    """
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    if not changed:
        return ()
    unreadable = tuple(
        Weakening("unreadable", path, 1, "", "it does not parse")
        # A new file can lose nothing, and a test may need a file that does not parse.
        for path in sorted(changed & after.keys() & before.keys())
        if path.endswith(".py")
        and parse_or_none(after[path]) is None
        and parse_or_none(before[path]) is not None
    )
    if unreadable:
        return unreadable
    try:
        old, new = states(before, after, changed)
        losing = [*losses_between(old, new, pairs(old, new)), *inherited_losses(before, after)]
    except RecursionError:
        why = "it is nested too deeply to be read"
        return tuple(Weakening("unreadable", path, 1, "", why) for path in sorted(changed & after.keys()))
    places = _places_of(revised, before)
    kept = (loss for loss in losing if not is_given_up(loss.path, loss.scope, places, whole=True))
    return describe_losses(kept)


def _places_of(revised: Collection[str], before: Mapping[str, str]) -> list[str]:
    """The path, and function if there is one, of each entry of `revised`; slugs stand for their tests."""
    slugs: defaultdict[str, list[str]] = defaultdict(list)
    for path, text in before.items():
        for mark in marks_of(read_test_comments(text)) if MARK in text else ():
            slugs[mark.slug].append(f"{path}::{mark.test}")
    places = []
    for entry in revised:
        native = split_id(entry)
        place = f"{native.path}::{native.function}" if native.function else native.path
        places += slugs.get(entry.partition("[")[0], []) or [place]
    return places
