"""Rust: tests among source, stubs and conventions."""

from __future__ import annotations
