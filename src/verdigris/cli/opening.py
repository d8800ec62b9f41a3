"""Where the user stands, and the project there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.actions import Actor
from verdigris.core.errors import UserError

if TYPE_CHECKING:
    from verdigris.kernel.project import Project

PERSON = Actor()


def here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UserError(
            "the folder you stand in does not exist any more.", hint="cd to one that does"
        ) from None


def project() -> Project:
    from verdigris.kernel.project import open_project

    return open_project(here(), PERSON)
