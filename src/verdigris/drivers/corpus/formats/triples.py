"""Our own format: a line a triple, with every field."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import UserError
from verdigris.drivers.corpus.contents import RenderedCorpus
from verdigris.drivers.corpus.triple import SPLITS, parse_triple, render_triple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from verdigris.drivers.corpus.contents import CorpusContents
    from verdigris.drivers.corpus.triple import Triple


def json_line(document: Mapping[str, Any]) -> bytes:
    """The same bytes for the same document: keys in order, and text that is no Unicode made harmless."""
    return json.dumps(document, sort_keys=True).encode("ascii") + b"\n"


def in_splits(triples: Iterable[Triple]) -> dict[str, list[Triple]]:
    """Every split is there, also an empty one."""
    found: dict[str, list[Triple]] = {split: [] for split in SPLITS}
    for triple in triples:
        found[triple.split].append(triple)
    return found


def render(gathered: CorpusContents) -> RenderedCorpus:
    splits = in_splits(gathered.triples)
    files = tuple(
        (f"{split}.jsonl", b"".join(json_line(render_triple(triple)) for triple in mine))
        for split, mine in splits.items()
    )
    return RenderedCorpus(files, {split: len(mine) for split, mine in splits.items()})


def read(folder: Path) -> Iterator[Triple]:
    for path in sorted(folder.glob("*.jsonl")):
        for number, document in read_json_lines(path):
            try:
                yield parse_triple(document)
            except UserError as error:
                raise UserError(f"{path.name}, line {number}: {error.message}", hint=error.hint) from None


def read_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield number, json.loads(line)
            except ValueError as error:
                raise UserError(
                    f"{path.name}, line {number} is no JSON: {error}",
                    hint="make the corpus anew with `tdd corpus export`",
                ) from None
