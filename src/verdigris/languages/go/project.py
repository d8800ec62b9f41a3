"""What a Go project looks like: its stacks, their usual places, and the directives that tests depend on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.settings import Stack
from verdigris.languages.conventions import SIDE, Usual, any_of, anywhere, at_root
from verdigris.languages.folders import FoundStacks, holding, holds_suffix, outermost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.languages.folders import Folder


PLACES = Usual(
    tests=any_of(
        r"(?:.*/)?[^/]*_test\.go\Z",
        at_root("tests?", "e2e"),
        anywhere("testdata", "__snapshots__", "test_?(?:utils?|helpers?|support)"),
    ),
    runner=anywhere(
        r"vendor/(?:github\.com/(?:stretchr/testify|google/go-cmp|onsi)|gotest\.tools|go\.uber\.org/mock)"
    ),
    transient=anywhere(r"\.gocache"),
    not_source=any_of(r"\.", "_", SIDE, "(?:.*/)?(?:vendor|third_party)/", "(?:bin|build|dist|hack)/"),
)
"""`TestMain` stands in a `_test.go`; vendored, a library that tests assert with is as much theirs."""


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


def find_stacks(known: Sequence[Folder]) -> FoundStacks:
    """Each module is its own: `./...` ends where another module begins, in a workspace (`go.work`) too."""
    modules = holding(known, ["go.mod"])
    outer = outermost(modules)
    places = [m for m in modules if m in outer or holds_suffix(known, m, ("_test.go",))]
    return FoundStacks(tuple(Stack(root=place, language="go", runner="go") for place in places))
