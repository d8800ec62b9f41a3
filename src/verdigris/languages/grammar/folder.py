"""The tables of a language, by the names that they have in the modules of its folder.

`tests` reads and skips tests, `stubs` knows declarations, `stub_places` writes stubs, `forms` has the tables
of assertions, answers, concerns and mutants. Each module is loaded when it is first asked for.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from verdigris.languages.grammar.language import GrammarStubs, Tables

if TYPE_CHECKING:
    from verdigris.languages.protocol import Part


def table(place: str) -> Any:
    """What stands under a name in a module of the language's folder; a value is handed out by a function."""
    module, _, name = place.partition(".")

    def find(part: Part) -> Any:
        content = getattr(import_module(f"{type(part.language).__module__}.{module}"), name)
        return content if callable(content) else lambda: content

    return cached_property(find)


class FolderTables(Tables):
    suite = table("tests.SUITE")
    declared = table("tests.declared")
    skip_edits = table("tests.skip_edits")
    stub_forms = table("stubs.FORMS")
    expectations = table("forms.EXPECTATIONS")
    answer_forms = table("forms.ANSWERS")
    concern_rules = table("forms.RULES")
    mutation_forms = table("forms.MUTATION")


class FolderStubs(GrammarStubs):
    missing_stubs = table("stub_places.stubs_of")
