"""Draws lots that the judged cannot foresee, and that the same tree gets again."""

from __future__ import annotations

import hmac
import os
from random import Random, SystemRandom
from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError
from verdigris.storage.durable_files import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.storage.project import Project

_BYTES = 32


def lot_of(project: Project, *about: str) -> Random:
    """`about`: the trees, and what is drawn. Where no secret can be kept, chance decides."""
    secret = _secret(project.repo.private / "draws")
    if secret is None:
        return SystemRandom()
    return Random(hmac.digest(secret, "\0".join(about).encode(), "sha256"))  # noqa: S311 - seeded by a secret


def _secret(path: Path) -> bytes | None:
    try:
        return path.read_bytes().ljust(_BYTES, b"\0")
    except FileNotFoundError:
        secret = os.urandom(_BYTES)
    except OSError:
        return None
    try:
        write_whole(path, secret)
    except StorageError:
        return None
    return secret
