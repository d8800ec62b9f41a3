"""A hook process of the gate, end to end, against an interpreter that does nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from timing import against, interleaved, table

import verdigris
from verdigris.core.fold import StateFolding
from verdigris.core.records import CHECKPOINT, Actor, Record, flatten
from verdigris.setup.initialisation import initialise
from verdigris.storage.log.light import digest
from verdigris.storage.log.lines import LogHead, encode, parse, render
from verdigris.storage.project import open_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from timing import Row

ROUNDS = 60
EVENTS, FILES, PROTECTED = (1_000, 1_000_000), 50_000, 5_000
PYTHON = (sys.executable, "-I", "-S")
ENTRY = Path(verdigris.__file__).parent / "gates" / "entry.py"
FLOOR = "python -I -S -c pass"
ACTOR = {"role": "agent", "context": "0123456789ab", "client": "bench"}
PAYLOAD = {"session_id": "bench", "permission_mode": "default"}


def rows() -> list[Row]:
    few, many = EVENTS
    names = {
        f"allow an edit, {few:,} events": "≤ 1.5",
        f"allow an edit, {many:,} events, {FILES:,} files": "≤ 1.5",
        "allow a shell call": "≤ 1.5",
        "after a shell call": "≤ 1.5",
        f"after a call, {PROTECTED:,} protected files": "≤ 3",
        "deny an edit (the fallback)": "≤ 8",
        "allow an edit, right after a denial": "≤ 1.5",
        "deny an edit (the fallback), once more": "≤ 8",
        "allow a shell call, right after a denial": "≤ 1.5",
    }
    with TemporaryDirectory(prefix="tdd-bench-") as folder:
        small, large, wide, strict = (
            _project(Path(folder, name)) for name in ("small", "large", "wide", "strict")
        )
        _files(wide, PROTECTED, ".py")
        initialise(wide, Actor())
        initialise(strict, Actor())
        for root, events in ((small, few), (large, many)):
            initialise(root, Actor())
            _lengthen(root, events)
        _files(large, FILES, ".txt")
        edit = {"file_path": "notes.md", "content": "a line\n" * 20}
        deny = partial(_hook, strict, "PreToolUse", "Write", {**edit, "file_path": "tdd.yaml"})
        shell = {"command": "true"}
        calls: Iterable[Callable[[], str]] = (
            partial(_hook, small, "PreToolUse", "Write", edit),
            partial(_hook, large, "PreToolUse", "Write", edit),
            partial(_hook, small, "PreToolUse", "Bash", shell),
            partial(_hook, small, "PostToolUse", "Bash", shell),
            partial(_hook, wide, "PostToolUse", "Read", {"file_path": "notes.md"}),
            deny,
            partial(_hook, strict, "PreToolUse", "Write", edit),
            deny,
            partial(_hook, strict, "PreToolUse", "Bash", shell),
        )
        subjects = {FLOOR: lambda: _run((*PYTHON, "-c", "pass"), b""), **dict(zip(names, calls, strict=True))}
        for root in (wide, strict):
            _hook(root, "PreToolUse", "Bash", shell)
        for subject in subjects.values():  # deals the cards, and takes the stamps
            subject()
        return against(interleaved(subjects, ROUNDS), FLOOR, names)


def _project(root: Path) -> Path:
    root.mkdir()
    subprocess.run(("git", "init", "--quiet", root), check=True)
    python = json.dumps(sys.executable)
    (root / "tdd.yaml").write_text(
        f"stacks:\n  - {{root: ., language: python, runner: pytest, python: {python}}}\n"
    )
    (root / "notes.md").write_text("a line\n")
    return root


def _files(root: Path, number: int, suffix: str) -> None:
    for folder in range(number // 100):
        (root / f"part{folder}").mkdir()
        for file in range(100):
            (root / f"part{folder}" / f"file{file}{suffix}").write_text(f"# {folder} {file}\n")


def _lengthen(root: Path, events: int) -> None:
    """Calls until the log has this many events, and a checkpoint, written directly."""
    project = open_project(root, Actor())
    control, state = project.repo.control, project.log.state()
    head = parse((control / "head").read_bytes())
    prev, size, checkpoint = head.hash, head.size, head.checkpoint
    with (control / "events.jsonl").open("ab") as log:
        for seq in range(head.seq + 1, events + 1):
            kind, data = ("call", {"tool": "Read", "paths": [f"part{seq % 500}/file.py"]})
            if seq == events:
                kind, data, checkpoint = CHECKPOINT, {"state": StateFolding().dump(state)}, size
            record = Record(seq, 1_700_000_000_000 + seq, "main", "trunk", ACTOR, 1, prev, kind, data)
            line = encode(flatten(record))
            log.write(line + b"\n")
            prev, size = digest(line), size + len(line) + 1
    (control / "head").write_bytes(render(LogHead(events, prev, size, checkpoint)))


def _hook(root: Path, event: str, tool: str, arguments: dict[str, Any]) -> str:
    call = {"hook_event_name": event, "cwd": str(root), "tool_name": tool, "tool_input": arguments}
    # As a running client has it: its shell commands are confined.
    env = {**os.environ, "CLAUDE_CODE_SHELL_PREFIX": f"{root}/.git/tdd/shell"}
    given = json.dumps({**PAYLOAD, **call}).encode()
    return _run((*PYTHON, os.fspath(ENTRY), "claude", event), given, env)


def _run(argv: tuple[str, ...], given: bytes, env: Mapping[str, str] | None = None) -> str:
    return subprocess.run(argv, input=given, check=True, capture_output=True, env=env).stdout.decode()


if __name__ == "__main__":
    print(table(rows()))
