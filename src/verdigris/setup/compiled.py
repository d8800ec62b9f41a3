"""Which Rust and Go stacks a project has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.languages import GO, RUST
from verdigris.core.settings import Stack
from verdigris.languages.walking import Found, holding, holds_suffix, outermost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.languages.walking import Folder


def rust(known: Sequence[Folder]) -> Found:
    """A workspace is one stack at its root: cargo builds and tests it as one."""
    places = outermost(holding(known, ["Cargo.toml"]))
    return Found(tuple(Stack(root=place, language=RUST, runner="cargo") for place in places))


def go(known: Sequence[Folder]) -> Found:
    """Each module is its own: `./...` ends where another module begins, in a workspace (`go.work`) too."""
    modules = holding(known, ["go.mod"])
    outer = outermost(modules)
    places = [m for m in modules if m in outer or holds_suffix(known, m, ("_test.go",))]
    return Found(tuple(Stack(root=place, language=GO, runner="go") for place in places))
