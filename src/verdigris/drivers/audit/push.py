"""Says which commits a push would bring to a remote, from what git tells a pre-push hook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.value import value
from verdigris.storage.git import users_git

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.storage.git import Git
    from verdigris.storage.repository import Repository

MOST_COMMITS = 50
"""Of a branch that no remote knows anything of: its newest ones are audited."""


@value
class PushedRef:
    """A line that git hands a pre-push hook."""

    local: str
    local_id: str
    """Zeros: the remote's is to be deleted."""
    remote: str
    remote_id: str
    """Zeros: the remote has none yet."""


@value
class PushedRange:
    base: str
    head: str
    ref: str
    """As people call what is pushed."""

    @property
    def text(self) -> str:
        return f"{self.base}..{self.head}"


def parse_refs(text: str) -> tuple[PushedRef, ...]:
    refs = []
    for line in filter(str.strip, text.splitlines()):
        words = line.split()
        if len(words) != 4:  # noqa: PLR2004 - as git writes it
            raise UserError(
                f"this is no line of a pre-push hook: {line!r}",
                hint="git writes `LOCAL-REF LOCAL-ID REMOTE-REF REMOTE-ID`; hand its standard input on",
            )
        refs.append(PushedRef(*words))
    return tuple(refs)


def ranges_by_refs(repo: Repository, refs: tuple[PushedRef, ...]) -> tuple[PushedRange, ...]:
    """What each ref brings that no remote has; deletions and what is there already bring nothing."""
    git = users_git(repo)
    found = [_range_of(git, ref) for ref in refs if not is_zero(ref.local_id)]
    by_text = {one.text: one for one in found if one is not None}
    return tuple(by_text.values())


def range_by_environment(environment: Mapping[str, str]) -> PushedRange | None:
    """As pre-commit tells its hooks, which get no standard input."""
    base, head = environment.get("PRE_COMMIT_FROM_REF"), environment.get("PRE_COMMIT_TO_REF")
    if not base or not head:
        return None
    ref = environment.get("PRE_COMMIT_LOCAL_BRANCH") or head
    return PushedRange(base, head, ref.removeprefix("refs/heads/"))


def is_zero(object_id: str) -> bool:
    return not object_id.strip("0")


def _range_of(git: Git, ref: PushedRef) -> PushedRange | None:
    head = _commit(git, ref.local_id)
    if head is None:
        return None
    known = _commit(git, ref.remote_id) if not is_zero(ref.remote_id) else None
    there = [f"^{known}"] if known else []
    walk = ("rev-list", "--boundary", "--topo-order", head, *there, "--not", "--remotes")
    lines = git.run(*walk).decode().split()
    commits = [line for line in lines if not line.startswith("-")]
    if not commits:
        return None
    edges = [line[1:] for line in lines if line.startswith("-")]
    base = edges[0] if edges else _older(git, head)
    return PushedRange(base, head, ref.local.removeprefix("refs/heads/")) if base else None


def _commit(git: Git, object_id: str) -> str | None:
    """None where it is no commit, or is not here: another has pushed since."""
    output = git.call("rev-parse", "--verify", "--quiet", f"{object_id}^{{commit}}")
    return output.stdout.decode().strip() if output.code == 0 else None


def _older(git: Git, head: str) -> str | None:
    """Some way back; of a short history the first commit, which has nothing before it to compare with."""
    walk = ("rev-list", "--first-parent", f"--max-count={MOST_COMMITS + 1}", head)
    commits = git.run(*walk).decode().split()
    return commits[-1] if len(commits) > 1 else None
