"""Watches what runs below the tests: interpreter, start-up files, test tool, loaded packages."""

from __future__ import annotations

from verdigris.checks.foundation.frozen import CHANGED, find_changes, fold_paths, known_since, prepare, judge_foundation

__all__ = ["CHANGED", "find_changes", "fold_paths", "known_since", "prepare", "judge_foundation"]
