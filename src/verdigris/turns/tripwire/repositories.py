"""Looks at repositories inside the worktree: a person's git, called there, runs what their settings name.

What they had is remembered. An agent's change that may run something is put back, and what is new of that
kind is taken away; commits, branches and remotes stay.
"""

# ruff: noqa: PTH112, PTH114, PTH118, PTH120 - names stay `str`

from __future__ import annotations

import marshal
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.events import Violation
from verdigris.storage.file_copies import NONE, changes, keep, look, look_below, put
from verdigris.storage.git import UNOBSERVED, program
from verdigris.storage.repository import is_git_dir

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verdigris.storage.file_copies import Entry
    from verdigris.storage.project import Project
    from verdigris.storage.stat_cache import Row

    Settings = dict[str, Entry]


KNOWN = "repositories"
DECIDING = ("config", "config.worktree", "commondir", "hooks")
"""By which git goes in a repository, beside its objects and refs."""
_HARMLESS = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|symlinks|ignorecase|precomposeunicode)"
    r"|extensions\.(objectformat|refstorage|partialclone)|user\.(name|email)|pull\.rebase"
    r"|remote\..+\.(url|pushurl|fetch|tagopt|promisor|partialclonefilter)|branch\..+\.(remote|merge|rebase)",
    re.DOTALL,
)


def is_of_a_repository(project: Project, path: str) -> bool:
    """Whether git would go by it, called in a folder that is a repository in plain files."""
    folder, _, name = path.rpartition("/")
    if name not in DECIDING:
        folder, _, name = folder.rpartition("/")
    return bool(folder) and name in DECIDING and is_git_dir(project.root / folder)


def close_repositories(project: Project, rows: Iterable[Row], *, by_agent: bool) -> list[str]:
    """Returns each `.git` below the worktree's own of which something was put back."""
    paths = (os.fsdecode(path).removesuffix(f"/{DECIDING[0]}") for path, *_ in rows)
    gits = sorted({path for path in paths if path.endswith("/.git")})
    file = Path(project.repo.private, KNOWN)
    known: dict[str, Settings] | None = None
    if file.is_file():
        known = marshal.loads(file.read_bytes())  # noqa: S302 - our own
    now: dict[str, Settings] = {git: _settings(project, git) for git in gits}
    undone = []
    for git, settings in now.items() if by_agent and known is not None else ():
        before = (known or {}).get(git) or dict.fromkeys(settings, NONE)
        if settings != before and not _is_harmless(project, git, settings):
            from verdigris.storage.calls.held_processes import hold, let_go

            hold(str(project.repo.private))
            project.record(*_put_back(project, before, settings))
            let_go(str(project.repo.private))
            now[git] = _settings(project, git)
            undone.append(git)
    if now != known:
        file.write_bytes(marshal.dumps(now))
    return undone


def _settings(project: Project, git: str) -> Settings:
    top = f"{project.root}/{git}"
    found: Settings = {}
    if os.path.isdir(top) and not os.path.islink(top):
        for name in DECIDING:
            look_below(f"{top}/{name}", found)
    else:
        found[top] = look(top)
    return found


def _put_back(project: Project, before: Settings, now: Settings) -> Iterator[Violation]:
    control = str(project.repo.control)
    for path, entry in [*changes({**dict.fromkeys(now, NONE), **before})]:
        if os.path.realpath(os.path.dirname(path)) != os.path.dirname(path):
            continue  # a process put a link there meanwhile: the next look takes it away
        what = f"names what a person's git would run{keep(control, path)}"
        put(path, entry)
        yield Violation(path=os.path.relpath(path, project.root), what=what, by=(project.context,))


def _is_harmless(project: Project, git: str, settings: Settings) -> bool:
    top = f"{project.root}/{git}"
    if top in settings:
        return _leads_home(project, top, settings[top])
    hooks = [path for path, (kind, *_) in settings.items() if f"{top}/hooks/" in path and kind != "none"]
    if not all(path.endswith(".sample") for path in hooks):
        return False
    if any(settings[f"{top}/{name}"] != NONE for name in ("commondir", "config.worktree")):
        return False
    kind, _, content = settings[f"{top}/config"]
    return kind == "none" or (kind == "file" and all(map(_HARMLESS.fullmatch, _keys(content))))


def _leads_home(project: Project, path: str, entry: Entry) -> bool:
    """Whether it is of a linked worktree or a submodule, whose settings no call can write."""
    kind, _, content = entry
    words = os.fsdecode(content).removeprefix("gitdir:").strip() if kind == "file" else path
    real = os.path.realpath(os.path.join(os.path.dirname(path), words))
    return kind == "none" or real.startswith(f"{project.repo.common_dir}/")


def _keys(content: bytes) -> list[str]:
    argv = [program(os.environ), "config", "--file", "-", "--no-includes", "--list", "--name-only", "-z"]
    import subprocess

    done = subprocess.run(
        argv, input=content, env=os.environ | UNOBSERVED, cwd="/", capture_output=True, check=False
    )
    return os.fsdecode(done.stdout).split("\0")[:-1] if done.returncode == 0 else ["unreadable"]
