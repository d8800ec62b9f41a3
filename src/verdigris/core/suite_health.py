"""How a suite stands: how many tests ran and passed, what keeps the others from running, and the cure."""

from __future__ import annotations

from verdigris.core.value import replace, value

NAMED = 3
"""Files that a line names."""
KEPT = 50
"""Files that are recorded."""
AGAIN = "then `tdd test`"


@value
class Hindrance:
    """What keeps tests from running, as the last run saw it."""

    what: str
    cure: str = ""
    """The next move, as a whole command or a sentence; empty if only the file itself can tell."""
    files: tuple[str, ...] = ()
    """Files that do not load."""
    unloaded: int = 0
    """How many there are."""
    tree: str = ""
    whole: bool = True
    """The run was one of all tests."""
    blocks: bool = False
    """No test that was asked for ran on the project's code: the cure is the next move."""
    silent: bool = False
    """No test ran at all."""
    stopped: bool = False
    """The run took longer than it was given."""
    elsewhere: bool = False
    """Tests load an installed copy of the project, so they say nothing about its code.

    Only runs that report what they loaded can tell.
    """

    @property
    def line(self) -> str:
        if not self.unloaded:
            return self.what
        count = "1 file does" if self.unloaded == 1 else f"{self.unloaded} files do"
        names = ", ".join((*self.files[:NAMED], *["…"] * (self.unloaded > NAMED)))
        return f"{count} not load: {names}: {self.what}"

    def record(self, tree: str, *, whole: bool) -> Hindrance:
        """The form in which it is recorded."""
        return replace(self, tree=tree, whole=whole, files=self.files[:KEPT])


@value
class SuiteCounts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def line(self) -> str:
        total = self.passed + self.failed + self.skipped
        if not total:
            return "no test runs"
        others = [f"{n} {word}" for n, word in ((self.failed, "fail"), (self.skipped, "skipped")) if n]
        counts = [f"{self.passed} pass", *others] if others else ["all pass" if total > 1 else "it passes"]
        return ", ".join((f"{total} tests" if total > 1 else "1 test", *counts))


def describe_suite(counts: SuiteCounts | None, hindrance: Hindrance | None) -> str:
    """The suite in one line; empty if nothing is known of it."""
    if hindrance is None:
        return counts.line if counts is not None else ""
    if hindrance.stopped:
        return hindrance.what
    if counts is None or (hindrance.blocks and hindrance.whole and not hindrance.elsewhere):
        return f"no test runs: {hindrance.line}"
    return f"{counts.line}; {hindrance.line}"
