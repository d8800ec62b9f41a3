"""Git histories with known answers: the outcome that an audit must give for each commit.

Each is a mailbox of patches in `histories/`, as `git format-patch` writes them. The trailers of a commit hold
the answer: `Outcome`, a `Red` for each test that was red for the right reason and is green, and `Deep` if
`--deep` gives another outcome.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).with_name("histories")
_NEEDED = {
    "python": (),
    "typescript": ("node", "npm"),
    "go": ("go",),
    "rust": ("cargo",),
}
LANGUAGES = tuple(_NEEDED)


@dataclass(frozen=True)
class KnownAnswer:
    commit: str
    title: str
    outcome: str
    deep: str
    reds: tuple[str, ...]


def make_history(root: Path, language: str) -> tuple[KnownAnswer, ...]:
    """Make the repository; returns the answers in order. The first commit, from which it starts, has none."""
    root.mkdir(parents=True)
    _git(root, "init", "-q", "-b", "main")
    _git(root, "am", "-q", "--committer-date-is-author-date", str(_FOLDER / f"{language}.mbox"))
    keys = ("Outcome", "Deep", "Red")
    form = "%x00".join(("%H", "%s", *(f"%(trailers:key={key},valueonly)" for key in keys))) + "%x01"
    said = _git(root, "log", "--reverse", f"--format={form}").split("\1")
    rows = [row.lstrip("\n").split("\0") for row in said if row.strip()]
    return tuple(
        KnownAnswer(commit, title, outcome.strip(), (deep or outcome).strip(), tuple(reds.splitlines()))
        for commit, title, outcome, deep, reds in rows
        if outcome.strip()
    )


def runs_file(language: str) -> Path:
    """The recorded runs of the tool that an audit of the history asks for; see `recorded_processes`."""
    return _FOLDER / f"{language}.runs.json"


def missing_tools(language: str) -> tuple[str, ...]:
    """Programs that the history needs and that are missing here."""
    return tuple(tool for tool in _NEEDED[language] if shutil.which(tool) is None)


def _git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
    done = subprocess.run(["git", *who, *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout
