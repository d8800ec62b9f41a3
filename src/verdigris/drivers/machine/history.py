"""Reads the machine's history from commit trailers and the log, and derives the next step from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path

from verdigris.core.errors import VerdigrisError
from verdigris.core.paths import PathClass
from verdigris.core.state import PassedStep, Red, WorktreeState
from verdigris.core.value import value
from verdigris.drivers.commits import flat
from verdigris.drivers.edits import as_tree, shown_entries
from verdigris.drivers.machine.open_machine import place
from verdigris.models.roles import Role
from verdigris.models.roles.context import Tree
from verdigris.models.roles.teams import MACHINE
from verdigris.storage.git import ask_users_git, users_git
from verdigris.storage.lock import is_held
from verdigris.storage.project import Project
from verdigris.storage.repository import Repository, find_repository, head
from verdigris.storage.snapshots.trees import Trees

TESTER, CODER, REFACTORER = MACHINE.roles
LOOKED_AT = 400
"""How many commits are read, the newest first."""
_TRAILERS = ("TDD-Step", "TDD-Role", "TDD-Test", "TDD-Point", "TDD-Concern")
_FORMAT = "%x1e%H%x1f" + "".join(f"%(trailers:key={key},valueonly,unfold)%x1f" for key in _TRAILERS) + "%s"


@value
class CommitText:
    """A commit as git shows it."""

    commit: str
    subject: str
    made: MachineCommit | None
    """Its facts, if the machine made it."""


def commits(root: Path) -> tuple[CommitText, ...]:
    """The commits of HEAD and its first parents, the newest first."""
    return _read_log(root, "--first-parent")


def machine_commits(root: Path) -> tuple[MachineCommit, ...]:
    """The machine's commits, the last step first; a merge may have brought them from either side."""
    found = (told.made for told in _read_log(root, "--topo-order") if told.made is not None)
    return tuple(sorted(found, key=lambda commit: -commit.step))


def _read_log(root: Path, which: str) -> tuple[CommitText, ...]:
    return _read_log_of(root, head(find_repository(root)).commit or "HEAD", which)


@lru_cache(maxsize=8)
def _read_log_of(root: Path, commit: str, which: str) -> tuple[CommitText, ...]:
    """Cached: it is called many times in a step, and the history of a commit never changes."""
    text = ask_users_git(root, "log", which, f"--max-count={LOOKED_AT}", f"--format={_FORMAT}", commit)
    return tuple(_parse_commit(part) for part in text.split("\x1e")[1:])


def _parse_commit(part: str) -> CommitText:
    commit, steps, roles, tests, points, concerns, subject = part.split("\x1f", 6)
    step = (steps.split() or [""])[-1]
    role = (roles.split() or [""])[-1]
    subject = subject.strip("\n")
    if not step.isdecimal() or role not in set(MACHINE.names):
        return CommitText(commit, subject, None)
    numbers = tuple(int(point) for point in points.split() if point.isdecimal())
    made = MachineCommit(
        commit,
        int(step),
        MACHINE.role(role),
        tuple(tests.splitlines()),
        subject,
        numbers,
        tuple(line for line in concerns.splitlines() if line.strip()),
        squashed=len(roles.split()) > 1,
    )
    return CommitText(commit, subject, made)


@value
class ProjectRecord:
    """The files of HEAD, and the history since the machine's first commit."""

    files: Tree
    ages: Mapping[str, int]
    """Path → the number of the commit that changed it last, counted from the machine's first."""
    history: tuple[str, ...]
    """Subjects, the oldest first."""


def record(
    repo: Repository, history: tuple[CommitText, ...], classify: Callable[[str], PathClass]
) -> ProjectRecord:
    machines = [number for number, told in enumerate(history) if told.made is not None]
    since = history[: machines[-1] + 1] if machines else ()
    below = history[len(since)].commit if len(since) < len(history) else None
    files = _files(repo, history[0].commit, classify) if history else {}
    ages: dict[str, int] = {}
    changed = _changed_paths(repo.root, below) if since else ()
    for number, paths in enumerate(reversed(changed), 1):
        ages |= dict.fromkeys((path for path in paths if path in files), number)
    return ProjectRecord(files, ages, tuple(told.subject for told in reversed(since)))


def _changed_paths(root: Path, below: str | None) -> tuple[tuple[str, ...], ...]:
    """The paths of each commit since then, the newest first."""
    which = "HEAD" if below is None else f"{below}..HEAD"
    words = ("--first-parent", "-m", "--name-only", "--no-renames", "-z", "--format=%x1e")
    text = ask_users_git(root, "log", *words, f"--max-count={LOOKED_AT}", which)
    return tuple(tuple(filter(None, re.split(r"[\0\n]+", part))) for part in text.split("\x1e")[1:])


def _files(repo: Repository, commit: str, classify: Callable[[str], PathClass]) -> Tree:
    trees = Trees(users_git(repo))
    files = trees.files(commit)
    shown = shown_entries(files, classify)
    data = trees.blobs(entry.blob for entry in shown)
    return as_tree(files, {entry.path: found for entry, found in zip(shown, data, strict=True)})


SENT_BACK = "sent-back"
"""The implementor failed, or said that the test is wrong: the tester looks at it again."""
UPHELD = "test-is-right"
"""The tester keeps its test: the implementor tries once more."""
NOTHING_TO_DO = "nothing-to-do"
NOTHING_RED = "nothing-red"


@value
class MachineCommit:
    """A commit of the machine's."""

    commit: str
    step: int
    role: Role
    tests: tuple[str, ...] = ()
    """The ids of tests in its trailers."""
    subject: str = ""
    points: tuple[int, ...] = ()
    """The points of the kata that its test covers."""
    concerns: tuple[str, ...] = ()
    squashed: bool = False
    """It consists of more than one step."""


@value
class Position:
    step: int = 1
    role: Role = TESTER
    after: str = ""
    """The machine's last commit."""
    finding: str = ""
    """Why the test was sent back to the tester, or why the tester kept it."""
    tests: tuple[str, ...] = ()
    """The tests of the machine's last commit, which the tester left red."""
    returned: bool = False
    """The test of this round was sent back once already."""
    concerns: tuple[str, ...] = ()
    """Concerns about the machine's last commit."""
    points: tuple[int, ...] = ()
    """The points of the kata that tests cover so far, by the testers' words."""


def position(made: Sequence[MachineCommit], passed: Sequence[PassedStep]) -> Position:
    """`made`: commits, the newest first. `passed`: steps without a commit; those after the last one count."""
    step, role, after = (made[0].step, made[0].role, made[0].commit) if made else (0, REFACTORER, "")
    following, finding = MACHINE.after(role), ""
    for done in passed:
        if done.step <= step or done.after != after:
            continue
        step = done.step
        back = done.outcome == SENT_BACK
        following = TESTER if back else MACHINE.after(MACHINE.role(done.role))
        finding = done.why if back or done.outcome == UPHELD else ""
    tests = made[0].tests if made else ()
    # The commits of the open round: if its test was sent back, that came after one of them.
    round_ = {each.commit for each in takewhile(lambda each: each.role is TESTER, made)} if made else {""}
    return Position(
        step + 1,
        following,
        after,
        finding,
        tests,
        any(done.outcome == SENT_BACK and done.after in round_ for done in passed),
        made[0].concerns if made else (),
        tuple(sorted({point for each in made for point in each.points})),
    )


@value
class MachineSurvey:
    step: int
    role: str
    last: int
    """The last step of the open run; 0 if there is none."""
    running: bool
    root: str
    """Where the machine works."""
    commit: str
    subject: str
    stopped: PassedStep | None
    reds: tuple[Red, ...]


def survey_machine(home: Project) -> MachineSurvey | None:
    """None if its history cannot be read."""
    try:
        root, here = _working_place(home)
        made = machine_commits(root)
    except VerdigrisError:
        return None
    now = position(made, here.machine.passed)
    newest = made[0] if made else None
    # The reds that the tester left for the next role; other failures are not listed.
    is_left = now.role is CODER or (now.role is TESTER and bool(now.finding))
    return MachineSurvey(
        now.step,
        now.role.name,
        here.machine.last,
        is_held(home.repo.lock("machine")),
        str(root),
        newest.commit if newest else "",
        newest.subject if newest else "",
        here.machine.stopped,
        tuple(red for red in here.reds.values() if is_left and flat(red.test_id) in now.tests),
    )


def _working_place(home: Project) -> tuple[Path, WorktreeState]:
    """The private worktree of the user's branch if it is used, else the user's own."""
    own = home.state()
    branch = head(home.repo).branch
    private = None if branch is None else place(home.repo, branch)
    if own.machine.runs or private is None or not (private / ".git").exists():
        return home.root, own
    return private, home.log.state().of(find_repository(private).worktree)
