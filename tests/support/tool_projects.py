"""Small projects in which tests end in every way that a tool distinguishes."""

from __future__ import annotations

from pathlib import Path

from support.pages import project_files

CARGO, BROKEN_CARGO = project_files("cargo"), project_files("broken_cargo")
GO, MAVEN = project_files("go"), project_files("maven")


def lay_out(files: dict[str, str], root: Path) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root
