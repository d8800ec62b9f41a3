"""A worktree of the walk: real git, the real verbs, and what lies on the disk."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from support.cli import Cli, Ran
from support.forked import _become
from support.gitrepo import GitRepo, copied, make_repo
from support.hooks import Client
from support.killing import _arm
from support.trees import copy_tree, walk
from support.turns import CONFIG, QUICK, World, remember_interpreter
from verdigris.cli.context import PERSON
from verdigris.cli.worktree import survey_document
from verdigris.core.records import Actor
from verdigris.storage.project import open_project
from verdigris.turns.survey import survey
from walk.handwriting import MODULES, Hand, marks, test_file

_NOBODYS = frozenset({".git", "__pycache__", ".pytest_cache"})
_NEXT = re.compile(r"^next: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    """What a command of `tdd` or git said."""

    argv: tuple[str, ...]
    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return f"$ {' '.join(self.argv)}\n{self.out}{self.err}(exit code {self.code})"

    @property
    def next(self) -> str | None:
        """The next move that it named last."""
        found = _NEXT.findall(self.out) or _NEXT.findall(self.err)
        return found[-1] if found else None

    @property
    def refused(self) -> bool:
        """Denied, a wrong usage, or our own fault."""
        return self.code not in {0, 1, 4}


@dataclass(frozen=True)
class Sight:
    """A worktree at one moment, without the kernel's own knowledge."""

    files: Mapping[str, str]
    head: str
    branch: str
    committed: Mapping[str, str]
    """The files of HEAD."""
    status: str
    """As git tells it."""

    @property
    def clean(self) -> bool:
        return not self.status

    @cached_property
    def marks(self) -> frozenset[str]:
        return frozenset().union(*map(marks, self.files.values()))

    @property
    def committed_marks(self) -> frozenset[str]:
        return frozenset().union(*map(marks, self.committed.values()))

    @property
    def changed_marks(self) -> frozenset[str]:
        """Of lines that either HEAD or the worktree has."""
        return self.marks ^ self.committed_marks


@dataclass
class Place:
    repo: GitRepo
    _commits: dict[str, dict[str, str]] = field(default_factory=dict)
    """The files of each commit that was looked at; places of one repository share them."""

    @property
    def root(self) -> Path:
        return self.repo.root

    @property
    def cli(self) -> Cli:
        return Cli(self.repo)

    @property
    def world(self) -> World:
        return World(self.repo)

    @property
    def client(self) -> Client:
        return Client(self.world)

    def tdd(self, *words: str) -> Answer:
        ran: Ran = self.cli.tdd(*words)
        return Answer(("tdd", *words), ran.code, ran.out, ran.err)

    def killed(self, step: int, *words: str) -> bool:
        """Whether the command was killed at this step; otherwise it ended before."""
        pid = os.fork()
        if not pid:
            _arm(step, writes=False)
            nothing = os.open(os.devnull, os.O_RDWR)
            _become(words, self.root, self.cli.environment(), (nothing, nothing, nothing))
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL

    def git(self, *words: str) -> Answer:
        """A command that may fail, as it does for people."""
        done = subprocess.run(
            ["git", *words], cwd=self.root, env=self._git_environment(), capture_output=True, check=False
        )
        return Answer(("git", *words), done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))

    def _git_environment(self) -> dict[str, str]:
        return self.repo.environment | {"GIT_EDITOR": "true"}

    def status(self) -> dict[str, Any]:
        """What `tdd status --json` says, without a process for it."""
        return survey_document(survey(open_project(self.root, PERSON)))

    def agents_next(self) -> str:
        """An agent claims by an edit, where a person is told the command."""
        return survey(open_project(self.root, Actor("agent", "", ""))).next

    def read(self, path: str) -> str:
        file = self.root / path
        return file.read_text() if file.exists() else ""

    def write(self, path: str, text: str) -> None:
        self.repo.write(path, text)

    def files(self) -> dict[str, str]:
        return {path: Path(full).read_text() for path, full, _ in walk(str(self.root), _NOBODYS)}

    def sight(self) -> Sight:
        told = self.git("--no-optional-locks", "status", "--porcelain=v2", "--branch").out.splitlines()
        about = dict(row[2:].split(" ", 1) for row in told if row.startswith("# "))
        changed = [row for row in told if not row.startswith("# ")]
        head = about["branch.oid"]
        return Sight(self.files(), head, about["branch.head"], self._committed(head), "\n".join(changed))

    def _committed(self, commit: str) -> dict[str, str]:
        if commit not in self._commits:
            rows = self.git("ls-tree", "-r", commit).out.splitlines()
            told = [(row.split()[2], row.partition("\t")[2]) for row in rows]
            self._commits[commit] = {path: self.git("cat-file", "blob", blob).out for blob, path in told}
        return self._commits[commit]

    def in_git(self) -> str:
        """Everything that is reachable from refs, reflogs, stashes and the index."""
        rows = self.git("rev-list", "--all", "--reflog", "--indexed-objects", "--objects").out
        ids = "\n".join(row.split()[0] for row in rows.splitlines())
        return self.repo.run("cat-file", "--batch", stdin=ids.encode()).decode(errors="replace")

    def kept(self) -> str:
        """What is set aside or displaced in this worktree."""
        from verdigris.turns.aside import list_displaced_files

        project = self.world.project
        read = project.workspace.read
        laid = (read(each.edited, path) for each in project.state().aside.values() for path in each.paths)
        displaced = (project.workspace.blob_bytes(each.blob) for each in list_displaced_files(project))
        return "\n".join((found or b"").decode(errors="replace") for found in (*laid, *displaced))

    def removed_by_asides(self) -> frozenset[str]:
        """Marks of lines that the edits which are set aside take away."""
        project = self.world.project
        read = project.workspace.read
        found: frozenset[str] = frozenset()
        for laid in project.state().aside.values():
            for path in laid.paths:
                before, after = (
                    marks((read(tree, path) or b"").decode()) for tree in (laid.start, laid.edited)
                )
                found |= before - after
        return found

    def linked(self, root: Path) -> Place:
        """The same repository's worktree at another folder."""
        return Place(GitRepo(root, self.repo.home), self._commits)


def make_place(root: Path, hand: Hand) -> Place:
    """A small project under the law, with everything committed."""
    repo = copied(root, _make, QUICK + CONFIG, "walk")
    for _ in range(_COMMITTED):
        hand.mark()
    for _ in MODULES:
        hand.new_name()
    return Place(repo)


_COMMITTED = 40
"""More marks than the first commit has."""


def _make(root: Path) -> None:
    hand = Hand()
    repo = make_repo(root)
    repo.write("tdd.yaml", QUICK + CONFIG)
    repo.write("conftest.py", "")
    repo.write("pytest.ini", f"[pytest]\n# {hand.mark()}\n")
    repo.write(".gitignore", "__pycache__/\n.pytest_cache/\n")
    for name in MODULES:
        function = hand.new_name()
        value = int(function[1:])
        repo.write(f"{name}.py", f"{hand.module(name)}\n\n{hand.function(function, value)}\n")
        tests = f"{hand.tests_of(name)}\n\n{hand.test(name, function, value)}\n"
        repo.write(test_file(name), tests)
    repo.commit("first")
    Cli(repo).ok("init", "--yes")
    repo.commit("set up")
    remember_interpreter(root)


def copy_places(places: Mapping[str, Place], to: Path) -> dict[str, Place]:
    """The same repository and its worktrees, elsewhere."""
    for name, place in places.items():
        copy_tree(place.root, to / name)
    found = {name: place.linked(to / name) for name, place in places.items()}
    for name in places:
        if name != "main":
            note = to / "main" / ".git" / "worktrees" / name / "gitdir"
            note.write_text(f"{to / name / '.git'}\n")
            (to / name / ".git").write_text(f"gitdir: {note.parent}\n")
    return found
