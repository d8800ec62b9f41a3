"""The formats of a corpus: each turns values into files, and reads its triples back if it has any."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from verdigris.core.value import value
from verdigris.drivers.corpus.contents import CorpusContents, RenderedCorpus
from verdigris.drivers.corpus.formats import conversations, rows, swebench
from verdigris.drivers.corpus.triple import Triple


@value
class CorpusFormat:
    render: Callable[[CorpusContents], RenderedCorpus]
    read: Callable[[Path], Iterator[Triple]] | None = None
    """None if the format holds conversations, not triples."""


FORMATS = {
    "triples": CorpusFormat(rows.render_lines, rows.read_lines),
    "swebench": CorpusFormat(swebench.render, swebench.read),
    "atif": CorpusFormat(conversations.render_atif),
    "chat": CorpusFormat(conversations.render_chat),
    "parquet": CorpusFormat(rows.render_parquet, rows.read_parquet),
}
