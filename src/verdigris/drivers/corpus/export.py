"""Writes a corpus into a folder: gathers, scrubs and splits it; the same input gives the same bytes."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from verdigris import __version__
from verdigris.core.errors import StorageError, UserError
from verdigris.core.records import to_json
from verdigris.core.value import replace, value
from verdigris.drivers.corpus.contents import CorpusContents, name_repository, open_objects
from verdigris.drivers.corpus.formats import FORMATS
from verdigris.drivers.corpus.secret_scrubber import ScrubbedSecret, SecretScrubber, scrub_corpus
from verdigris.drivers.corpus.session_source import Sessions
from verdigris.drivers.corpus.sources import read_audit, read_log
from verdigris.drivers.corpus.triple import LeftOut, Triple
from verdigris.storage.repository import find_repository

SCHEMA = "verdigris.corpus/1"
MANIFEST = "corpus.json"


@value
class ExportOptions:
    format: str
    folder: Path
    log: bool = True
    audits: tuple[Path, ...] = ()
    """Reports of `tdd audit --json`."""
    name: str = ""
    """`owner/name`, instead of the remote's."""
    scrub: bool = True
    force: bool = False


@value
class Exported:
    folder: Path
    format: str
    rows: Mapping[str, int]
    """By split."""
    left_out: tuple[LeftOut, ...]
    scrubbed: tuple[ScrubbedSecret, ...]


def export_corpus(start: Path, options: ExportOptions) -> Exported:
    _require_room(options)
    scrubber = SecretScrubber() if options.scrub else None
    gathered = scrub_corpus(gather(start, options), scrubber)
    rendered = FORMATS[options.format].render(gathered)
    left_out = (*gathered.left_out, *rendered.left_out)
    scrubbed = scrubber.report if scrubber else ()
    done = Exported(options.folder, options.format, rendered.rows, left_out, scrubbed)
    write_folder(options.folder, [*rendered.files, (MANIFEST, _manifest(done))], force=options.force)
    return done


def gather(start: Path, options: ExportOptions) -> CorpusContents:
    if not options.log and not options.audits:
        raise UserError("there is nothing to export from.", hint="`--audit FILE`, or leave `--no-log` out")
    repo = find_repository(start)
    named = name_repository(repo, options.name)
    with open_objects(repo) as objects:
        contents = CorpusContents()
        sessions = Sessions(repo)
        if options.log:
            contents += read_log(repo, objects, named, sessions)
        for path in options.audits:
            contents += read_audit(path, objects, named)
    triples = _without_twins(contents.triples)
    return replace(
        contents,
        triples=triples,
        trajectories=tuple(sessions.trajectories(triples)),
        left_out=(*contents.left_out, *sessions.left_out),
    )


def _without_twins(triples: Iterable[Triple]) -> tuple[Triple, ...]:
    """Sorts by id; of the same change from two sources, the log's triple is kept."""
    ordered = sorted(triples, key=lambda triple: (triple.origin.startswith("log:"), triple.origin))
    by_id = {triple.id: triple for triple in ordered}
    return tuple(by_id[name] for name in sorted(by_id))


def _manifest(done: Exported) -> bytes:
    document = {
        "schema": SCHEMA,
        "version": __version__,
        "format": done.format,
        "rows": dict(done.rows),
        "left_out": to_json(done.left_out),
        "scrubbed": to_json(done.scrubbed),
    }
    return (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()


def _require_room(options: ExportOptions) -> None:
    folder = options.folder
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is not a folder.", hint="name a new one")
    if not options.force and folder.is_dir() and any(folder.iterdir()):
        raise UserError(
            f"{folder} is not empty.", hint="name a new folder, or `--force` to replace the corpus in it"
        )
    if options.force and folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise UserError(
            f"{folder} holds no corpus, so nothing in it is replaced.", hint="name a new or an empty folder"
        )


def write_folder(folder: Path, files: Iterable[tuple[str, bytes]], *, force: bool) -> None:
    """Writes all of it or nothing: beside its place first, then renamed."""
    draft: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        draft.chmod(0o755)
        for name, data in files:
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        if force and folder.is_dir():
            shutil.rmtree(folder)
        elif folder.is_dir():
            folder.rmdir()
        draft.rename(folder)
    except OSError as error:
        raise StorageError(
            f"the corpus cannot be written to {folder}: {error.strerror}",
            hint="make room, or the folder writable, then export again",
        ) from error
    finally:
        if draft is not None:
            with suppress(OSError):
                shutil.rmtree(draft)
