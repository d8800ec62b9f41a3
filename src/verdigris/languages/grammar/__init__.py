"""The code that all languages share whose files tree-sitter parses."""

from __future__ import annotations
