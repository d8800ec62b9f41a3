from __future__ import annotations

import fcntl
import json
import os
import posix
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import verdigris
from storage.log import children
from storage.log.children import at_call, deaths, die, fail, outcome, start
from storage.log.tally import ACTOR, Tally, draft, filled, lines, numbers, open_log, put_lines, repair_draft
from verdigris.core.records import Record, flatten
from verdigris.storage.log import light
from verdigris.storage.log.lines import encode, parse

if TYPE_CHECKING:
    from verdigris.storage.log.log import Log

ENVELOPE: dict[str, Any] = {"worktree": "main", "branch": "trunk", "actor": ACTOR, "v": 1}


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """`at_call` counts what the light append does to the disk, too."""
    calls = [(posix, name) for name in ("open", "pwrite", "ftruncate", "replace", "unlink")]
    monkeypatch.setattr(children, "CALLS", [*children.CALLS, *calls])


def head(control: Path) -> dict[str, Any]:
    found = light.head(os.fspath(control))
    assert found is not None
    return found


def append(control: Path, n: object, state: str | None = None) -> bool:
    now = light.stamp(head(control)) if state is None else state
    return light.append(os.fspath(control), now, "noted", ENVELOPE, {"n": n})  # type: ignore[dict-item]


def test_the_line_is_what_the_log_itself_would_write(tmp_path: Path) -> None:
    log = filled(tmp_path, 2)
    data = {"n": 'é "\n\udcff', "tools": ["a", None, {"b": 1}]}
    assert light.append(os.fspath(tmp_path), light.stamp(head(tmp_path)), "noted", ENVELOPE, data)  # type: ignore[arg-type]
    line = json.loads(lines(tmp_path)[-1])
    record = Record(3, line["ts"], "main", "trunk", ACTOR, 1, line["prev"], "noted", data)
    assert lines(tmp_path)[-1] == encode(flatten(record)) + b"\n"
    assert log.verify().findings == ()
    assert numbers(log) == [1, 2, data["n"]]


def test_light_records_keep_the_stamp_of_the_state_and_any_other_changes_it(tmp_path: Path) -> None:
    log = filled(tmp_path, 2)
    state = light.stamp(head(tmp_path))
    assert append(tmp_path, "a", state)
    assert append(tmp_path, "b", state)
    assert light.stamp(head(tmp_path)) == state
    assert light.changed_at(head(tmp_path)) == 2
    log.append([draft("c")])
    assert light.stamp(head(tmp_path)) != state
    assert light.changed_at(head(tmp_path)) == 5
    assert not append(tmp_path, "d", state)
    assert numbers(log) == [1, 2, "a", "b", "c"]
    assert log.verify().findings == ()


def test_a_repair_that_ends_at_the_same_number_has_another_stamp(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    state = light.stamp(head(tmp_path))
    put_lines(tmp_path, [*lines(tmp_path)[:2], b"{}\n"])
    log.repair(repair_draft("it was cut"))
    assert light.changed_at(head(tmp_path)) == 3
    assert light.stamp(head(tmp_path)) != state


def test_checkpoints_are_not_starved(tmp_path: Path) -> None:
    log = filled(tmp_path, 1, every=32)
    while append(tmp_path, "a"):
        pass
    assert log.state().events == 1 + light.MOST_IN_A_ROW
    log.append([draft("b")])
    assert json.loads(lines(tmp_path)[-1])["type"] == "checkpoint"
    assert append(tmp_path, "c")
    assert log.verify().findings == ()


def torn(control: Path) -> None:
    with (control / "events.jsonl").open("ab") as file:
        file.write(b'{"seq":4,"ts":')


def cut(control: Path) -> None:
    put_lines(control, lines(control)[:2])


def edited(control: Path) -> None:
    put_lines(control, [*lines(control)[:2], lines(control)[2].replace(b'"n":3', b'"n":7')])


def beyond_the_head(control: Path) -> None:
    before = (control / "head").read_bytes()
    open_log(control).append([draft(4)])
    (control / "head").write_bytes(before)


def no_head(control: Path) -> None:
    (control / "head").unlink()


def junk_head(control: Path) -> None:
    (control / "head").write_bytes(b"[" * 60_000)


def repairing(control: Path) -> None:
    (control / "head.repaired").write_bytes(b"")


def no_lock(control: Path) -> None:
    (control / "lock").unlink()


def no_log(control: Path) -> None:
    (control / "events.jsonl").unlink()


@pytest.mark.parametrize(
    "damage", [torn, cut, edited, beyond_the_head, no_head, junk_head, repairing, no_lock, no_log]
)
def test_what_is_not_plain_is_left_alone(tmp_path: Path, damage: Any) -> None:
    filled(tmp_path, 3)
    state = light.stamp(head(tmp_path))
    damage(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert not append(tmp_path, "x", state)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_long_last_line_is_checked_and_one_that_is_too_long_is_not_plain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(tmp_path, 1)
    log.append([draft("x" * 40_000)])
    assert append(tmp_path, "a")
    monkeypatch.setattr(light, "LONGEST_LINE", 1000)
    assert append(tmp_path, "b")
    log.append([draft("x" * 10_000)])
    assert not append(tmp_path, "c")


def test_another_writer_is_waited_for_only_for_a_moment(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    with (tmp_path / "lock").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        assert not append(tmp_path, "a")
    assert append(tmp_path, "a")


def test_a_writer_killed_at_any_step_leaves_the_old_log_or_the_new_one(tmp_path: Path) -> None:
    control = tmp_path / "tdd"
    log = filled(control, 3)
    state = light.stamp(head(control))
    kept = {path: path.read_bytes() for path in control.iterdir()}

    def restore() -> None:
        for path in control.iterdir():
            path.write_bytes(kept[path]) if path in kept else path.unlink()

    seen = set()
    for number in deaths(lambda: append(control, "a", state), restore):
        assert log.verify().whole, f"killed at call {number}"
        seen.add(tuple(numbers(log)))
        log.append([draft("next")])
        assert log.verify().findings == ()
    assert seen == {(1, 2, 3), (1, 2, 3, "a")}
    assert number > 5


def test_a_disk_that_fails_at_any_step_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    state = light.stamp(head(tmp_path))
    failures = 0
    done = False
    while not done:
        failures += 1
        with at_call(failures, fail):
            done = append(tmp_path, "a", state)
        if not done:
            assert numbers(log) == [1, 2, 3]
            assert log.verify().findings == ()
            assert not (tmp_path / "head.new").exists()
    assert failures > 5
    assert numbers(log) == [1, 2, 3, "a"]


def writer(log: Log[Tally], control: Path, name: int, acknowledge: int, doom: int) -> None:
    """Light appends where they are plain, else the log's own; may die in the middle of one."""
    for n in range(60):
        if n == doom:
            with at_call(4 + name, die):
                append(control, [name, n], light.stamp(head(control)))
                log.append([draft([name, n])])
        found = light.head(os.fspath(control))
        if n % 3 == 0 or found is None or not append(control, [name, n], light.stamp(found)):
            log.append([draft([name, n])])
        os.write(acknowledge, f"{name} {n}\n".encode())


def test_eight_writers_of_both_kinds_of_which_some_are_killed(tmp_path: Path) -> None:
    log = filled(tmp_path, 1, every=32)
    acks, acknowledge = os.pipe()
    doomed = {2: 5, 3: 20, 4: 30, 5: 40, 6: 50}
    pids = {n: start(partial(writer, log, tmp_path, n, acknowledge, doomed.get(n, -1))) for n in range(8)}
    os.close(acknowledge)
    acked = set()
    with os.fdopen(acks) as said:
        for line in said:
            name, n = map(int, line.split())
            acked.add((name, n))
            if (name, n) == (0, 30):
                os.kill(pids[0], signal.SIGKILL)
    outcomes = {n: outcome(pid) for n, pid in pids.items()}
    assert outcomes[7] == outcomes[1] == 0
    assert log.verify().whole
    log.append([draft([99, 0])])
    assert log.verify().findings == ()
    found: Any = numbers(log)[1:]
    assert acked <= {tuple(n) for n in found}


@pytest.mark.parametrize(
    "text", ["", "{} {}", "[", "NaN", '{"a":Infinity}', "\ufeff{}", "[" * 100_000, "\x00"]
)
def test_junk_is_no_json(text: str) -> None:
    with pytest.raises((ValueError, RecursionError, StopIteration)):
        light.loads(text)


@pytest.mark.parametrize("text", [' {"a": [1, 2.5, null, true, "\\ud800é"]}\n', "3", '{"a":1,"a":2}'])
def test_json_is_read_as_the_standard_library_reads_it(text: str) -> None:
    assert light.loads(text) == json.loads(text)
    assert parse(b'{"seq":1,"hash":"x","size":1,"checkpoint":0,"base":"y","light":3}').seq == 1


def test_it_can_be_imported_without_anything_heavy() -> None:
    source = Path(verdigris.__file__).parents[1]
    heavy = {"dataclasses", "typing", "pathlib", "inspect", "contextlib"}
    code = (
        f"import sys; sys.path.insert(0, {os.fspath(source)!r}); import verdigris.storage.log.light;"
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )

    found = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )

    assert found.stdout.strip() == "[]"
