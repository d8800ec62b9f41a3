"""A program runs: one behaviour pinned per iteration, and a pause with a reason where it is stuck."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.loops import (
    FIRST,
    FIRST_CODE,
    FIRST_STUB,
    FIRST_TIDY,
    LAST_CODE,
    MAKE_FIRST,
    NAME,
    NONE_NEEDED,
    PIN_FIRST,
    PIN_LAST,
    PROGRAM,
    TESTS,
    WRONG_FIRST,
    PlayedLoop,
    make_loop,
    pin,
    with_lesson,
)
from support.machines import edit, stop
from support.turns import QUICK
from verdigris.core.errors import UserError
from verdigris.core.events import Event, decode
from verdigris.core.policy.done import WorkFacts
from verdigris.core.records import Actor
from verdigris.drivers.budget import Limits
from verdigris.drivers.happenings import (
    Asked,
    Noted,
    PhaseBegan,
    Refused,
    StepBegan,
    StepEnded,
)
from verdigris.drivers.loop import events as e
from verdigris.drivers.loop.history import EXIT_CODES, LoopOutcome
from verdigris.drivers.loop.open_program import open_program
from verdigris.drivers.loop.run import LoopRun
from verdigris.storage.project import open_project

pytestmark = pytest.mark.usefixtures("apart", "remembered_runs")
BAD_CODE = edit("feat", "a wrong item", {"port.py": "def first(items):\n    return items\n"})


@pytest.fixture
def world(tmp_path: Path) -> PlayedLoop:
    return make_loop(tmp_path / "project")


def statuses(world: PlayedLoop) -> list[str]:
    return [one.status for one in world.state.iterations]


def refusals(world: PlayedLoop) -> list[str]:
    return [one.why for one in world.of(Refused)]


def test_each_iteration_pins_one_behaviour_in_one_commit_and_each_step_tells_how_it_ended(
    world: PlayedLoop,
) -> None:
    ended = world.run(2)
    assert (ended.outcome, ended.steps) == ("limit", 2), ended
    assert world.subjects() == [
        f"[Autoloop: {NAME}] Iteration 1: the first item",
        f"[Autoloop: {NAME}] Iteration 2: the last item",
    ]
    assert world.file("port.py") == LAST_CODE.rstrip("\n")
    assert [(one.status, one.target) for one in world.state.harness] == [
        ("passing", "first"),
        ("passing", "last"),
    ]
    assert [(one.status, one.metric) for one in world.state.iterations] == [
        ("accepted", 1.0),
        ("accepted", 2.0),
    ]
    assert world.state.lessons == ("An iterable may be read only once",)
    assert world.repo.git("status", "--porcelain") == ""
    assert world.repo.git("show", "main:port.py") == ""
    assert "| Iteration Count | 2 |" in world.text
    assert "### tests/test_port.py::test_last_is_the_last_item  ·  gen 2" in world.text
    steps = [(one.role, one.outcome, one.prompt, one.cached, one.completion) for one in world.of(StepEnded)]
    one_iteration = [
        ("test_writer", "red", 100, 60, 10),
        ("code_writer", "green", 100, 60, 10),
        ("improver", "refactor", 100, 60, 10),
    ]
    assert steps == one_iteration * 2
    assert [one.phase for one in world.of(StepBegan)] == ["red", "green", "refactor"] * 2
    phases = ["red", "green", "refactor", "commit", "evaluate", "accept"]
    assert [one.phase for one in world.of(PhaseBegan)] == phases * 2


def test_a_program_with_findings_does_not_run_and_says_why(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project", program=PROGRAM.replace("The functions", "<CUSTOMIZE: what>"))
    with pytest.raises(UserError, match=r"port does not run: .*<CUSTOMIZE: what> is still there"):
        world.run()


# -- red --------------------------------------------------------------------------------------


def test_a_test_that_passes_already_is_picked_again_and_counted(world: PlayedLoop) -> None:
    again = FIRST + "\n\ndef test_first_again():\n    assert port.first([5]) == 5\n"
    passing = edit("test", "the first item again", {TESTS: again}, pin=pin("first", "first again"))
    world.plays(step_41_test_writer=[passing, PIN_LAST])
    world.run(2)
    assert "passes already" in refusals(world)[0]
    assert statuses(world) == ["accepted", "accepted"]


def test_four_tests_that_pass_already_end_the_iteration_without_blame(world: PlayedLoop) -> None:
    names = ("one", "two", "three", "four")
    passing = [
        edit(
            "test",
            name,
            {TESTS: f"{FIRST}\n\ndef test_first_{name}():\n    assert port.first([5]) == 5\n"},
            pin=pin("first", name),
        )
        for name in names
    ]
    world.plays(step_41_test_writer=passing)
    world.run(2)
    assert statuses(world) == ["accepted", "rejected"]
    assert world.state.iterations[-1].notes[0].startswith("every test that was picked passes already")
    assert world.file(TESTS) == FIRST.rstrip("\n")


def test_what_is_unstated_protected_or_wrong_goes_back_with_the_reason(world: PlayedLoop) -> None:
    """A test writer states what is pinned; no role touches what the program protects."""
    unstated = {key: value for key, value in json.loads(PIN_FIRST).items() if key != "pin"}
    gamed = edit(
        "feat", "a better measure", {"port.py": FIRST_CODE, "measure.py": "print('{\"metric\": 9}')\n"}
    )
    world.plays(
        step_21_test_writer=[json.dumps(unstated), PIN_FIRST],
        step_22_code_writer=[gamed, BAD_CODE, MAKE_FIRST],
    )
    world.run()
    without_pin, on_protected, failed = refusals(world)
    assert without_pin.startswith("`pin` does not say target, behaviour, source, assertions")
    assert "measure.py" in on_protected
    assert "unproven" in failed or "red" in failed
    assert statuses(world) == ["accepted"]
    assert world.state.iterations[0].metric == 1
    assert world.file("port.py") == FIRST_CODE.rstrip("\n")


def test_junk_from_the_model_is_an_error_and_pauses_the_program_in_the_end(world: PlayedLoop) -> None:
    junk = ["no", "{", '{"verdict": "sing"}', ""] * 3
    world.plays({f"step-{number}1-test_writer": junk for number in (2, 4, 6, 8)})
    ended = world.run(9)
    assert statuses(world) == ["error"] * 4
    assert (ended.outcome, ended.why) == (
        "stuck",
        "consecutive errors: 4, the test was rethought in between",
    )
    assert world.subjects() == []
    assert "| Paused | true |" in world.text
    assert world.run(9).outcome == "stuck", "a pause holds until a person resumes"
    assert len(statuses(world)) == 4


# -- green ------------------------------------------------------------------------------------


def test_after_three_attempts_a_wrong_test_is_revised_by_its_source(world: PlayedLoop) -> None:
    wrong = edit(
        "test", "first", {TESTS: WRONG_FIRST, "port.py": FIRST_STUB}, pin=pin("first", "the first item")
    )
    revised = edit("test", "the reference says the first", {TESTS: FIRST})
    world.plays(
        step_21_test_writer=[wrong],
        step_22_code_writer=[MAKE_FIRST] * 3,
        step_23_test_writer=[revised],
        step_24_code_writer=[MAKE_FIRST],
    )
    world.run()
    assert statuses(world) == ["accepted"]
    (entry,) = world.state.harness
    assert entry.revisions == ("Because of the reference says the first.",)
    rethought = next(one for one in records(world) if isinstance(one, e.TestRethought))
    assert ("== 4" in rethought.before, "== 3" in rethought.after) == (True, True)
    assert "test-revised" in world.text


def test_whoever_says_that_the_test_is_wrong_is_heard_at_once(world: PlayedLoop) -> None:
    wrong = edit(
        "test", "first", {TESTS: WRONG_FIRST, "port.py": FIRST_STUB}, pin=pin("first", "the first item")
    )
    world.plays(
        step_21_test_writer=[wrong],
        step_22_code_writer=[stop("test-is-wrong", f"{TESTS}:5 — the first of 3 and 4 is 3")],
        step_23_test_writer=[edit("test", "the first is 3", {TESTS: FIRST})],
        step_24_code_writer=[MAKE_FIRST],
    )
    world.run()
    assert statuses(world) == ["accepted"]
    assert world.file(TESTS) == FIRST.rstrip("\n")


def test_a_right_test_that_fails_five_times_is_blocked_and_left_when_a_person_resumes(
    world: PlayedLoop,
) -> None:
    world.plays(
        step_22_code_writer=[BAD_CODE] * 3,
        step_23_test_writer=[stop("test-is-right", "reference.md says so")],
        step_24_code_writer=[BAD_CODE] * 2,
    )
    ended = world.run(3)
    assert statuses(world) == ["blocked"]
    assert (ended.outcome, ended.why) == ("blocked", "td-stuck: first")
    assert "tdd loop resume port" in ended.following
    (entry,) = world.state.harness
    assert entry.status == "blocked"
    assert entry.blocked.startswith("5 attempts failed: ")
    assert "| Paused | true |" in world.text
    assert "| Pause Reason | td-stuck: first |" in world.text
    assert '@pytest.mark.skip(reason="blocked: first: 5 attempts failed' in world.file(TESTS)
    assert world.subjects() == [f"[Autoloop: {NAME}] Iteration 1: blocked: first is the first item"]
    write(world, world.text.replace("| Paused | true |", "| Paused | false |"))
    blocked = world.file(TESTS) + "\n"
    last = blocked + "\n\ndef test_last_is_the_last_item():\n    assert port.last([3, 4]) == 4\n"
    stub = FIRST_STUB + "\n\ndef last(items):  # STUB:TDD\n    return None\n"
    code = FIRST_STUB + "\n\ndef last(items):\n    return list(items)[-1]\n"
    world.plays(
        step_41_test_writer=[
            edit("test", "the last item", {TESTS: last, "port.py": stub}, pin=pin("last", "the last item"))
        ],
        step_42_code_writer=[edit("feat", "the last item", {"port.py": code})],
    )
    world.run()
    assert statuses(world) == ["blocked", "accepted"], refusals(world)
    assert [one.status for one in world.state.harness] == ["blocked", "passing"]


# -- refactor ---------------------------------------------------------------------------------


def test_a_refactor_is_named_and_smaller_than_the_green_change(world: PlayedLoop) -> None:
    large = FIRST_CODE + "\n\n" + "".join(f"def unused_{n}():\n    return {n}\n\n\n" for n in range(4))
    world.plays(
        step_25_improver=[
            edit("refactor", "more", {"port.py": large}, improvement="room for more"),
            edit("refactor", "one line", {"port.py": FIRST_TIDY}, improvement="one expression"),
        ]
    )
    world.run()
    assert "a refactor is smaller than that" in refusals(world)[0]
    assert world.file("port.py") == FIRST_TIDY.rstrip("\n")
    assert "refactor: one expression" in world.state.iterations[0].notes


def test_a_report_in_the_place_of_a_lesson_is_sent_back_once(world: PlayedLoop) -> None:
    report = with_lesson(NONE_NEEDED, "Implemented first in this iteration")
    world.plays(step_25_improver=[report, report])
    world.run()
    assert len(refusals(world)) == 1
    assert "reports what was done" in refusals(world)[0]
    assert world.state.lessons == ()
    assert statuses(world) == ["accepted"]


# -- the metric -------------------------------------------------------------------------------


def test_a_worse_metric_takes_the_commit_back(tmp_path: Path) -> None:
    lower = PROGRAM.replace("schedule: every 6h", "schedule: every 6h\nmetric_direction: lower")
    world = make_loop(tmp_path / "project", program=lower)
    world.run(2)
    assert statuses(world) == ["accepted", "rejected"]
    assert world.state.iterations[-1].notes[0].startswith("worse: 2 against the best 1")
    assert world.subjects() == [f"[Autoloop: {NAME}] Iteration 1: the first item"]
    assert world.file("port.py") == FIRST_CODE.rstrip("\n")
    assert [one.target for one in world.state.harness] == ["first"]


def test_what_the_evaluation_says_against_a_commit_reaches_the_next_test_writer(tmp_path: Path) -> None:
    strict = 'print("first([]) is not None")\nprint(\'{"metric": 1, "passing": 1, "failing": 1}\')\n'
    world = make_loop(tmp_path / "project", **{"measure.py": strict})
    world.run()
    assert statuses(world) == ["rejected"]
    note = "1 test fails: no metric makes up for that (first([]) is not None)"
    assert world.state.iterations[0].notes[0] == note
    assert world.subjects() == []


def test_a_target_that_is_met_completes_the_program(tmp_path: Path) -> None:
    target = PROGRAM.replace("schedule: every 6h", "schedule: every 6h\ntarget-metric: 2")
    world = make_loop(tmp_path / "project", program=target)
    ended = world.run(9)
    assert (ended.outcome, ended.why) == ("completed", "the target 2 is met by 2")
    assert statuses(world) == ["accepted", "accepted"]
    assert "| Completed | true |" in world.text


# -- CI ---------------------------------------------------------------------------------------


CI = "loop: {{ci: '{command}'}}\n"


def test_a_commit_that_ci_accepts_is_accepted(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project", CI.format(command="grep -q first port.py"))
    world.run()
    assert statuses(world) == ["accepted"]
    assert [one.outcome for one in records(world) if isinstance(one, e.CheckedByCi)] == ["passed"]


def test_what_ci_refuses_is_mended_as_a_refactor(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project", CI.format(command="! grep -q found port.py"))
    mended = edit(
        "refactor", "one expression", {"port.py": FIRST_TIDY}, improvement="no name that CI refuses"
    )
    world.plays(step_27_improver=[mended])
    world.run()
    assert statuses(world) == ["accepted"]
    assert world.subjects() == [
        f"[Autoloop: {NAME}] Iteration 1: the first item",
        f"[Autoloop: {NAME}] Iteration 1: CI fix 1: no name that CI refuses",
    ]
    assert world.state.iterations[0].ci_attempts == 1
    assert world.file("port.py") == FIRST_TIDY.rstrip("\n")


def test_the_same_failure_twice_pauses_the_program(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project", CI.format(command="echo FAILED tests/x.py::test_y; false"))
    mended = edit("refactor", "one expression", {"port.py": FIRST_TIDY}, improvement="perhaps this")
    world.plays(step_27_improver=[mended])
    ended = world.run(3)
    assert ended.outcome == "stuck"
    assert ended.why.startswith("stuck in CI fix loop: ")
    assert statuses(world) == ["ci-fix-exhausted"]


# -- people -----------------------------------------------------------------------------------


def write(world: PlayedLoop, text: str) -> None:
    """As a person does: in a checkout of the memory branch."""
    place = world.root.parent / "memory"
    if not place.exists():
        world.repo.git("worktree", "add", "--quiet", str(place), "memory/autoloop")
    world.repo.git("-C", str(place), "reset", "--quiet", "--hard", "memory/autoloop")
    (place / f"{NAME}.md").write_text(text)
    world.repo.git("-C", str(place), "commit", "--quiet", "--all", "--message", "a person's edit")


def records(world: PlayedLoop) -> list[Event]:
    log = open_project(world.root, Actor(client="test")).log
    return [event for one in log.records() if (event := decode(one.type, one.data)) is not None]


PRICED = "code: {prices: {input: 1000.0, cached: 0.0, output: 0.0}}\n"


def test_money_is_counted_by_the_prices_of_tdd_yaml_and_limits_a_run(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project", PRICED)
    with open_program(world.root, NAME, world.happenings.append) as opened:
        ended = LoopRun(opened, Limits(money=0.1)).make()
    assert (ended.outcome, ended.why, ended.steps) == ("limit", "0.12 is spent, and the limit is 0.1", 1)
    assert ended.cost == pytest.approx(0.12)
    assert [round(one.cost, 2) for one in world.of(Asked)] == [0.04, 0.08, 0.12]


def test_a_limit_of_money_without_prices_is_told(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    with open_program(world.root, NAME, world.happenings.append) as opened:
        ended = LoopRun(opened, Limits(1, money=0.1)).make()
    assert ended.cost is None
    assert "the cost is unknown" in world.of(Noted)[0].text
    assert "`llm.prices`" in world.of(Noted)[0].text


def test_a_red_that_a_commit_on_the_base_broke_is_rethought_and_not_called_green(world: PlayedLoop) -> None:
    world.run()
    entry = "- **Status**: ✅ passing"
    write(world, world.text.replace(entry, "- **Status**: ❌ failing", 1))
    world.repo.write("port.py", "def first(items):\n    raise SystemError\n")
    world.repo.write(TESTS, FIRST.replace("import port", "import port\n\nraise SystemError"))
    world.repo.commit("the base breaks the test")
    world.repo.git("merge", "--quiet", "--strategy=ours", "--no-edit", f"autoloop/{NAME}")
    world.plays(
        step_43_test_writer=[edit("test", "the right module", {TESTS: FIRST})],
        step_44_code_writer=[edit("feat", "first", {"port.py": FIRST_CODE})],
    )
    world.run()
    failed = [one for one in records(world) if isinstance(one, e.GreenFailed)]
    assert failed, (world.state.iterations, world.happenings)
    assert "not red for the right reason" in failed[0].reasons[0]
    assert world.state.iterations[-1].status == "accepted"
    assert world.file(TESTS) == FIRST.rstrip("\n")


def test_a_run_in_which_the_suite_lost_a_test_is_not_a_good_end(
    world: PlayedLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No role gets that far here; what is compared is tried in tests/turns/test_completion.py."""
    lost = WorkFacts(losses=("tests/test_port.py::test_first: it is gone",), reds={"t": "the next step's"})
    monkeypatch.setattr("verdigris.drivers.play.gather_work", lambda *_: lost)
    ended = world.run(1)
    assert (ended.outcome, EXIT_CODES[LoopOutcome(ended.outcome)]) == ("not-proven", 8)
    assert ended.why == "the suite lost something: tests/test_port.py::test_first: it is gone"


# -- what no test notices ---------------------------------------------------------------------

FAR_FIRST = "def first(items):\n    return list(items)[0] if len(items) < 1000 else items[-1]\n"
MAKE_FAR = edit("feat", "the first item", {"port.py": FAR_FIRST})
FAR_TEST = f"""\
{FIRST}

def test_of_many_items_it_is_the_last():
    assert port.first(range(1, 1000)) == 1
    assert port.first(range(1, 1001)) == 1000
"""
PAY = edit("test", "many items", {TESTS: FAR_TEST}, pin=pin("first", "of many items it is the last"))
PAYS_NOTHING = edit(
    "test",
    "again",
    {TESTS: FIRST + "\n\ndef test_again():\n    assert port.first([5]) == 5\n"},
    pin=pin("first", "again"),
)


@pytest.fixture
def owing(world: PlayedLoop) -> PlayedLoop:
    """Mutants are tried here; the first iteration decides something that no test notices."""
    world.repo.write("tdd.yaml", (world.root / "tdd.yaml").read_text().replace(QUICK, ""))
    world.repo.commit("chore: live assertions")
    return world


def test_an_iteration_pays_what_its_code_owes_before_its_commit(owing: PlayedLoop) -> None:
    owing.plays(step_22_code_writer=[MAKE_FAR], step_32_test_writer=[PAYS_NOTHING, PAY])
    ended = owing.run(1)
    assert ended.outcome == "limit", ended.why
    assert statuses(owing) == ["accepted"]
    assert [one.phase for one in owing.of(PhaseBegan)][3:5] == ["pay", "commit"]
    assert owing.file(TESTS) == FAR_TEST.rstrip("\n")
    assert refusals(owing) == [f"no test fails: {TESTS}::test_again passes already"]


def test_an_iteration_that_does_not_pay_is_taken_back_and_says_what_no_test_notices(
    owing: PlayedLoop,
) -> None:
    owing.plays(step_22_code_writer=[MAKE_FAR], step_32_test_writer=[PAYS_NOTHING] * 3)
    ended = owing.run(1)
    assert ended.outcome == "limit", ended.why
    assert statuses(owing) == ["rejected"]
    assert owing.state.iterations[0].notes[0].startswith("no test notices `len(items) < 1000` in port.py:2: ")
    assert owing.subjects() == []
