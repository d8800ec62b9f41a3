"""Compares two texts of a module: which functions have another body, and which names have another meaning.

`more` says that the module changed in other ways, too, so that all its users may be affected.
"""

from __future__ import annotations

import ast
import re
import sys
from bisect import bisect_right
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from verdigris.core.reuse.facts import ModuleDelta, ModuleWords
from verdigris.core.value import value
from verdigris.languages.python.outline import PROTOCOL, outline
from verdigris.languages.python.syntax import shared_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verdigris.languages.python.outline import BoundName, Outline

_WORD = re.compile(r"[A-Za-z_]\w*")
_EXAMPLE = ">>>"
_LISTED = re.compile(r"Constant\(value='([^']*)'")
_USUAL = frozenset(name for kind in (dict, list, set, str, bytes, int, type(open)) for name in dir(kind)) | {
    *("read", "readline", "readlines", "write", "writelines", "flush", "close", "seek", "tell", "fileno"),
    *("name", "mode", "closed", "encoding", "isatty", "run", "start", "stop", "send", "throw", "next"),
}
"""Names that the standard library may look up on objects of any class."""

MORE = ModuleDelta(more=True)


def compare_modules(before: str, after: str) -> ModuleDelta | None:
    old, new = outline(before), outline(after)
    if old is None or new is None:
        return None
    comparison = _Comparison(old, new)
    alike = comparison.compare_classes() and comparison.compare_functions() and comparison.compare_names()
    if not alike or old.shells[""] != new.shells[""]:
        return MORE
    delta = comparison.delta()
    return delta if keep_order(before, after, delta.names) else MORE


def module_words(text: str) -> ModuleWords | None:
    outlined = outline(text)
    if outlined is None:
        return None
    bare = {name: one.bare for name, one in outlined.functions.items()}
    notes = {name: one.note for name, one in outlined.functions.items()}
    notes |= {
        name.rpartition(".")[0]: one.to for name, one in outlined.names.items() if _last(name) == "__doc__"
    }
    return ModuleWords(
        {name: one.words for name, one in outlined.functions.items()},
        frozenset(outlined.variables | outlined.others),
        frozenset(outlined.library | outlined.project),
        bare | {"": frozenset(outlined.variables - outlined.others)},
        frozenset(outlined.library - outlined.project),
        {name: frozenset(words) for name, words in outlined.made.items()},
        {name: frozenset(_WORD.findall(note)) for name, note in notes.items() if _EXAMPLE in note},
    )


class _Comparison:
    """What differs. A method returns False if the module may act differently when it is loaded."""

    def __init__(self, before: Outline, after: Outline) -> None:
        self.before, self.after = before, after
        self.bodies: set[str] = set()
        self.names: set[str] = set()
        self.added: set[str] = set()
        self.gone: set[str] = set()
        self.classes: set[str] = set()
        self.notes: set[str] = set()

    def compare_classes(self) -> bool:
        """Finds the classes that changed. Code can reach a class only by its name, so the name counts."""
        for owner in {*self.before.shells, *self.after.shells} - {""}:
            old, new = self.before.shells.get(owner), self.after.shells.get(owner)
            if old is not None and new is not None and old[0] != new[0]:
                return False
            if old is None and owner not in self.after.classes:
                return False
            if new is None and owner not in self.before.classes:
                return False
            self.classes |= {owner} if old != new else set()
        return True

    def compare_functions(self) -> bool:
        for name in {*self.before.functions, *self.after.functions}:
            old, new = self.before.functions.get(name), self.after.functions.get(name)
            if old is None or new is None or old.head != new.head:
                sound = all(one is None or one.plain for one in (old, new)) and self._may_appear(name)
                if not sound and "." not in name:
                    return False
                self.classes |= set() if sound else {name.rpartition(".")[0]}
                self.names.add(_last(name))
                self.added |= {name} if new is not None else set()
                self.gone |= {name} if old is not None else set()
            if old is not None and (new is None or (old.body, old.head) != (new.body, new.head)):
                self.bodies.add(name)
            self.notes |= {name} if old is not None and new is not None and old.note != new.note else set()
        return True

    def compare_names(self) -> bool:
        loaded = {one.module for one in self.before.names.values()}
        for name in {*self.before.names, *self.after.names}:
            old, new = self.before.names.get(name), self.after.names.get(name)
            if old == new:
                continue
            if new is not None and new.module and new.module not in loaded:
                return False
            if _last(name) == "__doc__":
                self.notes.add(name.rpartition(".")[0])
            elif name in _TOLD or _lists_lazy_modules(name, old, new) or self._may_appear(name):
                self.names |= _changed_meanings(name, old, new)
            elif "." in name:
                self.classes.add(name.rpartition(".")[0])
            else:
                return False
        return True

    def _may_appear(self, name: str) -> bool:
        """Whether a name may appear or disappear without an effect on code that does not use it."""
        owner, _, last = name.rpartition(".")
        if PROTOCOL.fullmatch(last):
            return False
        sides = [side for side in (self.before, self.after) if owner in side.shells]
        if not owner or len(sides) == 1:
            return True
        return all(owner in side.open_classes for side in sides) and last not in _USUAL

    def delta(self) -> ModuleDelta:
        owners = tuple(f"{name}." for name in self.classes)
        functions = (*self.before.functions, *self.after.functions)
        return ModuleDelta(
            bodies=frozenset(self.bodies.union(name for name in functions if name.startswith(owners))),
            names=frozenset(self.names.union(name.partition(".")[0] for name in self.classes)),
            added=frozenset(self.added),
            gone=frozenset(self.gone),
            classes=frozenset(self.classes),
            notes=frozenset(self.notes),
            variables=self._variables(),
        )

    def _variables(self) -> frozenset[str]:
        """The names that are only variables of the module: no class, method or attribute has the name."""
        sides = (self.before, self.after)
        inner = {name for side in sides for name in (*side.functions, *side.names) if "." in name}
        owned = {_last(name) for name in inner.union(*(side.shells for side in sides))}
        return frozenset(name for name in self.names if name not in owned and not PROTOCOL.fullmatch(name))


_TOLD = frozenset({"__all__", "__version__", "__author__", "__date__", "__version_info__", "__license__"})


def _lists_lazy_modules(name: str, old: BoundName | None, new: BoundName | None) -> bool:
    """Whether the name lists lazily loaded modules of the standard library only: no code notices a change."""
    names = _LISTED.findall("".join(one.to for one in (old, new) if one is not None))
    return name == "__lazy_modules__" and {one.partition(".")[0] for one in names} <= sys.stdlib_module_names


def _changed_meanings(name: str, old: BoundName | None, new: BoundName | None) -> set[str]:
    if name != "__all__":
        return {_last(name)}
    exported = [set(_WORD.findall(one.to if one else "")) for one in (old, new)]
    return {name, *(exported[0] ^ exported[1])}


def name_lines(text: str, lines: Iterable[int]) -> dict[int, str] | None:
    """The function of each line, empty for a line outside of functions; None if the text does not parse."""
    outlined = outline(text)
    if outlined is None:
        return None
    spans = sorted((*span, name) for name, one in outlined.functions.items() for span in one.spans)
    named = {}
    for line in lines:
        at = bisect_right(spans, (line, sys.maxsize, ""))
        first, last, name = spans[at - 1] if at else (0, 0, "")
        named[line] = name if first <= line <= last else ""
    return named


def _last(name: str) -> str:
    return name.rpartition(".")[2]


# -- the order in which names are bound ----------------------------------------------------------------------
#
# A statement that runs while the module is loaded may read names that are bound above it. If a binding moves
# across a statement that reads the name, the loaded module changes, although both statements stay the same.

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_OTHER = "statement"


@value
class _Step:
    """A top-level statement of the module."""

    key: str
    """Identifies the statement in another text: the name that it binds, or its kind."""
    binds: frozenset[str]
    reads: frozenset[str] | None
    """The names that it looks up when it runs; None if it may look up any name."""
    imports: bool = False


def keep_order(before: str, after: str, changed: frozenset[str] = frozenset()) -> bool:
    """Whether each statement of both texts has the same of their common names bound above it.

    `changed`: names with another meaning; whoever uses them is affected anyway, so they are not compared.
    """
    old, new = (dict(_with_names_above(_steps(text))) for text in (before, after))
    steps = [step for side in (old, new) for step, _ in side.values()]
    imported = frozenset(name for step in steps if step.imports for name in step.binds)
    common = frozenset.intersection(
        *(frozenset(name for step, _ in side.values() for name in step.binds) for side in (old, new))
    )
    common -= changed
    for key in old.keys() & new.keys():
        (step, above), (other, above_other) = old[key], new[key]
        # An imported module may read this one; but names that other imports bound here do not concern it.
        names = common - imported if step.imports else common
        if step.reads is not None and other.reads is not None:
            names &= step.reads | other.reads
        if any(above.get(name) != above_other.get(name) for name in names):
            return False
    return True


def _with_names_above(
    steps: tuple[_Step, ...],
) -> Iterator[tuple[tuple[str, int], tuple[_Step, dict[str, int]]]]:
    """Each statement, with how often each name is bound above it."""
    above: dict[str, int] = {}
    keys: Counter[str] = Counter()
    for step in steps:
        keys[step.key] += 1
        yield (step.key, keys[step.key]), (step, above)
        if step.binds:
            above = above | {name: above.get(name, 0) + 1 for name in step.binds}


@lru_cache(maxsize=256)
def _steps(text: str) -> tuple[_Step, ...]:
    tree = shared_tree(text)
    return () if tree is None else tuple(map(_read_step, tree.body))


def _read_step(node: ast.stmt) -> _Step:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return _Step(name, frozenset({name}), _reads(node))
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return _Step(name, frozenset({name}), _reads(node))
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            bound = frozenset(one.asname or one.name.partition(".")[0] for one in names)
            return _Step(ast.dump(node), bound, None, imports=True)
        case ast.Expr(value=ast.Constant()):
            return _Step(_OTHER, frozenset(), frozenset())
        case _:
            return _Step(_OTHER, frozenset(), None)


def _reads(node: ast.stmt) -> frozenset[str] | None:
    """The names that a statement reads; None if it calls something, which may read any name of the module."""
    nodes = list(_nodes_at_load(node))
    if any(isinstance(one, ast.Call | ast.Await) or getattr(one, "decorator_list", ()) for one in nodes):
        return None
    return frozenset(one.id for one in nodes if isinstance(one, ast.Name))


def _nodes_at_load(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when the module is loaded: all but the bodies of functions."""
    yield node
    body = node.body if isinstance(node, _Function) else [node.body] if isinstance(node, ast.Lambda) else []
    for child in ast.iter_child_nodes(node):
        if child not in body:
            yield from _nodes_at_load(child)
