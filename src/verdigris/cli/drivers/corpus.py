"""`tdd corpus`: exports proven changes as training and evaluation data, and replays them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import json_option, show, show_json, show_result, start
from verdigris.cli.group import OfferingGroup
from verdigris.core.records import to_json
from verdigris.views.lines import Dot, Line, count_of

if TYPE_CHECKING:
    from verdigris.drivers.corpus.export import Exported

_DOTS: dict[str, Dot] = {"holds": "green", "fails": "red", "unverified": "yellow"}
_FORMATS = ("triples", "swebench", "atif", "chat", "parquet")


@click.group("corpus", cls=OfferingGroup)
def command() -> None:
    """Triples of a red test, an edit and a green as data: export, verify. `tdd help corpus`

    \b
    tdd corpus export --format triples DIR     from this repository's log
    tdd corpus export --format swebench DIR    rows, and a task repository
    tdd corpus verify DIR                      replay each triple
    """  # noqa: D301 - click's mark for lines that stay as they are


@command.command("export")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--format", type=click.Choice(_FORMATS), default="triples", help="The format to write.")
@click.option(
    "--audit",
    "audits",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also the test-driven changes of this report of `tdd audit --json`; may be repeated.",
)
@click.option("--no-log", is_flag=True, help="Export audits alone; do not read this repository's log.")
@click.option(
    "--name", default="", metavar="OWNER/NAME", help="The repository's name; by default that of its remote."
)
@click.option("--unscrubbed", is_flag=True, help="Do not look for secrets.")
@click.option("--force", is_flag=True, help="Replace the corpus that is in DIR.")
@json_option
def export(folder: Path, *, no_log: bool, unscrubbed: bool, as_json: bool, **said: Any) -> int:
    """Write what was proven here into DIR, split by task, without secrets; the same log gives the same bytes.

    What cannot be exported is left out and named. Exit code: 0 written, 2 DIR is not empty or there is no
    log, 4 the log is damaged, 69 the extra `verdigris[corpus]` is missing, 70 the disk is full.
    """
    from verdigris.drivers.corpus.export import ExportOptions, export_corpus

    options = ExportOptions(folder=folder, log=not no_log, scrub=not unscrubbed, **said)
    return show_result(
        export_corpus(start(), options),
        _exported_lines,
        lambda done: {"exported": {**to_json(done), "folder": str(folder)}},
        as_json=as_json,
    )


def _exported_lines(done: Exported) -> Iterator[Line]:
    total = sum(done.rows.values())
    shares = ", ".join(f"{count} {split}" for split, count in done.rows.items())
    yield Line(f"{done.folder}: {count_of(total, 'row')} ({shares})", "green" if total else "yellow")
    for one in done.scrubbed:
        yield Line(f"  scrubbed: {one.kind} in {one.file}, {count_of(one.count, 'time')}", "yellow")
    for gone in done.left_out:
        yield Line(f"  left out: {gone.what}: {gone.why}", "yellow")


@command.command("verify")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--id", "ids", multiple=True, metavar="ID", help="Only this triple; may be repeated.")
@click.option("--timeout", type=click.FloatRange(min=1), default=600.0, help="Seconds for one triple.")
@json_option
def verify(folder: Path, ids: tuple[str, ...], timeout: float, *, as_json: bool) -> int:
    """Replay each triple of the corpus in DIR: its patches, its reds before, its greens after.

    Run it in the repository that the triples are from. Nothing is written there. Exit code: 0 all hold, 1 one
    does not hold or could not be verified, 2 DIR holds no triples, 69 a tool or the sandbox is missing.
    """
    from verdigris.drivers.corpus.replay import ReplayAnswer, ReplayRequest, summarise, verify_corpus

    done = []
    for one in verify_corpus(start(), ReplayRequest(folder, ids, timeout)):
        done.append(one)
        if not as_json:
            show([Line(f"{one.answer:<10}  {one.id}  {one.why}", _DOTS[one.answer])])
    summary = summarise(done)
    if as_json:
        show_json({"triples": [to_json(one) for one in done], "summary": summary})
    else:
        told = ", ".join(f"{count} {name}" for name, count in summary.items() if count)
        show([Line(told or "no triple is in this corpus")])
    return 0 if all(one.answer is ReplayAnswer.HOLDS for one in done) else 1
