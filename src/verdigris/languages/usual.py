"""The usual places in a project, by language and runner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.languages import others
from verdigris.languages.go import go
from verdigris.languages.node import node
from verdigris.languages.python import python
from verdigris.languages.rust import rust

if TYPE_CHECKING:
    from verdigris.core.settings import Stack
    from verdigris.languages.forms import Usual


def usual(stack: Stack) -> Usual:
    match stack.language:
        case "python":
            return python.PLACES
        case "node":
            return node.places(stack.runner)
        case "rust":
            return rust.PLACES
        case "go":
            return go.PLACES
        case language:
            return others.places(language)
