"""Logs of each schema version as they were once written can be read for ever; today's is written alike."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from storage.log.tally import TallyFolding, draft, open_log, repair_draft
from verdigris.core.records import CURRENT, Draft

GOLDEN = Path(__file__).parents[2] / "golden"


def write(control: Path) -> None:
    """What the golden log of the current version holds."""
    log = open_log(control, every=4)
    log.append([draft(1)])
    log.append(
        [
            draft(2, path="with space/né/\udcff\n'\"", nested={"a": [1, None, True, 1.5]}),
            draft(3, kind="seen"),
        ]
    )
    log.append(
        [Draft("noted", {"n": 4}, "second tree", None, {"role": "person", "context": "", "client": "shell"})]
    )
    log.append([draft(5)])
    (control / "events.jsonl").write_bytes((control / "events.jsonl").read_bytes()[:-1])
    head = json.loads((control / "head").read_bytes())
    del head["last"]  # with it nothing would be lost
    (control / "head").write_text(json.dumps(head))
    log.repair(repair_draft("a newline was lost"))
    log.append([draft(6)])
    (control / "events.damaged-1.jsonl").unlink()
    (control / "lock").unlink()


@pytest.mark.parametrize("version", range(1, CURRENT + 1))
def test_the_log_of_each_version_is_whole_and_folds_as_ever(tmp_path: Path, version: int) -> None:
    control = tmp_path / "tdd"
    shutil.copytree(GOLDEN / f"log-v{version}", control)
    expected = json.loads((control / "expected.json").read_text())
    log = open_log(control)

    assert log.verify().findings == ()
    assert TallyFolding().dump(log.state()) == expected["state"]
    assert [[record.seq, record.type, dict(record.data)] for record in log.records()] == expected["events"]
    log.append([draft()])
    assert log.verify().findings == ()


def test_the_current_version_is_written_byte_for_byte_as_it_was(tmp_path: Path) -> None:
    write(tmp_path)

    golden = GOLDEN / f"log-v{CURRENT}"
    assert (tmp_path / "events.jsonl").read_bytes() == (golden / "events.jsonl").read_bytes()
    head, old = (json.loads((folder / "head").read_bytes()) for folder in (tmp_path, golden))
    assert {name: head[name] for name in old} == old
