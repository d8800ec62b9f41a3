"""Finds what a change took out of definitions that stay, and what it put in the place of a call.

A thing is gone from a definition if neither its new form has it nor a definition that took it over: a new
one, one that calls it, or one that it calls now. What says the same in other words (`swaps.py`) is not gone.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.findings import Mutant, Removals
from verdigris.languages.grammar.bindings import FUNCTIONS, OWNERS, VALUES, read_renaming
from verdigris.languages.grammar.conditions import literal_text
from verdigris.languages.grammar.decisions import (
    SameDecisions,
    condition_of,
    find_same_decisions,
    sites_of,
)
from verdigris.languages.grammar.definitions import definitions_of
from verdigris.languages.grammar.mutation import mutate_decisions, read_roots
from verdigris.languages.grammar.swaps import find_swaps, says_the_same
from verdigris.languages.grammar.trees import last_line, line_of, on_one_line, short, text_of_node, walk
from verdigris.languages.pairing import pair_up
from verdigris.languages.probes import ByteEdit, apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tree_sitter import Node

    from verdigris.languages.findings import Swap
    from verdigris.languages.grammar.decisions import Site
    from verdigris.languages.grammar.definitions import Definition
    from verdigris.languages.grammar.mutation import MutationForms
    from verdigris.languages.grammar.things import Thing
    from verdigris.languages.literals import RenamedWords

    Texts = Mapping[str, bytes | None]

_ALIKE = 0.5
"""The share of its words that a definition keeps under another name."""


@value
class _Sides:
    then: Sequence[Definition]
    now: Sequence[Definition]
    elsewhere: Sequence[Definition]
    """What the change did not touch, and may call now."""
    pairs: Mapping[int, int]
    """By index in `now`, that in `then`."""
    renamed: RenamedWords

    def changed(self) -> Iterator[int]:
        """Those whose text changed, or the packages that its names come from."""
        for at, origin in self.pairs.items():
            old, new = self.then[origin], self.now[at]
            moved = old.file.origins != new.file.origins and old.keys != new.keys
            if moved or old.text != new.text:
                yield at

    def taken_over(self, at: int) -> tuple[frozenset[str], Counter[str]]:
        """What other definitions may hold now instead of this one: keys of things, and marks.

        Of known ones that it did not call before, only what they gained counts.
        """
        old, new = self.then[self.pairs[at]], self.now[at]
        fresh = new.content.words - old.content.words
        keys: set[str] = set()
        marks: Counter[str] = Counter()
        for index, one in enumerate(self.now):
            before = self.then[self.pairs[index]] if index in self.pairs else None
            if index == at or (before is not None and before.text == one.text and one.last not in fresh):
                continue
            if before is None or one.last in fresh:
                keys |= one.keys
                marks += one.content.marks
            elif _is_related(one, new):
                keys |= one.keys - before.keys
                marks += one.content.marks - before.content.marks
        for one in self.elsewhere:
            keys |= one.keys if one.last in fresh else frozenset()
        return frozenset(keys), marks


def find_removals(
    forms: MutationForms, strip: Callable[[bytes], bytes], before: Texts, after: Texts, elsewhere: Texts
) -> Removals:
    """Mutants of the old files, each without one thing that is gone, and calls that another one replaced.

    `elsewhere`: files that did not change and define what the new ones call.
    """
    old, new, others = (read_roots(strip, side) for side in (before, after, elsewhere))
    then, now = (definitions_of(roots, forms) for roots in (old, new))
    pairs = _pair_definitions(then, now)
    sides = _Sides(then, now, definitions_of(others, forms), pairs, read_renaming(old, new))
    texts = {path: data for path, data in before.items() if data is not None}
    kept = [then[at] for at in pairs.values()]
    was, is_now = (sites_of(roots, forms.visited, whole=False) for roots in (old, {**others, **new}))
    same = find_same_decisions(was, is_now, sides.renamed)
    lost = SameDecisions(same.new, same.old | _written_once(was, is_now))
    decisions = mutate_decisions(forms, is_now, was, lost, texts)
    mutants = [one for one in decisions if one.kind == "decision" and _stands_in(one, kept)]
    conditions = {(mutant.path, mutant.line) for mutant in mutants}
    swaps: list[Swap] = []
    calls: set[str] = set()
    for at in sides.changed():
        old_one, new_one = then[pairs[at]], now[at]
        gone = _gone(sides, at)
        mutants += _take_out([thing for thing in gone if not _is_guarded(thing, conditions)], texts)
        mutants += _old_defaults(old_one, new_one, texts, sides.renamed)
        swaps += find_swaps(old_one, new_one, gone, sides.renamed)
        if gone or any(_covers(old_one.node, one.line) for one in mutants if one.path == old_one.path):
            calls |= new_one.content.words - old_one.content.words
    return Removals(tuple(dict.fromkeys(mutants)), tuple(dict.fromkeys(swaps)), frozenset(calls))


def _written_once(was: Sequence[Site], is_now: Sequence[Site]) -> frozenset[int]:
    """Decisions of the old side that a new function has: several may have become one."""
    scopes = {site.about.scope for site in was}
    taken = {_said(site) for site in is_now if site.about.scope not in scopes}
    return frozenset(at for at, site in enumerate(was) if _said(site) in taken)


def _said(site: Site) -> tuple[str, tuple[str, ...]]:
    return site.about.shape, tuple(name.text for name in site.about.names)


def _pair_definitions(then: Sequence[Definition], now: Sequence[Definition]) -> dict[int, int]:
    def loosely(one: Definition) -> object:
        return id(one) if one.last.startswith("__") or not one.last else one.last

    pairs = pair_up(then, now, lambda one: (one.path, one.name), lambda one: one.name or one.path, loosely)
    taken = set(pairs.values())
    for at, one in enumerate(now):
        if at in pairs:
            continue
        left = [
            i for i, old in enumerate(then) if i not in taken and old.node.type == one.node.type and old.name
        ]
        best = max(left, key=lambda i: _overlap(then[i], one), default=None)
        if best is not None and one.name and _overlap(then[best], one) >= _ALIKE:
            pairs[at] = best
            taken.add(best)
    return pairs


def _overlap(old: Definition, new: Definition) -> float:
    words, others = old.content.words - {old.last}, new.content.words - {new.last}
    return len(words & others) / max(1, len(words | others))


def _is_related(one: Definition, other: Definition) -> bool:
    if not other.is_function or one.name == other.name.rpartition(".")[0]:
        return one.path == other.path or not other.is_function
    return one.last in other.content.words or other.last in one.content.words


def _gone(sides: _Sides, at: int) -> list[Thing]:
    """The things of an old definition that nothing has any more."""
    old, new = sides.then[sides.pairs[at]], sides.now[at]
    missing = [thing for thing in old.content.things if thing.key not in new.keys]
    if not missing:
        return []
    keys, marks = sides.taken_over(at)
    held = new.keys | keys
    fresh, fresh_marks = held - old.keys, (new.content.marks - old.content.marks) + marks
    return [
        thing
        for thing in missing
        if thing.key not in held
        and not (thing.of.startswith("call ") and thing.of not in new.keys)
        and not _is_renamed(thing, fresh, sides.renamed)
        and not says_the_same(thing, fresh, fresh_marks)
        and not _is_passed_otherwise(thing, new)
        and not (thing.kind == "call" and thing.name in new.content.words)
        and not _is_inlined(thing, sides, held)
    ]


def _is_renamed(thing: Thing, fresh: Iterable[str], renamed: RenamedWords) -> bool:
    """Whether its name is one of the project's that the change gave another name."""
    if ":" in thing.name:
        return False
    return any(
        kind == thing.kind and name != thing.name and renamed.has(thing.name.strip("."), name.strip("."))
        for kind, _, name in (key.partition(" ") for key in fresh)
    )


def _is_passed_otherwise(thing: Thing, new: Definition) -> bool:
    """Whether an argument is passed in another place, or with others in one."""
    if thing.kind != "argument":
        return False
    mine = [one for one in new.content.things if one.of == thing.of]
    spread = any(
        child.type.endswith("splat") or child.type == "spread_element"
        for call in new.content.things
        if call.key == thing.of
        for child in walk(call.node)
    )
    return spread or any(one.operands == thing.operands for one in mine)


def _is_inlined(thing: Thing, sides: _Sides, held: frozenset[str]) -> bool:
    """Whether the body of the project's function stands where it was called."""
    if thing.kind not in {"call", "decorator", "base"}:
        return False
    called = [one for one in sides.then if one.last == thing.name and one.keys]
    return bool(called) and all(one.keys <= held for one in called)


def _is_guarded(thing: Thing, conditions: set[tuple[str, int]]) -> bool:
    """Whether it is raised under a condition that is gone as well, which is asked instead."""
    above = thing.node.parent if thing.kind == "raised" else None
    while above is not None and above.type not in FUNCTIONS:
        if condition_of(above) is not None and (thing.path, line_of(above)) in conditions:
            return True
        above = above.parent
    return False


def _take_out(gone: Sequence[Thing], texts: Mapping[str, bytes]) -> Iterator[Mutant]:
    """A mutant for each way to take a thing out; calls of one object that are statements go together."""
    together: dict[str, list[Thing]] = {}
    for thing in gone:
        if thing.kind == "call" and thing.of:
            together.setdefault(thing.of, []).append(thing)
    for thing in gone:
        partners = together.get(thing.of, [thing]) if thing.kind == "call" else [thing]
        if partners[0] is not thing:
            continue
        for way in thing.ways:
            edits = dict.fromkeys([*way, *(edit for other in partners[1:] for edit in other.ways[0])])
            data = apply_edits(texts[thing.path], tuple(edits))
            what = " and ".join(f"`{_shown(one)}`" for one in partners)
            verb = "are" if partners[1:] else "is"
            yield Mutant(
                thing.path,
                line_of(thing.node),
                f"{what} {verb} gone",
                data,
                weak=thing.weak,
                subject=_shown(thing),
                kind="removal",
            )


def _shown(thing: Thing) -> str:
    match thing.kind:
        case "handler":
            return (
                f"except {on_one_line(thing.node)}" if thing.node.type not in _CLAUSES else _head(thing.node)
            )
        case "lock":
            return f"with {short(on_one_line(thing.node))}"
        case "cleanup":
            return "finally"
        case "base":
            return f"base {short(on_one_line(thing.node))}"
        case _:
            return short(on_one_line(thing.node))


_CLAUSES = frozenset({"catch_clause", "except_clause"})


def _head(node: Node) -> str:
    return short(on_one_line(node).partition("{")[0].partition(":")[0])


def _old_defaults(
    old: Definition, new: Definition, texts: Mapping[str, bytes], renamed: RenamedWords
) -> Iterator[Mutant]:
    """Puts the new default of a parameter into the old function."""
    for name, default in old.defaults.items():
        other = new.defaults.get(name)
        was, now = on_one_line(default), on_one_line(other)
        if other is None or literal_text(default) == literal_text(other) or renamed.has(was, now):
            continue
        edit = ByteEdit(default.start_byte, default.end_byte, text_of_node(other))
        data = apply_edits(texts[old.path], (edit,))
        what = f"the default `{was}` of `{name}` became `{now}`"
        yield Mutant(old.path, line_of(default), what, data, subject=f"{name}={was}", kind="removal")


def _stands_in(mutant: Mutant, kept: Sequence[Definition]) -> bool:
    """Whether the innermost definition around a line is still there."""
    around = [one for one in kept if one.path == mutant.path and _covers(one.node, mutant.line)]
    best = min(around, key=lambda one: one.node.end_byte - one.node.start_byte, default=None)
    if best is None:
        return False
    inner = (one for one in walk(best.node) if one != best.node and one.type in FUNCTIONS | OWNERS | VALUES)
    return best.is_function or not any(one.type in FUNCTIONS and _covers(one, mutant.line) for one in inner)


def _covers(node: Node, line: int) -> bool:
    return line_of(node) <= line <= last_line(node)
