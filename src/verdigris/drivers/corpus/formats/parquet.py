"""Parquet by pyarrow, a file a split, with a dataset card: lists are lists, and every field is a column."""

from __future__ import annotations

import io
from importlib import import_module
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ToolMissing, UserError
from verdigris.drivers.corpus.contents import RenderedCorpus
from verdigris.drivers.corpus.formats.triples import in_splits
from verdigris.drivers.corpus.triple import parse_triple, render_triple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from verdigris.drivers.corpus.contents import CorpusContents
    from verdigris.drivers.corpus.triple import Triple

_LISTS = ("passing", "weakening", "concerns", "fail_to_pass", "pass_to_pass")
_STRUCTS = {
    "reds": ("id", "kind", "place", "message", "native_id"),
    "author": ("role", "client", "context", "model", "name"),
    "against_commit": ("tests", "source"),
}
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def render(gathered: CorpusContents) -> RenderedCorpus:
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
    structs = {name: pyarrow.struct([(one, texts) for one in names]) for name, names in _STRUCTS.items()}
    kinds = {name: pyarrow.list_(texts) for name in _LISTS}
    kinds |= {**structs, "reds": pyarrow.list_(structs["reds"]), "scrubbed": flags}
    names = sorted(_columns())
    schema = pyarrow.schema([(name, kinds.get(name, texts)) for name in names])
    table = pyarrow.Table.from_pylist([row_of(triple) for triple in triples], schema=schema)
    written = io.BytesIO()
    parquet.write_table(table, written, compression="zstd")
    return written.getvalue()


def _columns() -> tuple[str, ...]:
    from verdigris.core.value import defaults
    from verdigris.drivers.corpus.triple import Triple as Columns

    return ("schema", "split", "fail_to_pass", "pass_to_pass", *defaults(Columns))


def read(folder: Path) -> Iterator[Triple]:
    _, parquet = _library()
    for path in sorted((folder / "data").glob("*.parquet")):
        try:
            rows = parquet.read_table(path).to_pylist()
        except (OSError, ValueError) as error:
            raise UserError(f"{path.name} cannot be read: {error}", hint="export it anew") from None
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
    return "\n".join(
        [
            "---",
            yaml.safe_dump(meta, sort_keys=True).rstrip(),
            "---",
            "",
            "# Proven changes: red test, edit, green test",
            "",
            "Each row is a change that was proven by running its tests: at least one was red before, for the",
            "right reason, and is green after; nothing that passed before fails. Made by `tdd corpus export`",
            "(Verdigris); `tdd corpus verify` replays it.",
            "",
            "| split | rows |",
            "|---|---|",
            *(f"| {split} | {count} |" for split, count in rows.items()),
            "",
            f"Languages: {', '.join(languages) or 'none'}.",
            f"Repositories: {', '.join(repositories) or 'none'}.",
            "Rows of one task are in one split. The code in it has the licences of its repositories.",
            "",
            "`test_patch` leads from `base_tree` to `red_tree`, `patch` from there to `green_tree`;",
            "`against_commit` has the whole change against `base_commit`. `reds` tells the kind and place of",
            "each failure, `liveness` whether the assertions were shown to be live, `weakening` what tests",
            "ask for otherwise than before. `scrubbed` rows had a secret, which was taken out.",
            "",
        ]
    )
