"""A person's commands in a session, on a real project with a scripted model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.code_sessions import (
    GOOD,
    GREEN,
    KEY,
    RED,
    TEST,
    TEST_ID,
    TEST_TEXT,
    call,
    playing,
    session_after,
    turn,
)
from support.watchers import ignore_event
from verdigris.core.events import SwitchedOff, decode
from verdigris.drivers.budget import Limits
from verdigris.drivers.code.commands import COMMANDS, CommandAnswer, Dialogue, run_command
from verdigris.drivers.code.facts import describe_usage, read_facts
from verdigris.drivers.code.outcome import End
from verdigris.drivers.code.session import Session
from verdigris.drivers.code.session_start import SessionOptions, open_session, work_on_task
from verdigris.drivers.code.settings import Sweep

pytestmark = pytest.mark.slow
BODY = "    raise NotImplementedError  # STUB:TDD\n"


def told(session: Session, line: str) -> str:
    return "\n".join(run_command(session, line).lines)


def test_what_was_accepted_is_undone_to_before_the_task_and_plan_and_verdict_follow(tmp_path: Path) -> None:
    wrong = turn(call("edit_file", path="calculator.py", search=BODY, replace="    return a - b\n"))
    right = turn(call("edit_file", path="calculator.py", search="a - b", replace="a + b"))
    with session_after(tmp_path, *RED, wrong, right, turns=4) as (played, session):
        root = played.repo.root
        assert (root / "calculator.py").read_text() == GOOD
        assert (read_facts(session).steps[0].colour, read_facts(session).verdict.kind) == (
            "green",
            "accepted",
        )
        answer = run_command(session, "/undo")
        assert "as it was before the task" in answer.lines[0]
        assert "calculator.py" in answer.lines[0]
        assert "undone your work" in answer.note
        assert not (root / "calculator.py").exists()
        assert not (root / TEST).exists()
        assert (read_facts(session).steps[0].colour, read_facts(session).verdict.kind) == ("none", "")
        assert not session.bench.project.state().reds
        assert told(session, "/undo") == "nothing that this session changed is still there"


def test_an_undo_goes_back_to_the_last_accepted_state(tmp_path: Path) -> None:
    more = turn(
        call(
            "edit_file", path=TEST, search="== 123\n", replace="== 123\n\n\ndef test_more():\n    assert 0\n"
        )
    )
    with session_after(tmp_path, *RED, GREEN, more, turns=4) as (played, session):
        root = played.repo.root
        assert f"when {TEST_ID} was accepted" in told(session, "/undo")
        assert (root / TEST).read_text() == TEST_TEXT
        assert (root / "calculator.py").read_text() == GOOD
        assert read_facts(session).verdict.kind == "accepted"
        assert "before the task" in told(session, "/undo")
        assert not (root / TEST).exists()


def test_after_an_undo_the_law_goes_on_from_there(tmp_path: Path) -> None:
    """What was accepted and taken back is no edit without a red: the same change can be made again."""
    with session_after(tmp_path, *RED, GREEN, *RED, GREEN, "Done again.", turns=3) as (played, session):
        run_command(session, "/undo")
        ended = work_on_task(session, "Do it again.", resumed=True)
        assert (ended.outcome, ended.accepted) == (End.DONE, (TEST_ID,)), ended
        assert (played.repo.root / "calculator.py").read_text() == GOOD


def test_files_that_are_not_text_and_modes_come_back_too(tmp_path: Path) -> None:
    change = turn(call("shell", command="printf '\\0\\1' > data.bin; chmod -x run.sh; rm README.md"))
    with playing(
        tmp_path / "other", (change,), files={"data.bin": "\x00old", "run.sh": "#!/bin/sh\n"}
    ) as played:
        root = played.repo.root
        (root / "run.sh").chmod(0o755)
        os.environ["SCRIPT_KEY"] = KEY
        with open_session(root, ignore_event, SessionOptions(limits=Limits(rounds=1))) as session:
            work_on_task(session, "Change things.")
            assert (root / "data.bin").read_bytes() == b"\0\1"
            run_command(session, "/undo")
        del os.environ["SCRIPT_KEY"]
        assert (root / "data.bin").read_bytes() == b"\0old"
        assert os.access(root / "run.sh", os.X_OK)
        assert (root / "README.md").exists()


def test_what_is_shown_is_what_the_kernel_knows(tmp_path: Path) -> None:
    with session_after(tmp_path, *RED, turns=2) as (_, session):
        assert "1. ● red add two numbers" in told(session, "/plan")
        assert f"red {TEST_ID}" in told(session, "/status")
        assert "+def add(a, b):" in told(session, "/diff")
        assert told(session, "/cost").startswith(describe_usage(session.meter.usage))
        assert told(session, "/model") == "scripted answers; /model PROVIDER:NAME lets another one go on"
        assert all(name in told(session, "/help") for name in COMMANDS)
        assert "there is no /nonsense" in told(session, "/nonsense")
        assert run_command(session, "/quit").ends


def test_a_persons_verbs_are_recorded_as_a_persons(tmp_path: Path) -> None:
    with session_after(tmp_path, *RED, turns=2) as (played, session):
        assert "needs a reason" in told(session, "/off")
        assert "the law is off" in told(session, "/off a spike")
        [record] = [
            r for r in played.project.log.records() if isinstance(decode(r.type, r.data), SwitchedOff)
        ]
        assert (record.actor["role"], record.data["why"]) == ("person", "a spike")
        assert told(session, "/on") == "the law is on"
        assert "needs a place" in told(session, "/test-bug")
        assert f"b1: {TEST}:" in told(session, f"/test-bug {TEST}:5 the sum is wrong")
        assert "nothing is set aside as 'a9'" in told(session, "/restore a9")
        assert told(session, "/restore") == "nothing is set aside"


def test_a_refactor_is_begun_and_judged(tmp_path: Path) -> None:
    with session_after(tmp_path, *RED, GREEN, turns=3) as (_, session):
        assert "does not know" in told(session, "/refactor everything")
        assert "quotation" in told(session, "/refactor --sweep 'src")
        assert "/refactor again has it judged" in told(session, "/refactor")
        assert session.bench.project.state().phase == "refactor"
        assert "a refactor is open" in told(session, "/quit")
        assert told(session, "/refactor").startswith("[tdd] accepted")


def test_a_sweep_is_begun_with_its_scope_and_judged_within_it(tmp_path: Path) -> None:
    with session_after(tmp_path, *RED, GREEN, turns=3) as (played, session):
        told(session, "/refactor --sweep 'lib/**'")
        assert session.bench.sweep == Sweep(("lib/**",))
        played.repo.write("calculator.py", GOOD.replace("a + b", "b + a"))
        assert "denied [outside-sweep]" in told(session, "/refactor")
        played.repo.write("calculator.py", GOOD)
        assert told(session, "/refactor").startswith("the sweep touched 0 files\n[tdd] accepted")


def test_a_sweep_has_a_budget_of_files_that_a_person_may_set(tmp_path: Path) -> None:
    with session_after(tmp_path, *RED, GREEN, turns=3) as (_, session):
        for wrong in ("--sweep-files 0", "--sweep-files", "--sweep-files many", "--sweep-files 3 4"):
            assert "cannot read" in told(session, f"/refactor --sweep '*.py' {wrong}")
        told(session, "/refactor --sweep '*.py' 'lib/**' --sweep-files 3")
        assert session.bench.sweep == Sweep(("*.py", "lib/**"), 3)


def test_a_conversation_is_compacted_on_demand(tmp_path: Path) -> None:
    with session_after(tmp_path, *RED, turns=2) as (_, session):
        run_command(session, "/compact")
        assert "Write a calculator that adds." in session.file.record.conversation.said[0].content


def test_another_model_goes_on_with_the_same_beginning_and_after_a_resume_too(tmp_path: Path) -> None:
    with session_after(tmp_path, *RED, GREEN, "Done.", "Done.", "Again.", turns=2) as (played, session):
        assert told(session, "/model another") == "another answers from the next turn on"
        session.plan_told = True
        work_on_task(session, "Go on.", resumed=True)
        asked = played.server.requests
        assert [request.body["model"] for request in asked[:3]] == ["scripted", "scripted", "another"]
        assert asked[2].messages[: len(asked[1].messages)] == asked[1].messages
        assert asked[2].body["tools"] == asked[1].body["tools"]
        name = session.file.name
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCRIPT_KEY", KEY)
        with open_session(played.repo.root, ignore_event, SessionOptions(resume=name)) as session:
            assert session.model.name == "another"
        options = SessionOptions(resume=name, model="scripted")
        with open_session(played.repo.root, ignore_event, options) as session:
            assert session.model.name == "scripted"
        with open_session(played.repo.root, ignore_event, SessionOptions(resume=name)) as session:
            assert session.model.name == "scripted"


def test_a_model_that_nobody_serves_is_told_and_the_one_before_goes_on(tmp_path: Path) -> None:
    with session_after(tmp_path, *RED, turns=2) as (_, session):
        assert "a replay of no file" in told(session, "/model replay:")
        assert "a model, not a person" in told(session, "/model human")
        assert session.model.name == "scripted"
        assert session.file.record.chosen == ""


def test_a_line_is_a_task_or_a_command_and_the_model_hears_what_the_person_did(tmp_path: Path) -> None:
    with session_after(tmp_path, *RED, GREEN, "Fine.", "Fine.", turns=2) as (played, session):
        dialogue = Dialogue(session)
        assert dialogue.take("  ") == CommandAnswer(())
        assert "before the task" in dialogue.take("/undo").lines[0]
        session.limits = Limits(rounds=3)
        dialogue.take("Go on.")
        assert "The person has undone your work" in played.messages[-1]["content"]
        assert dialogue.notes == []


def test_a_command_that_a_person_interrupts_ends_and_the_session_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with session_after(tmp_path, *RED, turns=2) as (_, session):
        monkeypatch.setattr("verdigris.drivers.code.commands.begin_refactor", interrupt)
        answer = Dialogue(session).take("/refactor")
        assert answer.lines == ("/refactor was cancelled; /status tells where things stand",)
