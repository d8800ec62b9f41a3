"""Replaces the values of key variables wherever text is written.

No value is kept: the environment is read whenever a text is scrubbed.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_DUMMIES = frozenset(
    {"none", "empty", "dummy", "ollama", "lm-studio", "no-key", "not-needed", "unused", "test"}
)
"""What people set where a server wants no key but a client insists: words that texts are full of."""
_SHORTEST = 4
_TELLING = 12
"""From this length on a value is replaced even in the middle of a word."""


class Scrubber:
    """Texts and documents without the values of these variables."""

    def __init__(self, variables: Iterable[str], environ: Mapping[str, str] | None = None) -> None:
        self.variables = tuple(sorted(set(filter(None, variables))))
        self._environ = os.environ if environ is None else environ

    def __call__(self, text: str) -> str:
        for pattern, name in self._patterns():
            text = pattern.sub(f"[{name}]", text)
        return text

    def document(self, document: Any) -> Any:
        """The same JSON document, every text of it scrubbed, keys too."""
        match document:
            case str():
                return self(document)
            case dict():
                return {self(str(key)): self.document(item) for key, item in document.items()}
            case list() | tuple():
                return [self.document(item) for item in document]
            case _:
                return document

    def _patterns(self) -> Iterator[tuple[re.Pattern[str], str]]:
        """The longest first: one value may be a part of another."""
        spelled = {form: name for name in self.variables for form in _spellings(self._environ.get(name, ""))}
        for form in sorted(spelled, key=len, reverse=True):
            exact = re.escape(form)
            yield re.compile(exact if len(form) >= _TELLING else rf"(?<!\w){exact}(?!\w)"), spelled[form]


def _spellings(secret: str) -> set[str]:
    """A value as it is, and as JSON, a URL or a server's echo has it."""
    secret = secret.strip()
    if len(secret) < _SHORTEST or secret.lower() in _DUMMIES:
        return set()
    return {secret, json.dumps(secret)[1:-1], quote(secret, safe=""), quote(secret)}


def shown_url(url: str) -> str:
    """An address without the password and the query that it may carry."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "(an address that cannot be read)"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
