"""What all languages share that are read with tree-sitter."""

from __future__ import annotations
