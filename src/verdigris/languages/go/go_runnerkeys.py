"""The directives of `go.mod` and `go.work` that can put other code in the place of what tests import."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"//.*")
_MODULE = frozenset({"replace", "exclude", "godebug"})
_WORKSPACE = _MODULE | {"use"}
"""`go`, `toolchain` and `require` stay free: `go get` writes them."""


def module(text: str) -> bytes:
    return _directives(text, _MODULE)


def workspace(text: str) -> bytes:
    return _directives(text, _WORKSPACE)


def _directives(text: str, kept: frozenset[str]) -> bytes:
    found = []
    block = ""
    for line in text.split("\n"):
        words = _COMMENT.sub("", line).replace("(", " ( ").split()
        if not words:
            continue
        if words == [")"]:
            block = ""
        elif words[1:] == ["("]:
            block = words[0]
        elif (block or words[0]) in kept:
            found.append(" ".join([block, *words] if block else words))
    return "\n".join(sorted(found)).encode()
