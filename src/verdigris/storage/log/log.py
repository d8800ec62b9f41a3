"""The log: its state, appending a batch, checkpoints, and repair."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from verdigris.core.errors import HarnessError, LogDamaged, StorageError
from verdigris.core.records import CHECKPOINT, SCHEMA, Draft, Folding, Record, S, Schema, flatten
from verdigris.core.value import replace, value
from verdigris.storage.log.files import HEAD, LOG, REPAIRED_HEAD, LogFiles, Look, storage_errors, write_all
from verdigris.storage.log.lines import (
    BLOCK,
    EMPTY,
    Link,
    LogHead,
    LogLine,
    encode,
    head_after,
    lines_forward,
    read,
    render,
)
from verdigris.storage.log.reader import LogView, ReadPart, fold, records, view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from verdigris.storage.log.verification import FoldReplay, Verification


T = TypeVar("T")
CHECKPOINT_BYTES = 64 * 1024
KERNEL = {"role": "kernel", "context": "", "client": "tdd"}
"""The actor of the log's own records."""


@value
class Batch(Generic[S]):
    lines: bytes
    head: LogHead
    """The head after the batch."""
    records: tuple[Record, ...]
    state: S


@value
class Rules:
    """How batches are written."""

    version: int
    checkpoint_every: int


def compose(
    before: LogView[S], drafts: Sequence[Draft], folding: Folding[S], ts: int, rules: Rules
) -> Batch[S]:
    lines, links = chain_batch(before.head, drafts, ts, rules.version)
    head = head_after(before.head, links)
    events = before.events + len(drafts)
    due = events >= rules.checkpoint_every or head.size - before.since >= CHECKPOINT_BYTES
    if due:
        lines, links = chain_batch(before.head, drafts, ts, rules.version, more=1)
        head = head_after(before.head, links)
    records = tuple(link.record for link in links)
    state = before.state
    for record in records:
        state = folding.step(state, record)
    if due:
        last = Draft(
            CHECKPOINT, {"state": folding.dump(state)}, drafts[-1].worktree, drafts[-1].branch, KERNEL
        )
        line, links = chain_batch(head, [last], ts, rules.version)
        lines, head = lines + line, head_after(head, links)
    return Batch(lines, head, records, state)


def _view_after(before: LogView[S], batch: Batch[S], events: int) -> LogView[S]:
    if batch.head.checkpoint != before.head.checkpoint:
        return LogView(batch.head, batch.head, batch.state, 0, batch.head.size)
    return LogView(batch.head, batch.head, batch.state, before.events + events, before.since)


def chain_batch(
    head: LogHead, drafts: Sequence[Draft], ts: int, version: int, *, more: int = 0
) -> tuple[bytes, list[Link]]:
    """Writes the drafts as one batch after the head; `more` records of the batch follow later.

    The records are read back from their lines, so that the writer sees what a later reader will see.
    """
    links: list[Link] = []
    lines = bytearray()
    seq, prev = head.seq, head.hash
    for left, draft in zip(range(len(drafts) - 1 + more, -1, -1), drafts, strict=False):
        record = Record(
            seq + 1,
            ts,
            draft.worktree,
            draft.branch,
            draft.actor,
            version,
            prev,
            draft.type,
            draft.data,
            left,
        )
        try:
            text = encode(flatten(record))
        except (TypeError, ValueError, RecursionError) as error:
            raise HarnessError(f"the event {draft.type} cannot be written: {error}") from error
        link = read(LogLine(head.size + len(lines), text))
        links.append(link)
        lines += text + b"\n"
        seq, prev = link.record.seq, link.hash
    return bytes(lines), links


REPAIRED_LOG = "events.repaired.jsonl"
_CHECKPOINT = b'"type":"%s"' % CHECKPOINT.encode()
DAMAGED_LOG = "events.damaged-{}.jsonl"


@value
class Repaired:
    kept: int
    """How many events of the old log the new one has, checkpoints included."""
    lost: int
    damaged: str | None
    """The name of the damaged log beside the new one; None if nothing was wrong, or there was no log."""


def repair(
    files: LogFiles, folding: Folding[S], schema: Schema, draft: Draft, clock: Callable[[], int]
) -> Repaired:
    """Repairs the log. The draft says why; what was kept and lost is added to it."""
    from verdigris.storage.log.verification import FoldReplay, LogCheck

    with files.writing(), files.open_log() as log:
        files.settle_repair(log)
        check = LogCheck(files, log, FoldReplay(folding, schema))
        found = check.run()
        if found.whole:
            return Repaired(found.events, 0, None)
        with storage_errors(files.control):
            kept = _longest_sound(log, check.head, FoldReplay(folding, schema))
            lost = max(found.events, 0 if check.head is None else check.head.seq) - kept.seq
            damaged = None if log is None else _keep(files)
            data = {"kept": kept.seq, "lost": lost, **draft.data, "damaged": damaged}
            line, links = chain_batch(kept, [replace(draft, data=data)], clock(), schema.current)
            _install(files, log, kept, line, head_after(kept, links))
        return Repaired(kept.seq, lost, damaged)


def _longest_sound(log: int | None, head: LogHead | None, replay: FoldReplay[S]) -> LogHead:
    return EMPTY if log is None else longest(lines_forward(log, 0, os.fstat(log).st_size), head, replay)


def longest(lines: Iterable[LogLine], head: LogHead | None, replay: FoldReplay[S]) -> LogHead:
    """The end of the longest series of whole batches that no line, checkpoint or head contradicts."""
    here = kept = before = EMPTY
    for line in lines:
        try:
            link = read(line)
        except ValueError:
            return here if _CHECKPOINT in line.text else kept  # the batch lacks no event
        if not line.whole or link.record.seq != here.seq + 1:
            return kept
        if link.record.prev != here.hash:
            return before if kept is here else kept
        if replay.objection(link.record) or (
            head is not None and link.record.seq == head.seq and link.hash != head.hash
        ):
            return kept
        here = here.after(link)
        if link.record.more == 0:
            before, kept = kept, here
    return kept


def _keep(files: LogFiles) -> str:
    """Gives the damaged log a second name; a repair that was killed may have done so already."""
    for number in count(1):
        name = DAMAGED_LOG.format(number)
        try:
            os.link(files.path(LOG), files.path(name))
        except FileExistsError:
            if not Path(files.path(LOG)).samefile(files.path(name)):
                continue
        return name
    raise AssertionError  # `count` never ends


def _install(files: LogFiles, log: int | None, kept: LogHead, line: bytes, head: LogHead) -> None:
    """Puts the repaired log in place.

    Renaming it completes the repair: then `files.head` finds its new head.
    """
    try:
        inode = _write(files.path(REPAIRED_LOG), log, kept, line)
        files.put(REPAIRED_HEAD + ".new", render(head, inode=inode), sync=True)
        files.rename(REPAIRED_HEAD + ".new", REPAIRED_HEAD)
        files.rename(REPAIRED_LOG, LOG)
        files.rename(REPAIRED_HEAD, HEAD)
    except OSError:
        for name in (REPAIRED_LOG, REPAIRED_HEAD + ".new"):
            with suppress(OSError):
                files.remove(name)
        raise


def _write(path: str, log: int | None, kept: LogHead, line: bytes) -> int:
    """Writes the kept part of the log and a line after it to a new file; returns its inode."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        for offset in range(0, kept.size, BLOCK):
            assert log is not None  # noqa: S101 - nothing is kept of no log
            write_all(fd, os.pread(log, min(BLOCK, kept.size - offset), offset), offset)
        write_all(fd, line, kept.size)
        os.fsync(fd)
        return os.fstat(fd).st_ino
    finally:
        os.close(fd)


CHECKPOINT_EVERY = 32


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@value
class Appended(Generic[S]):
    records: tuple[Record, ...]
    state: S


class Log(Generic[S]):
    def __init__(
        self,
        control: Path,
        folding: Folding[S],
        *,
        clock: Callable[[], int] = now_ms,
        checkpoint_every: int = CHECKPOINT_EVERY,
        schema: Schema = SCHEMA,
    ) -> None:
        self._files = LogFiles(os.fspath(control))
        self._folding = folding
        self._clock = clock
        self._schema = schema
        self._rules = Rules(schema.current, checkpoint_every)
        self._known: tuple[Look | None, LogView[S]] | None = None
        """The stat of the file, and what was folded from it."""
        self._parts: dict[str, ReadPart[Any]] = {}

    def state(self) -> S:
        """The fold of all events, at a cost that does not grow with their number."""
        try:
            return self._state()
        except LogDamaged:
            if not self._mend():
                raise
            return self._state()

    def _state(self) -> S:
        with self._files.reading() as there:
            return self._view().state if there else self._folding.initial()

    def _mend(self) -> bool:
        """Whether only the last line was cut, and is written again."""
        with suppress(StorageError), self._files.writing(), self._files.open_log() as log:
            return self._files.settle_repair(log)
        return False

    def append(self, drafts: Sequence[Draft], *, sync: bool = False) -> Appended[S]:
        """Appends all of the drafts, in this order, or none."""
        return self.transact(lambda _: drafts, sync=sync)

    def transact(self, decide: Callable[[S], Sequence[Draft]], *, sync: bool = False) -> Appended[S]:
        """Appends what `decide` makes of the state, before anybody else can change the state.

        `decide` runs under the log's lock: it must be quick, and must not use this log.
        """
        with self._files.writing():
            with self._files.open_log() as log:
                self._files.settle_repair(log)
            before = self._view()
            drafts = decide(before.state)
            if not drafts:
                return Appended((), before.state)
            if before.head != before.recorded:
                # Otherwise a killed append could leave more than one batch after the head.
                self._files.replace_head(before.head)
            batch = compose(before, drafts, self._folding, self._clock(), self._rules)
            self._files.extend(before.head, batch.lines, batch.head, sync=sync)
            self._known = self._files.look(), _view_after(before, batch, len(drafts))
            return Appended(batch.records, batch.state)

    def records(self, *, start: int = 1, reverse: bool = False, limit: int | None = None) -> Iterator[Record]:
        """The events from `start` to the last, without checkpoints; `reverse` begins with the last."""
        return islice(records(self._files, self._schema, start=start, reverse=reverse), limit)

    def fold(self, name: str, start: T, step: Callable[[T, Record], T]) -> T:
        """Folds all events; the next fold of this name goes on from where this one ended."""
        known: ReadPart[T] | None = self._parts.get(name)
        found = fold(self._files, self._schema, start, step, known)
        if found is None:
            return start
        self._parts[name] = found
        return found.folded

    def verify(self) -> Verification:
        from verdigris.storage.log.verification import verify

        found = verify(self._files, self._folding, self._schema)
        return found if found.whole or not self._mend() else verify(self._files, self._folding, self._schema)

    def repair(self, draft: Draft) -> Repaired:
        """Keeps the longest series of events that nothing contradicts, and the damaged file beside it.

        The draft is a `log_repaired` that says why.
        """
        return repair(self._files, self._folding, self._schema, draft, self._clock)

    def _view(self) -> LogView[S]:
        """The folded log. It is read again only if others have appended to it."""
        with self._files.open_log() as log, storage_errors(self._files.control):
            look = self._files.look()
            known = self._known[1] if self._known is not None and self._known[0] == look else None
            found = view(self._files, log, self._folding, self._schema, known)
            self._known = look, found
            return found
