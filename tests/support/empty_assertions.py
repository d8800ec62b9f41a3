"""The findings of a language in the text of a test that asserts nothing."""

from __future__ import annotations

from verdigris.languages.findings import TestText
from verdigris.languages.registry import language_named


def empty_assertions(language: str, path: str, name: str, text: str) -> list[str]:
    """The message for each finding; the test must be readable."""
    found = language_named(language).validation.empty_assertions(TestText(path, name, {path: text}))
    assert found is not None
    return [one.what for one in found]


def check_single(found: list[str], word: str) -> None:
    assert len(found) == 1, found
    assert word in found[0]
