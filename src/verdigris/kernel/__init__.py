"""The shell around the core: the log, the tree, processes, and the turns that use them."""

from __future__ import annotations
