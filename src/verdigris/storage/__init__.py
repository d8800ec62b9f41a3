"""What is kept on disk: the log, snapshots, configuration, locks; and the calls of git."""

from __future__ import annotations
