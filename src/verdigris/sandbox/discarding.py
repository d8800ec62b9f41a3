"""Throws away what a confined run has written, whatever modes and depths it gave it."""

# Plain calls, as between fork and exec, and names stay `str`:
# ruff: noqa: PTH106, PTH208

from __future__ import annotations

import os

from verdigris.sandbox.folders import opened_anyway

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from verdigris.sandbox.confinement import Confinement

_DEEP = 100
_ROUNDS = 20
"""A process left over from the run may go on writing."""


def discard(confinement: Confinement) -> None:
    """`upper` and `work` themselves too; ones that are gone already are as good."""
    for folder in (confinement.upper, confinement.work):
        try:
            clear(folder)
            os.rmdir(folder)
        except FileNotFoundError:
            continue


def clear(folder: str) -> None:
    top = opened_anyway(folder)
    try:
        os.fchmod(top, 0o700)
        for _ in range(_ROUNDS):
            for name in os.listdir(top):
                _remove(name, top, top, 0)
            if not os.listdir(top):
                return
    finally:
        os.close(top)


def _remove(name: str, parent: int, top: int, depth: int) -> None:
    """What lies very deep is brought to the top, to be met there again."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        if depth == _DEEP:
            os.rename(name, os.urandom(16).hex(), src_dir_fd=parent, dst_dir_fd=top)
            return
        folder = opened_anyway(name, parent)
        try:
            os.fchmod(folder, 0o700)
            for inner in os.listdir(folder):
                _remove(inner, folder, top, depth + 1)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=parent)
