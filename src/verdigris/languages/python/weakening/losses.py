"""Finds tests and assertions that a new suite no longer has, and new skips."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from verdigris.core.value import value
from verdigris.languages.assertions import AssertionChange, Mark
from verdigris.languages.python.stubs.forms import Function, last_name
from verdigris.languages.python.tests import skip_owners, skips

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


Key = tuple[str, str]


class AssertedFact(Protocol):
    """One thing that a test asserts, in whatever language."""

    @property
    def path(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def what(self) -> str: ...
    @property
    def scope(self) -> str: ...
    @property
    def case(self) -> str: ...
    @property
    def guards(self) -> tuple[str, ...]: ...

    def against(self, other: Any) -> AssertionChange:
        """What became of it, if the other stands in its place."""
        ...

    def calls(self) -> set[str]:
        """The functions that it speaks of."""
        ...


class SuiteFacts(Protocol):
    """A suite: its tests, and all that they assert."""

    @property
    def tests(self) -> Mapping[Key, int]: ...
    @property
    def facts(self) -> Sequence[AssertedFact]: ...

    def names(self) -> Counter[str]: ...

    def body(self, key: Key) -> str: ...

    def find_hidden(self, body: str) -> str:
        """Where the body of a test stands that is no longer collected."""
        ...

    def stands(self, scope: str, what: str) -> bool:
        """Whether a test still has these words."""
        ...


@value
class Loss:
    kind: str
    path: str
    line: int
    before: str
    after: str
    scope: str


def losses(old: SuiteFacts, new: SuiteFacts, pairs: Mapping[int, int]) -> Iterator[Loss]:
    """`pairs`: by index, the new fact that an old one is found in."""
    lost = [fact for at, fact in enumerate(old.facts) if at not in pairs]
    heirs = _heirs(old, new, pairs)
    gone = list(_gone_tests(old, new, lost, heirs))
    yield from gone
    scopes = {(loss.path, loss.scope) for loss in gone}
    places = _NewAssertions(new, set(pairs.values()))
    for fact in lost:
        if (fact.path, fact.scope) not in scopes:
            yield from places.loss(fact, heirs.get((fact.path, fact.scope), fact.scope))


def _heirs(old: SuiteFacts, new: SuiteFacts, pairs: Mapping[int, int]) -> dict[Key, str]:
    """The new name of each test that is gone by name, told by most of what it asserted; or, where that
    changed too, by its own name in the class that most of its class went to.
    """
    names = new.names()
    votes: defaultdict[Key, Counter[str]] = defaultdict(Counter)
    for at, to in pairs.items():
        fact, other = old.facts[at], new.facts[to]
        if (fact.path, fact.scope) in old.tests and not names[fact.scope]:
            votes[fact.path, fact.scope][other.scope] += 1
    heirs = {key: counter.most_common(1)[0][0] for key, counter in votes.items()}
    classes: defaultdict[Key, Counter[str]] = defaultdict(Counter)
    for (path, scope), heir in heirs.items():
        classes[path, _class_of(scope)][_class_of(heir)] += 1
    for path, scope in old.tests:
        owners = classes[path, _class_of(scope)]
        if (path, scope) not in heirs and not names[scope] and _class_of(scope) and owners:
            named = f"{owners.most_common(1)[0][0]}::{scope.rpartition('::')[2]}"
            if names[named]:
                heirs[path, scope] = named
    return heirs


def _class_of(scope: str) -> str:
    return scope.rpartition("::")[0]


def _gone_tests(
    old: SuiteFacts, new: SuiteFacts, lost: list[AssertedFact], heirs: dict[Key, str]
) -> Iterator[Loss]:
    names = new.names()
    losing = {(fact.path, fact.scope) for fact in lost}
    asserting = {(fact.path, fact.scope) for fact in old.facts}
    known = old.names()
    fresh = [key for key in new.tests if not known[key[1]]]
    for key, line in old.tests.items():
        path, name = key
        names[name] -= 1
        if names[name] >= 0 or key in heirs or (key in asserting and key not in losing):
            continue
        body = old.body(key)
        twin = next((other for other in fresh if new.body(other) == body), None)
        if twin is not None:
            fresh.remove(twin)
            continue
        hidden = new.find_hidden(body)
        yield Loss("uncollected" if hidden else "removed", path, line, name, hidden, name)


@dataclass(slots=True)
class _NewAssertions:
    """What the new suite has for the assertions that were not found in it."""

    new: SuiteFacts
    used: set[int]
    by_scope: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for at, fact in enumerate(self.new.facts):
            self.by_scope[fact.scope].append(at)

    def loss(self, fact: AssertedFact, scope: str) -> Iterator[Loss]:
        spare = [(at, self.new.facts[at]) for at in self.by_scope[scope] if at not in self.used]
        if any(_covers(fact, other) for _, other in spare):
            return
        spare.sort(key=lambda pair: (pair[1].case != fact.case, pair[1].what != fact.what))
        for wanted in (_kind_if_guarded, _kind_if_restated, _weaker, _row, _kind_if_changed):
            for at, other in spare:
                kind = wanted(fact, other)
                if kind:
                    self.used.add(at)
                    if kind != "kept":
                        yield _loss(kind, fact, other)
                    return
        yield _loss("cases" if self._lacks_the_row(fact, scope) else "dropped", fact, None)

    def _lacks_the_row(self, fact: AssertedFact, scope: str) -> bool:
        """The assertion still stands there, but no table brings it this row."""
        return bool(fact.case) and self.new.stands(scope, fact.what)


def _loss(kind: str, fact: AssertedFact, other: AssertedFact | None) -> Loss:
    if kind in {"cases", "row"}:
        after = "" if other is None else other.case
        return Loss("changed" if kind == "row" else kind, fact.path, fact.line, fact.case, after, fact.scope)
    after = "" if other is None else other.what
    if kind == "guarded" and other is not None:
        after = f"{'; '.join(other.guards)}: {other.what}"
    return Loss(kind, fact.path, fact.line, fact.what, after, fact.scope)


def _covers(fact: AssertedFact, other: AssertedFact) -> bool:
    """The other asks for as much, or for more, wherever this one did."""
    if not set(other.guards) <= set(fact.guards):
        return False
    return fact.against(other) in {AssertionChange.SAME, AssertionChange.STRONGER}


def _kind_if_guarded(fact: AssertedFact, other: AssertedFact) -> str:
    more = set(other.guards) - set(fact.guards)
    return (
        "guarded" if more and fact.against(other) in {AssertionChange.SAME, AssertionChange.STRONGER} else ""
    )


def _kind_if_restated(fact: AssertedFact, other: AssertedFact) -> str:
    """The same words over a subject that is made in another way: a factory in place of a constructor."""
    if fact.what != other.what or fact.case != other.case or fact.guards != other.guards:
        return ""
    was, is_ = fact.calls(), other.calls()
    if was and not is_:
        return "weaker"
    return "changed" if was == is_ else "kept"


def _weaker(fact: AssertedFact, other: AssertedFact) -> str:
    return "weaker" if fact.against(other) is AssertionChange.WEAKER else ""


def _row(fact: AssertedFact, other: AssertedFact) -> str:
    return "row" if fact.case and other.case and fact.case != other.case and fact.what == other.what else ""


def _kind_if_changed(fact: AssertedFact, other: AssertedFact) -> str:
    return "changed" if fact.case == other.case else ""


_DESELECTING = frozenset({"collect_ignore", "collect_ignore_glob", "__test__"})
_COLLECTING = ("pytest_collection", "pytest_ignore_collect", "pytest_collect", "pytest_itemcollected")
_RUNNING = (
    *(
        "pytest_runtest",
        "pytest_pyfunc_call",
        "pytest_pycollect",
        "pytest_make_collect",
        "pytest_sessionfinish",
    ),
    *(
        "pytest_report_teststatus",
        "pytest_cmdline",
        "pytest_load_initial",
        "pytest_assertion",
        "pytest_exception",
    ),
    *("pytest_fixture_setup", "pytest_configure", "pytest_generate_tests"),
)


@lru_cache(maxsize=16)
def marks(tree: ast.Module) -> tuple[Mark, ...]:
    """Remembers the last ones, as who reads the trees does."""
    return tuple(_marks(tree.body, "", skip_owners(tree)))


def _marks(body: list[ast.stmt], scope: str, owners: frozenset[str]) -> Iterator[Mark]:
    for node in body:
        match node:
            case ast.ClassDef(name=name, body=inner):
                inside = f"{scope}{name}"
                for decorator in node.decorator_list:
                    yield from _find_skips(decorator, inside, owners)
                yield from _marks(inner, f"{inside}::", owners)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield from _find_skips(node, f"{scope}{name}", owners)
                yield from _hooks(node)
            case _:
                yield from _find_skips(node, scope.removesuffix("::"), owners)
                yield from _find_assignments(node, scope.removesuffix("::"))


def _find_skips(node: ast.AST, scope: str, owners: frozenset[str]) -> Iterator[Mark]:
    yield from (Mark("skipped", mark.line, mark.what, scope) for mark in skips(node, owners))


def _hooks(node: Function) -> Iterator[Mark]:
    if node.name.startswith(_COLLECTING):
        yield Mark("deselected", node.lineno, ast.unparse(node), "")
    elif node.name.startswith(_RUNNING):
        yield Mark("hook", node.lineno, ast.unparse(node), "")


def _find_assignments(node: ast.stmt, scope: str) -> Iterator[Mark]:
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            names = {last_name(target) for target in targets}
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            names = {last_name(target)}
        case _:
            return
    if names & _DESELECTING and ast.unparse(node) != "__test__ = True":
        yield Mark("deselected", node.lineno, ast.unparse(node), scope)
    elif "pytest_plugins" in names:
        yield Mark("hook", node.lineno, ast.unparse(node), scope)
