"""Formats with a row for each triple: JSON lines, which are our own, and Parquet with a dataset card.

Every field of a triple is there; in Parquet it is a column, and a list is a list.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from verdigris.core.errors import ToolMissing, UserError
from verdigris.core.value import defaults
from verdigris.drivers.corpus.contents import CorpusContents, RenderedCorpus
from verdigris.drivers.corpus.triple import (
    HINT,
    SPLITS,
    Author,
    CommitPatches,
    RedProof,
    Triple,
    parse_triple,
    render_triple,
)


def json_line(document: Mapping[str, Any]) -> bytes:
    """The same document gives the same bytes: keys are in order, and the text is ASCII with escapes."""
    return json.dumps(document, sort_keys=True).encode("ascii") + b"\n"


def in_splits(triples: Iterable[Triple]) -> dict[str, list[Triple]]:
    """Returns every split, also an empty one."""
    by_split: dict[str, list[Triple]] = {split: [] for split in SPLITS}
    for triple in triples:
        by_split[triple.split].append(triple)
    return by_split


def render_lines(gathered: CorpusContents) -> RenderedCorpus:
    splits = in_splits(gathered.triples)
    files = tuple(
        (f"{split}.jsonl", b"".join(json_line(render_triple(triple)) for triple in mine))
        for split, mine in splits.items()
    )
    return RenderedCorpus(files, {split: len(mine) for split, mine in splits.items()})


def read_lines(folder: Path, parse: Callable[[Any], Triple] = parse_triple) -> Iterator[Triple]:
    """Yields the triples of all JSON lines; `parse` makes one of a line's document."""
    for path in sorted(folder.glob("*.jsonl")):
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                where = f"{path.name}, line {number}"
                try:
                    yield parse(json.loads(line))
                except UserError as error:
                    raise UserError(f"{where}: {error.message}", hint=error.hint) from None
                except ValueError as error:
                    raise UserError(f"{where} is not JSON: {error}", hint=HINT) from None


_CARD = Path(__file__).with_name("card.md")
_LISTS = ("passing", "weakening", "concerns", "fail_to_pass", "pass_to_pass")
_STRUCTS = {"reds": RedProof, "author": Author, "against_commit": CommitPatches}
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def render_parquet(gathered: CorpusContents) -> RenderedCorpus:
    splits = in_splits(gathered.triples)
    rows = {split: len(mine) for split, mine in splits.items()}
    files = [(f"data/{split}.parquet", _table(mine)) for split, mine in splits.items()]
    card = dataset_card(gathered.triples, rows).encode("utf-8")
    return RenderedCorpus((("README.md", card), *files), rows)


def row_of(triple: Triple) -> dict[str, Any]:
    failing = [red.native for red in triple.reds]
    return {**render_triple(triple), "fail_to_pass": failing, "pass_to_pass": list(triple.passing)}


def _table(triples: Sequence[Triple]) -> bytes:
    pyarrow, parquet = _library()
    texts, flags = pyarrow.string(), pyarrow.bool_()
    structs = {
        name: pyarrow.struct([(field, texts) for field in defaults(kind)]) for name, kind in _STRUCTS.items()
    }
    kinds = {name: pyarrow.list_(texts) for name in _LISTS}
    kinds |= {**structs, "reds": pyarrow.list_(structs["reds"]), "scrubbed": flags}
    names = sorted(("schema", "split", "fail_to_pass", "pass_to_pass", *defaults(Triple)))
    schema = pyarrow.schema([(name, kinds.get(name, texts)) for name in names])
    table = pyarrow.Table.from_pylist([row_of(triple) for triple in triples], schema=schema)
    written = io.BytesIO()
    parquet.write_table(table, written, compression="zstd")
    return written.getvalue()


def read_parquet(folder: Path) -> Iterator[Triple]:
    _, parquet = _library()
    for path in sorted((folder / "data").glob("*.parquet")):
        try:
            rows = parquet.read_table(path).to_pylist()
        except (OSError, ValueError) as error:
            raise UserError(f"{path.name} cannot be read: {error}", hint=HINT) from None
        yield from map(parse_triple, rows)


def _library() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise ToolMissing(
            "parquet is written with pyarrow, and it is not installed.",
            hint="pip install 'verdigris[corpus]'",
        ) from None


def dataset_card(triples: Sequence[Triple], rows: Mapping[str, int]) -> str:
    import yaml

    total = len(triples)
    size = next((name for most, name in _SIZES if total < most), "n>1M")
    files = [{"split": split, "path": f"data/{split}.parquet"} for split, count in rows.items() if count]
    meta = {
        "configs": [{"config_name": "default", "data_files": files}],
        "pretty_name": "Proven changes: red test, edit, green test",
        "size_categories": [size],
        "tags": ["code", "tdd", "software-engineering"],
        "task_categories": ["text-generation"],
    }
    repositories = sorted({triple.repository for triple in triples})
    languages = sorted({triple.language for triple in triples})
    return _CARD.read_text("utf-8").format(
        meta=yaml.safe_dump(meta, sort_keys=True).rstrip(),
        rows="\n".join(f"| {split} | {count} |" for split, count in rows.items()),
        languages=", ".join(languages) or "none",
        repositories=", ".join(repositories) or "none",
    )
