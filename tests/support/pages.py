"""Texts with headings: projects, katas and shapes are kept as files that are read as what they show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

PROJECTS = Path(__file__).with_name("projects")


def sections(text: str, mark: str) -> list[tuple[str, str]]:
    """Each heading, a line that begins with the mark and a space, and the text below it."""
    _, *parts = re.split(rf"^{re.escape(mark)} (.*)\n", text, flags=re.MULTILINE)
    return list(zip(parts[::2], parts[1::2], strict=True))


def files_in(text: str) -> dict[str, str]:
    """The files of a text, by path; `--- PATH` stands above each.

    A file ends with one line break, or is empty.
    """
    bodies = {path: body.rstrip("\n") for path, body in sections(f"{text}\n", "---")}
    return {path: body + "\n" if body else "" for path, body in bodies.items()}


def project_files(name: str) -> dict[str, str]:
    """The files of a project in the folder `projects`."""
    return files_in(PROJECTS.joinpath(f"{name}.txt").read_text("utf-8"))


def lay_out(files: Mapping[str, str], root: Path) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
