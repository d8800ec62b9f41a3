"""The world of a walk: worktrees, what was written in them, and the checks around each step."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

from hypothesis.stateful import RuleBasedStateMachine, invariant

from support.trees import remove_tree
from walk.following import follow
from walk.handwriting import Hand, marks
from walk.laws import (
    Violation,
    Wrong,
    crashes,
    different_next,
    unclaimed_though_clean,
    undone_commits,
)
from walk.place import Answer, Place, Sight, copy_places, make_place

MAIN = "main"


class Journey(RuleBasedStateMachine):
    """What the rules of a walk act with."""

    known: ClassVar[set[str]] = set()
    """Kinds of violations that do not end a walk."""
    met: ClassVar[dict[str, int]] = {}
    """How often walks met each of them."""
    steps: ClassVar[int] = 0
    walks: ClassVar[int] = 0
    wanted: ClassVar[str | None] = None
    """The kind that was found; while it is made small no other counts."""
    collected: ClassVar[dict[str, str] | None] = None
    """If set: violations are collected here by kind, the shortest story of each, and walks go on."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="tdd-walk."))
        self.hand = Hand()
        self.places = {MAIN: make_place(self.folder / MAIN, self.hand)}
        self.at = MAIN
        self._seen: Sight | None = None
        self.owed = self._in_trees()
        """Marks of lines that nobody gave up."""
        self.answer: Answer | None = None
        """What the last verb said here, if nothing has happened since."""
        self.status: dict[str, Any] = self.here.status()
        """As `tdd status` told it after the last step."""
        self.story: list[str] = []
        self.agents: frozenset[str] = frozenset()
        """Marks of what agents' commits changed: no ground until a verdict accepts it."""

        self.failed = False
        type(self).walks += 1

    def seen(self) -> Sight:
        """The worktree as it is; it is looked at once between two acts."""
        if self._seen is None:
            self._seen = self.here.sight()
        return self._seen

    @property
    def here(self) -> Place:
        return self.places[self.at]

    def complain(self, wrong: Iterable[Wrong]) -> None:
        for each in wrong:
            if self.is_known(each.kind):
                continue
            told = "\n".join((each.detail, "", "the story:", *self.story))
            if self.collected is not None:
                self._collect(each.kind, told)
            elif self.wanted in {None, each.kind}:
                type(self).wanted = each.kind
                self.failed = True
                raise Violation(each.kind, told)

    def _collect(self, kind: str, told: str) -> None:
        assert self.collected is not None
        self.met[kind] = self.met.get(kind, 0) + 1
        if kind not in self.collected or len(told) < len(self.collected[kind]):
            self.collected[kind] = told

    def is_known(self, kind: str) -> bool:
        for known in self.known:
            if kind.startswith(known):
                self.met[known] = self.met.get(known, 0) + 1
                return True
        return False

    @property
    def phase(self) -> str:
        return str(self.status["phase"])

    @property
    def in_progress(self) -> bool:
        """Whether git has something to finish."""
        return any(note.endswith("in progress") for note in self.status["notes"])

    # -- who acts ---------------------------------------------------------------------------------

    def person(self, what: str, act: Callable[[], object]) -> None:
        """An act of a person or of an agent, which may give up lines of the tree."""
        before = self._in_trees()
        act()
        self._note(what)
        self.answer = None
        lost = self._lost()
        if lost - before:
            self.complain([Wrong("lost what was kept: by git", f"{what}: {sorted(lost - before)}")])
        self.owed = (self.owed - lost) | self._in_trees()

    def edit(self, path: str, text: str) -> None:
        if text == self.here.read(path):
            return
        self.person(f"write {path}:\n{_indented(text)}", lambda: self.here.write(path, text))

    def git(self, *words: str) -> Answer:
        said: list[Answer] = []
        self.person(f"git {' '.join(words)}", lambda: said.append(self.here.git(*words)))
        if said[0].code:
            self.story[-1] += f"  # exit code {said[0].code}"
        return said[0]

    def verb(self, *words: str) -> Answer:
        """A command of `tdd`, with what holds around each of them."""
        before, removed = self.seen(), self.here.removed_by_asides()
        answer = self.here.tdd(*words)
        self._note(answer.said)
        self.complain(crashes(answer))
        self.complain(undone_commits(before, self.seen(), answer, removed, self.agents))
        self._account_for_lines(f"tdd {words[0]}")
        self.answer = answer
        return answer

    def machine(self, what: str, act: Callable[[], str | None], *, moves: bool = False) -> str | None:
        """Something else that `tdd` does, such as a hook's answer, or a verb that is killed.

        `moves`: it may take an agent's commit back.
        """
        before, removed = self.seen(), self.here.removed_by_asides()
        said = act()
        self._note(f"{what}: {said}")
        as_answer = Answer(("tdd", what), 0, said or "", "")
        if not moves:
            self.complain(undone_commits(before, self.seen(), as_answer, removed, self.agents))
        self._account_for_lines(what)
        self.answer = None
        return said

    # -- what holds after each step -----------------------------------------------------------------

    @invariant()
    def laws_hold(self) -> None:
        type(self).steps += 1
        self.status = status = self.here.status()
        if self.answer is not None:
            self.complain(different_next(self.answer, status))
        self._account_for_lines("")
        self.complain(unclaimed_though_clean(self.seen(), status))

    def follow_in_a_copy(self) -> None:
        """From here `next` leads to where nothing is open."""
        stage = Path(tempfile.mkdtemp(prefix="tdd-walk-copy."))
        try:
            copies = copy_places(self.places, stage)
            self.complain(follow(copies[self.at], self.hand, self.is_known))
        finally:
            remove_tree(stage)

    def teardown(self) -> None:
        try:
            if not self.failed:
                self.complain(follow(self.here, self.hand, self.is_known))
        finally:
            remove_tree(self.folder)

    # -- where lines are ----------------------------------------------------------------------------

    def _in_trees(self) -> frozenset[str]:
        others = (place.files() for name, place in self.places.items() if name != self.at)
        texts = (text for files in others for text in files.values())
        return self.seen().marks.union(*map(marks, texts))

    def _lost(self) -> frozenset[str]:
        """What is owed and is neither in a tree, nor kept by Verdigris, nor in git."""
        missing = self.owed - self._in_trees()
        for place in self.places.values() if missing else ():
            missing -= marks(place.kept())
        return missing - marks(self.here.in_git()) if missing else missing

    def _account_for_lines(self, who: str) -> None:
        """Every line that was ever written is somewhere, except those that a person took away."""
        lost = self._lost()
        if lost:
            self.complain([Wrong(f"lost: {who}", f"nobody gave up, and nothing has: {sorted(lost)}")])
        self.owed = (self.owed - lost) | self._in_trees()

    def _note(self, what: str) -> None:
        self._seen = None
        self.story.append(what if self.at == MAIN else f"[in {self.at}] {what}")


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
