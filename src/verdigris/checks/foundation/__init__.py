"""Watches what runs below the tests: interpreter, start-up files, test tool, loaded packages."""

from __future__ import annotations

from verdigris.checks.foundation.frozen import (
    CHANGED,
    find_changes,
    fold_paths,
    judge_foundation,
    known_since,
    prepare,
)

__all__ = ["CHANGED", "find_changes", "fold_paths", "judge_foundation", "known_since", "prepare"]
