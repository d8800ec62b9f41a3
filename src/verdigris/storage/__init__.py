"""What is kept: the log, snapshots, configuration, locks; and how git is asked."""

from __future__ import annotations
