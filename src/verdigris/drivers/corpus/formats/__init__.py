"""The formats of a corpus, one module each: files by path, made from values and nothing else."""

from __future__ import annotations
