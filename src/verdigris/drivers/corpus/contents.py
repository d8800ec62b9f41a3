"""What a corpus holds before it is written, the repository's name, and patches by path class."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from verdigris.core.paths import PathClass, classify
from verdigris.core.value import value
from verdigris.drivers.corpus.triple import CommitPatches
from verdigris.storage.git import users_git

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.paths import Classes
    from verdigris.drivers.corpus.session_source import Trajectory
    from verdigris.drivers.corpus.tree_objects import TreeObjects
    from verdigris.drivers.corpus.triple import LeftOut, Triple
    from verdigris.storage.repository import Repository

_REMOTE = re.compile(r"[:/](?P<owner>[^/:]+)/(?P<name>[^/]+?)(\.git)?/?$")
_CREDENTIALS = re.compile(r"(?<=://)[^/@]+@")
ORACLE = frozenset({PathClass.TEST, PathClass.SPEC})


class NoTripleMade(Exception):
    """A change of which no triple can be made; it says why."""


@value
class CorpusContents:
    triples: tuple[Triple, ...] = ()
    trajectories: tuple[Trajectory, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def __add__(self, other: CorpusContents) -> CorpusContents:
        return CorpusContents(
            self.triples + other.triples,
            self.trajectories + other.trajectories,
            self.left_out + other.left_out,
        )


@value
class RenderedCorpus:
    """A corpus in one format."""

    files: tuple[tuple[str, bytes], ...]
    """By path, in the order in which they are written."""
    rows: Mapping[str, int]
    """By split."""
    left_out: tuple[LeftOut, ...] = ()


@value
class RepositoryName:
    name: str
    """`owner/name`; `local/FOLDER` where it has no remote."""
    remote: str = ""


def name_repository(repo: Repository, given: str = "") -> RepositoryName:
    """From the remote `origin`; credentials in its address are left out."""
    asked = users_git(repo).call("config", "--get", "remote.origin.url")
    remote = _CREDENTIALS.sub("", os.fsdecode(asked.stdout).strip()) if asked.code == 0 else ""
    found = _REMOTE.search(remote)
    folder = (repo.common_dir.parent if repo.common_dir.name == ".git" else repo.root).name
    remote = remote if "://" in remote or re.match(r"[\w.-]+@[\w.-]+:", remote) else ""
    if given:
        return RepositoryName(given, remote)
    named = f"{found['owner']}/{found['name']}" if found and remote else f"local/{folder}"
    return RepositoryName(named, remote)


def patches_against(objects: TreeObjects, classes: Classes, old: str, new: str) -> CommitPatches:
    """All that changed, tests and specs apart from the rest."""
    changed = [change.path for change in objects.changes(old, new)]
    tests = [path for path in changed if classify(path, classes) in ORACLE]
    others = [path for path in changed if path not in frozenset(tests)]
    return CommitPatches(objects.patch(old, new, tests), objects.patch(old, new, others))
