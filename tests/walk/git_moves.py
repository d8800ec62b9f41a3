"""Rules of a walk: what a person does with git."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from walk.handwriting import has_conflict, resolved
from walk.journey import MAIN, Journey

PICK = st.integers(0, 3)
LINKED = "linked"
MOST_BRANCHES = 4


class GitMoves(Journey):
    @precondition(lambda self: not self.seen().clean)
    @rule()
    def commit_all(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "all")

    @precondition(lambda self: not self.seen().clean)
    @rule()
    def commit_tracked(self) -> None:
        self.git("commit", "--quiet", "--all", "--message", "tracked")

    @precondition(lambda self: not self.seen().clean)
    @rule(pick=PICK)
    def commit_one_file(self, pick: int) -> None:
        for path in self._changed(pick):
            self.git("add", "--", path)
            self.git("commit", "--quiet", "--message", f"only {path}")

    @rule()
    def amend(self) -> None:
        self.git("commit", "--quiet", "--all", "--amend", "--no-edit", "--allow-empty")

    @precondition(lambda self: len(self.branches()) < MOST_BRANCHES)
    @rule()
    def make_a_branch(self) -> None:
        self.git("switch", "--quiet", "--create", f"b{len(self.branches())}")

    @precondition(lambda self: len(self.branches()) > 1)
    @rule(pick=PICK)
    def switch(self, pick: int) -> None:
        self.git("switch", "--quiet", self._branch(pick))

    @precondition(lambda self: not self.seen().clean)
    @rule(pick=PICK)
    def discard_a_file(self, pick: int) -> None:
        for path in self._changed(pick):
            self.git("checkout", "--", path)

    @precondition(lambda self: not self.seen().clean)
    @rule(untracked=st.booleans())
    def stash(self, *, untracked: bool) -> None:
        self.git("stash", "push", "--quiet", *(("--include-untracked",) if untracked else ()))

    @precondition(lambda self: self.has_stash())
    @rule()
    def pop(self) -> None:
        self.git("stash", "pop", "--quiet")

    @precondition(lambda self: len(self.branches()) > 1)
    @rule(pick=PICK, forward=st.booleans())
    def merge(self, pick: int, *, forward: bool) -> None:
        self.git("merge", "--quiet", "--no-edit", "--ff" if forward else "--no-ff", self._branch(pick))

    @precondition(lambda self: len(self.branches()) > 1)
    @rule(pick=PICK)
    def rebase(self, pick: int) -> None:
        self.git("rebase", "--quiet", self._branch(pick))

    @rule(back=st.integers(0, 1))
    def revert(self, back: int) -> None:
        self.git("revert", "--no-edit", f"HEAD~{back}")

    @rule(how=st.sampled_from(("hard", "soft", "mixed")), back=st.integers(0, 2))
    def reset(self, how: str, back: int) -> None:
        """Never behind the commit that set Verdigris up."""
        if self.here.git("rev-list", "--count", "HEAD").out.strip() > str(back + 2):
            self.git("reset", "--quiet", f"--{how}", f"HEAD~{back}")

    @precondition(lambda self: self.in_progress)
    @rule(finish=st.booleans())
    def end_what_is_in_progress(self, *, finish: bool) -> None:
        """Resolve the conflicts with both sides, or drop it."""
        names = {"MERGE_HEAD": "merge", "REVERT_HEAD": "revert", "REBASE_HEAD": "rebase"}
        verbs = [
            verb
            for ref, verb in names.items()
            if self.here.git("rev-parse", "--verify", "--quiet", ref).code == 0
        ]
        for verb in verbs[:1]:
            if not finish:
                self.git(verb, "--abort")
                continue
            for path, text in self.here.files().items():
                if has_conflict(text):
                    self.edit(path, resolved(text))
            self.git("add", "--all")
            self.git(verb, "--continue")

    @precondition(lambda self: LINKED not in self.places)
    @rule(pick=PICK)
    def add_a_worktree(self, pick: int) -> None:
        folder, names = self.folder / LINKED, self.branches()
        self.git("worktree", "add", "--quiet", "-b", LINKED, str(folder), names[pick % len(names)])
        self.places[LINKED] = self.places[MAIN].linked(folder)
        self.owed |= self.places[LINKED].sight().marks

    @precondition(lambda self: LINKED in self.places)
    @rule()
    def go_to_the_other_worktree(self) -> None:
        self.at = LINKED if self.at == MAIN else MAIN
        self.answer = self._seen = None

    def has_stash(self) -> bool:
        return (self._refs / "stash").exists()

    def branches(self) -> list[str]:
        return sorted(branch.name for branch in (self._refs / "heads").iterdir())

    @property
    def _refs(self) -> Path:
        return self.places[MAIN].root / ".git" / "refs"

    def _branch(self, pick: int) -> str:
        """Another than the one that is checked out."""
        names = [name for name in self.branches() if name != self.seen().branch]
        return names[pick % len(names)]

    def _changed(self, pick: int) -> list[str]:
        paths = [row.rpartition(" ")[2] for row in self.seen().status.splitlines() if not row.endswith("/")]
        return [paths[pick % len(paths)]] if paths else []
