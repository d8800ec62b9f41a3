"""Finds the changes that an audit judges: the commits of a range, each with the trees before and after it.

A range is named by the user, or found by what `git push` is about to send.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from verdigris.core.errors import NotARepository, StorageError, UserError
from verdigris.core.value import replace, value
from verdigris.drivers.audit.report import AuditReport, Commit, UnitReport
from verdigris.storage.git import Git, null_split, users_git
from verdigris.storage.repository import Repository, find_repository
from verdigris.storage.snapshots.objects import Elsewhere, Objects

_FIELDS = "%H%x00%P%x00%an%x00%ct%x00%s%x00%T"
_COUNT = _FIELDS.count("%x00") + 1
_DEEPER = "fetch the history: `git fetch --unshallow`, or `fetch-depth: 0` of the checkout action in CI"


@value
class Selection:
    """Which changes of a range are judged."""

    range: str
    squash: bool = False
    """The whole range as one change, as a pull request is."""
    merged: bool = False
    """Judge of a merge what its second parent brought since both parted, not what it did to the first."""
    since: str = ""
    author: str = ""
    paths: tuple[str, ...] = ()
    shard: tuple[int, int] = (1, 1)
    """The number of the part, counted from 1, and how many parts there are."""


@value
class Unit:
    commit: Commit
    before: str
    """A tree, as `after` is."""
    after: str


@value
class Range:
    text: str
    base: str
    """Empty if the first commit of the history is part of the range."""
    head: str
    units: tuple[Unit, ...]
    """The oldest first."""


def find_units(repo: Repository, asked: Selection) -> Range:
    git = users_git(repo)
    base, head = _ends(git, asked.range)
    if asked.squash:
        for option, given in (("--since", asked.since), ("--author", asked.author), ("--path", asked.paths)):
            if given:
                what = (
                    f"`--squash` judges the whole range as one change, and `{option}` chooses commits of it."
                )
                raise UserError(what, hint="leave one of them out")
        units = _squash(git, base, head)
    else:
        units = tuple(_unit(git, commit, tree, asked) for commit, tree in _commits(git, base, head, asked))
    part, parts = asked.shard
    return Range(asked.range, base, head, units[part - 1 :: parts])


def _ends(git: Git, text: str) -> tuple[str, str]:
    """Returns the commit before the first one, and the last one; `A...B` begins where both parted."""
    if "HEAD" in text and _verify(git, "HEAD^{commit}") is None:
        raise UserError(
            "this branch has no commit yet, so there is nothing to audit.",
            hint="commit first, or name a range of another branch: `tdd audit A..B`",
        )
    if "..." in text:
        left, right = (_resolve(git, word or "HEAD", text) for word in text.split("...", 1))
        return _parting(git, left, right), right
    if ".." in text:
        left, right = (_resolve(git, word or "HEAD", text) for word in text.split("..", 1))
        return left, right
    head = _resolve(git, text, text)
    return _verify(git, f"{head}^1^{{commit}}") or "", head


def _resolve(git: Git, word: str, text: str) -> str:
    found = _verify(git, f"{word}^{{commit}}")
    if found is None:
        known = "`git log --oneline` and `git branch --all` show what there is"
        raise UserError(
            f"there is no commit {word!r} in this repository, so {text!r} is not a range of it.",
            hint=_DEEPER if _is_shallow(git) else known,
        )
    return found


def _parting(git: Git, left: str, right: str) -> str:
    """Returns the commit at which both parted, or nothing if they have no commit in common."""
    found = _ask(git, "merge-base", left, right)
    if found is None and _is_shallow(git):
        raise UserError("this clone is too shallow to tell where the branches parted.", hint=_DEEPER)
    return found or ""


def _commits(git: Git, base: str, head: str, asked: Selection) -> list[tuple[Commit, str]]:
    filters = [
        f"--{name}={text}" for name, text in (("since", asked.since), ("author", asked.author)) if text
    ]
    words = ["log", "-z", f"--format={_FIELDS}", "--first-parent", "--reverse", *filters, head]
    words += [f"^{base}"] if base else []
    output = git.call(*words, "--", *asked.paths)
    if output.code != 0:
        raise UserError(f"git cannot list {asked.range}: {output.stderr}", hint="look at the filters")
    fields = os.fsdecode(output.stdout).split("\0")
    rows = [fields[at : at + _COUNT] for at in range(0, len(fields) - 1, _COUNT)]
    return [_read(row) for row in rows]


def _read(row: Sequence[str]) -> tuple[Commit, str]:
    name, parents, author, time, title, tree = row
    date = datetime.fromtimestamp(int(time), UTC).isoformat().replace("+00:00", "Z")
    return Commit(_plain(name), tuple(parents.split()), _plain(title), _plain(author), date), tree


def _plain(text: str) -> str:
    """Replaces bytes that are no UTF-8: a report is text for everybody."""
    return os.fsencode(text).decode("utf-8", "replace")


def _unit(git: Git, commit: Commit, tree: str, asked: Selection) -> Unit:
    if not commit.parents:
        _refuse_boundary(git, commit)
        return Unit(commit, _empty(git), tree)
    if asked.merged and len(commit.parents) > 1:
        second = commit.parents[1]
        start = _parting(git, commit.parents[0], second)
        return Unit(commit, _tree(git, start), _tree(git, second))
    return Unit(commit, _tree(git, commit.parents[0]), tree)


def _squash(git: Git, base: str, head: str) -> tuple[Unit, ...]:
    start = _parting(git, base, head) if base else ""
    if start == head:
        return ()
    fields = os.fsdecode(git.run("log", "-1", "-z", f"--format={_FIELDS}", head)).rstrip("\0").split("\0")
    commit, tree = _read(fields)
    if not start:
        _refuse_boundary(git, commit)
    count = int(git.run("rev-list", "--count", head, *([f"^{start}"] if start else [])))
    title = commit.title if count == 1 else f"{count} commits up to: {commit.title}"
    commit = replace(commit, parents=(start,) if start else (), title=title)
    return (Unit(commit, _tree(git, start), tree),)


def _refuse_boundary(git: Git, commit: Commit) -> None:
    """A shallow clone shows its last commit as if it had no parent."""
    boundary: list[str] = []
    if _is_shallow(git):
        with suppress(OSError):
            place = _ask(git, "rev-parse", "--git-path", "shallow") or ""
            boundary = (git.root / place).read_text("ascii").split()
    if commit.id in boundary:
        raise UserError(f"the parent of {commit.id[:12]} is not in this shallow clone.", hint=_DEEPER)


def _tree(git: Git, commit: str) -> str:
    if not commit:
        return _empty(git)
    with suppress(Elsewhere):
        return Objects(git.git_dir).tree_of(commit)
    found = _verify(git, f"{commit}^{{tree}}")
    if found is None:
        raise StorageError(
            f"the tree of {commit[:12]} is not in this repository",
            hint=_DEEPER if _is_shallow(git) else "`git fsck` looks for what is lost",
        )
    return found


def _empty(git: Git) -> str:
    return os.fsdecode(git.run("hash-object", "-t", "tree", "--stdin")).strip()


def _is_shallow(git: Git) -> bool:
    return _ask(git, "rev-parse", "--is-shallow-repository") == "true"


def _verify(git: Git, name: str) -> str | None:
    """Returns the id of the object that a name stands for, or None if it is not in this repository."""
    return _ask(git, "rev-parse", "--verify", "--quiet", "--end-of-options", name)


def _ask(git: Git, *words: str) -> str | None:
    output = git.call(*words)
    return os.fsdecode(output.stdout).strip() if output.code == 0 and output.stdout.strip() else None


MOST_COMMITS = 50
"""How many of its newest commits are audited if no remote has any commit of a branch."""


@value
class PushedRef:
    """A line of the standard input that git gives a pre-push hook."""

    local: str
    local_id: str
    """Zeros if the push deletes the remote's ref."""
    remote: str
    remote_id: str
    """Zeros if the remote has no such ref yet."""


@value
class PushedRange:
    base: str
    head: str
    ref: str
    """The name of the branch, for people."""

    @property
    def text(self) -> str:
        return f"{self.base}..{self.head}"


def parse_refs(text: str) -> tuple[PushedRef, ...]:
    refs = []
    for line in filter(str.strip, text.splitlines()):
        words = line.split()
        if len(words) != 4:  # noqa: PLR2004 - as git writes it
            raise UserError(
                f"this is not a line of a pre-push hook: {line!r}",
                hint="git writes `LOCAL-REF LOCAL-ID REMOTE-REF REMOTE-ID`; hand its standard input on",
            )
        refs.append(PushedRef(*words))
    return tuple(refs)


def ranges_by_refs(repo: Repository, refs: tuple[PushedRef, ...]) -> tuple[PushedRange, ...]:
    """Returns for each ref the commits that no remote has; a deletion brings none."""
    git = users_git(repo)
    found = [_range_of(git, ref) for ref in refs if not is_zero(ref.local_id)]
    by_text = {one.text: one for one in found if one is not None}
    return tuple(by_text.values())


def range_by_environment(environment: Mapping[str, str]) -> PushedRange | None:
    """Reads the range from pre-commit's variables, since its hooks get no standard input."""
    base, head = environment.get("PRE_COMMIT_FROM_REF"), environment.get("PRE_COMMIT_TO_REF")
    if not base or not head:
        return None
    ref = environment.get("PRE_COMMIT_LOCAL_BRANCH") or head
    return PushedRange(base, head, ref.removeprefix("refs/heads/"))


def is_zero(object_id: str) -> bool:
    return not object_id.strip("0")


def _range_of(git: Git, ref: PushedRef) -> PushedRange | None:
    head = _verify(git, f"{ref.local_id}^{{commit}}")
    if head is None:
        return None
    # None also if somebody else pushed it, so that it is not here.
    known = None if is_zero(ref.remote_id) else _verify(git, f"{ref.remote_id}^{{commit}}")
    there = [f"^{known}"] if known else []
    walk = ("rev-list", "--boundary", "--topo-order", head, *there, "--not", "--remotes")
    lines = git.run(*walk).decode().split()
    commits = [line for line in lines if not line.startswith("-")]
    if not commits:
        return None
    edges = [line[1:] for line in lines if line.startswith("-")]
    base = edges[0] if edges else _older(git, head)
    return PushedRange(base, head, ref.local.removeprefix("refs/heads/")) if base else None


def _older(git: Git, head: str) -> str | None:
    """Returns a commit some way back; in a short history the first one, which has no tree before it."""
    walk = ("rev-list", "--first-parent", f"--max-count={MOST_COMMITS + 1}", head)
    commits = git.run(*walk).decode().split()
    return commits[-1] if len(commits) > 1 else None


MOST_LINES = 500
"""Lines of one change's diff that are shown."""
_LARGEST = 1 << 18
"""Bytes; a larger file is only named."""
_DIFF = ("--literal-pathspecs", "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")


def read_diffs(start: Path, report: AuditReport) -> dict[str, str]:
    """Returns diffs of source and tests by commit, for a page to show.

    A change whose trees are not in this repository has none: a report may be shown elsewhere.
    """
    try:
        git = users_git(find_repository(start))
    except NotARepository:
        return {}
    found = {unit.commit.id: _read_diff(git, unit) for unit in report.units if unit.paths}
    return {commit: text for commit, text in found.items() if text}


def _read_diff(git: Git, unit: UnitReport) -> str:
    large = {path for tree in (unit.before, unit.after) for path in _list_large(git, tree, unit.paths)}
    shown = [path for path in unit.paths if path not in large]
    output = git.call(*_DIFF, unit.before, unit.after, "--", *shown) if shown else None
    lines = os.fsdecode(output.stdout).splitlines() if output is not None and output.code == 0 else []
    rest = [f"… and {len(lines) - MOST_LINES} lines more"] if len(lines) > MOST_LINES else []
    return "\n".join((*lines[:MOST_LINES], *rest, *(f"… {path} is large" for path in sorted(large))))


def _list_large(git: Git, tree: str, paths: tuple[str, ...]) -> Iterator[str]:
    listed = git.call("--literal-pathspecs", "ls-tree", "-r", "-l", "-z", "--full-tree", tree, "--", *paths)
    for row in null_split(listed.stdout) if listed.code == 0 else ():
        about, _, path = row.partition("\t")
        size = about.split()[-1]
        if size.isdecimal() and int(size) > _LARGEST:
            yield path
