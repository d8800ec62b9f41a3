"""What the kernel keeps on disk: the log, snapshots, configuration and locks. It also calls git."""

from __future__ import annotations
