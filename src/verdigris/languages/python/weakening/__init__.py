"""Lists what a suite loses between two states of its files."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Protocol

from verdigris.core.test_ids import split_id
from verdigris.languages.findings import Weakening
from verdigris.languages.python.syntax import parse_or_none
from verdigris.languages.python.tests import read_annotations
from verdigris.languages.python.weakening.losses import Key, Loss, SuiteFacts, losses
from verdigris.languages.python.weakening.suite import inherited_losses, pairs, states

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from verdigris.languages.assertions import Mark


class Marked(SuiteFacts, Protocol):
    """A suite with what takes its tests out of a run."""

    def marks(self) -> Iterable[tuple[str, Mark]]: ...

    def within(self, name: str, scope: str) -> bool:
        """Whether a test is the scope, or stands in it; all stand in the empty one."""
        ...


def weakenings(
    before: Mapping[str, str],
    after: Mapping[str, str],
    *,
    revised: Collection[str] = (),
    data_changed: bool = False,
) -> tuple[Weakening, ...]:
    """`revised`: test ids, slugs, paths and folders that were given up with a reason.
    `data_changed`: files that are no Python count too; their text may be anything that tells contents apart.

    Files that are the same on both sides may be given: they show who uses a helper that changed.
    """
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    if not changed:
        return ()
    unreadable = tuple(
        Weakening("unreadable", path, 1, "", "it does not parse")
        # In a new file nothing can have been lost; that it does not parse may be what it is there for.
        for path in sorted(changed & after.keys() & before.keys())
        if path.endswith(".py")
        and parse_or_none(after[path]) is None
        and parse_or_none(before[path]) is not None
    )
    if unreadable:
        return unreadable
    try:
        old, new = states(before, after, changed)
        no_longer_inherited = [*inherited_losses(before, after)]
    except RecursionError:
        why = "it is nested too deeply to be read"
        return tuple(Weakening("unreadable", path, 1, "", why) for path in sorted(changed & after.keys()))
    losing = [
        *losses_between(old, new, pairs(old, new)),
        *no_longer_inherited,
        *(_data(before, after) if data_changed else ()),
    ]
    given_up = _split_revised(revised, before)
    return describe_losses(loss for loss in losing if not any(_covers(entry, loss) for entry in given_up))


def losses_between(old: Marked, new: Marked, found_in: Mapping[int, int]) -> Iterator[Loss]:
    """`found_in`: by index, the new fact that an old one is found in."""
    yield from losses(old, new, found_in)
    yield from _new_marks(old, new, found_in)


def describe_losses(losing: Iterable[Loss]) -> tuple[Weakening, ...]:
    found = (Weakening(loss.kind, loss.path, loss.line, loss.before, loss.after) for loss in losing)
    return tuple(dict.fromkeys(found))


def _new_marks(old: Marked, new: Marked, found_in: Mapping[int, int]) -> Iterator[Loss]:
    """New marks on what was there before; a new test may be skipped as its author likes."""
    known = Counter((mark.kind, mark.what) for _, mark in old.marks())
    fresh = _fresh(old, new, found_in)
    origins = _TestOrigins(old, new, found_in)
    for path, mark in new.marks():
        known[mark.kind, mark.what] -= 1
        is_known = known[mark.kind, mark.what] >= 0 and not origins.takes_out(path, mark)
        if is_known or _only_fresh(mark.scope, path, fresh, new):
            continue
        yield Loss(mark.kind, path, mark.line, _mark_before(old, path, mark), _head(mark.what), mark.scope)


def _mark_before(old: Marked, path: str, mark: Mark) -> str:
    """The mark of the same kind that stood on the same test or class; empty where there was none."""
    place = (path, mark.kind, mark.scope)
    return next((_head(was.what) for file, was in old.marks() if (file, was.kind, was.scope) == place), "")


class _TestOrigins:
    """Which earlier test each test was, so that the skip of one is not taken for that of another."""

    def __init__(self, old: Marked, new: Marked, found_in: Mapping[int, int]) -> None:
        self.old, self.new = old, new
        self.heirs: defaultdict[Key, set[Key]] = defaultdict(set)
        for at, to in found_in.items():
            fact, other = old.facts[at], new.facts[to]
            self.heirs[other.path, other.scope].add((fact.path, fact.scope))

    def takes_out(self, path: str, mark: Mark) -> bool:
        """Whether a skip stands on a test that ran without it before, wherever such a skip stood then."""
        if mark.kind != "skipped" or not mark.scope:
            return False
        tests = [key for key in self.new.tests if key[0] == path and self.new.within(key[1], mark.scope)]
        return any((then := self._earlier_tests(key)) and not self._had(then, mark) for key in tests)

    def _earlier_tests(self, key: Key) -> set[Key]:
        if key in self.old.tests:
            return {key}
        same = {other for other in self.old.tests if other[1] == key[1]}
        return same or {other for other in self.heirs[key] if other in self.old.tests}

    def _had(self, then: set[Key], mark: Mark) -> bool:
        return any(
            path == was and (was_mark.kind, was_mark.what) == (mark.kind, mark.what)
            for was, was_mark in self.old.marks()
            for path, name in then
            if self.old.within(name, was_mark.scope)
        )


def _head(what: str) -> str:
    lines = what.splitlines()
    return next((line for line in lines if line.startswith(("def ", "async def "))), lines[0])


def _fresh(old: Marked, new: Marked, found_in: Mapping[int, int]) -> set[tuple[str, str]]:
    """Tests that stand for no earlier one."""
    heirs = {(new.facts[at].path, new.facts[at].scope) for at in found_in.values()}
    names = old.names()
    return {key for key in new.tests if key not in heirs and not names[key[1]]}


def _only_fresh(scope: str, path: str, fresh: set[tuple[str, str]], new: Marked) -> bool:
    under = [key for key in new.tests if key[0] == path and new.within(key[1], scope)]
    return bool(under) and all(key in fresh for key in under)


def _data(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Loss]:
    contents = Counter(text for path, text in after.items() if not path.endswith(".py"))
    for path, text in before.items():
        if path.endswith(".py"):
            continue
        contents[text] -= 1
        if contents[text] < 0:
            yield Loss("data", path, 1, text, after.get(path, ""), "")


def _split_revised(revised: Collection[str], before: Mapping[str, str]) -> list[tuple[str, str]]:
    """Path and function of each entry."""
    slugs: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for path, text in before.items():
        for function, annotation in read_annotations(text).items():
            slugs[annotation.slug].append((path, function))
    entries = []
    for entry in revised:
        native = split_id(entry)
        entries += slugs.get(entry.partition("[")[0], []) or [(native.path, native.function)]
    return entries


def _covers(entry: tuple[str, str], loss: Loss) -> bool:
    path, function = entry
    if not function:
        return loss.path == path or loss.path.startswith(f"{path.rstrip('/')}/")
    return loss.path == path and f"{loss.scope}::".startswith(f"{function}::")
