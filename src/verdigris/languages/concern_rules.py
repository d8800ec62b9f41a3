"""Rules about source as a table of data, `concerns.txt` in the folder of each language.

A row begins with its kind (with `!` if it blocks), the shapes of code that it searches, and what a person
is told. Below it stands the pattern, which matches the text of such code from its beginning. `name =` names a
part of patterns, which later ones hold as `{name}`. What a shape and its text are is the reader's to say: for
a grammar the types of its nodes, with their code on one line; for Python see `python/concerns/shapes.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from verdigris.languages.findings import Concern

_ROW = re.compile(r"(?P<kind>[\w-]+)(?P<blocks>!?) (?P<shapes>[\w -]+): (?P<what>.+)")
_WORD = re.compile(r"(?P<name>\w+) =")


@value
class Rule:
    kind: str
    words: re.Pattern[str]
    what: str
    """What a person is told, with `{node}` for the code, and with names of groups of the pattern."""
    blocks: bool


@value
class Rules:
    table: Mapping[str, list[Rule]]
    """The rows by the shape of code that they search."""
    words: Mapping[str, str]

    def matches(self, shape: str, text: str) -> Iterator[tuple[Rule, re.Match[str]]]:
        """The rules that a piece of code meets, of each kind the first one."""
        kinds: set[str] = set()
        for rule in self.table.get(shape, ()):
            if rule.kind not in kinds and (match := rule.words.match(text)):
                kinds.add(rule.kind)
                yield rule, match


def read_rules(file: Path, **words: str) -> Rules:
    """Reads a table. `words`: parts of patterns that only code can give."""
    table: dict[str, list[Rule]] = {}
    rows = re.sub(r"^#.*\n|^\n", "", file.read_text("utf-8"), flags=re.MULTILINE)
    for block in re.split(r"\n(?=\S)", rows.strip()):
        head, *more = block.split("\n")
        pattern = re.sub(r"\{([a-z]\w*)\}", lambda part: words[part[1]], "".join(map(str.strip, more)))
        if row := _ROW.fullmatch(head):
            rule = Rule(row["kind"], re.compile(pattern, re.DOTALL), row["what"], bool(row["blocks"]))
            for shape in row["shapes"].split():
                table.setdefault(shape, []).append(rule)
        elif word := _WORD.fullmatch(head):
            words[word["name"]] = pattern
        else:
            raise ValueError(f"{file.name}: no row begins with {head!r}")
    return Rules(table, words)


@value
class Hit:
    concern: Concern
    key: str
    """By this text it is found again in another place."""


def added_concerns(before: Iterable[Hit], after: Iterable[Hit]) -> Iterator[Concern]:
    """The concerns of hits that a change adds: those that have no equal one before it."""
    left = Counter((hit.concern.kind, hit.key) for hit in before)
    for hit in after:
        left[hit.concern.kind, hit.key] -= 1
        if left[hit.concern.kind, hit.key] < 0:
            yield hit.concern
