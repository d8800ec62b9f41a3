"""Models play a cycle: from a spec to evidence, and what becomes of those who answer otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cycle_runs import (
    CODED,
    PASSED,
    PLANNED,
    RED,
    PlayedCycle,
    cast,
    honest,
    judged,
    make_played,
)
from support.cycles import CODE, PLAN, PLAN_PATH, SPEC_PATH, STUB, TEST_PATH, TESTS
from support.killing import Killer
from support.machines import edit, stop
from support.openai_server import Stall, Step, rate_limited, serving
from verdigris.core.actions import Deny
from verdigris.core.errors import ModelUnavailable, UserError
from verdigris.core.state import Phase, Stage
from verdigris.drivers.cycle.completion import verify
from verdigris.drivers.cycle.frame import identity_of
from verdigris.drivers.cycle.stages import resume, rule_on_bug
from verdigris.drivers.happenings import CycleBegan, Refused, StepEnded, Told
from verdigris.turns.settle import Settlement, settle

HASTY = "cycle: {attempts: 2}\n"
SERVED = "llm: {{base_url: '{url}', timeout: 1}}\n"


@pytest.fixture(autouse=True)
def quick(remembered_runs: None) -> None:
    """A run that was made in this session is not made again."""


def refusals(world: PlayedCycle) -> list[str]:
    return [refused.why for refused in world.of(Refused)]


def test_four_models_take_a_spec_to_evidence_that_holds(tmp_path: Path) -> None:
    world = make_played(tmp_path / "project")
    ended = world.run()
    assert (ended.outcome, len(ended.commits)) == ("cycle-done", 3)
    assert world.subjects() == [
        "docs(plan): what the tests of SPEC-001 assert",
        "test: the scenarios of SPEC-001",
        "feat: SPEC-001, shown by 2 tests",
    ]
    assert verify(world.project, "EVID-001") == ()
    assert {stage: [*map(identity_of, who)] for stage, who in world.cycle.workers.items()} == {
        Stage.PLAN: ["cycle/agent/cycle:planner:c1.1"],
        Stage.RED: ["cycle/agent/cycle:test_author:c1.2"],
        Stage.VALIDATE: ["cycle/agent/cycle:validator:c1.3"],
        Stage.GREEN: ["cycle/agent/cycle:coder:c1.4"],
    }
    assert world.repo.git("log", "-1", "--format=", "--name-only", "HEAD~1").split() == ["calc.py", TEST_PATH]
    assert world.repo.git("log", "-1", "--format=", "--name-only", "HEAD~2") == PLAN_PATH
    assert world.of(Told)[-1].lines[-1] == "ACTIVATE SPEC-001 EVID-001"
    assert world.at_rest
    assert world.run().why == "SPEC-001 is implemented: EVID-001"
    assert len(world.subjects()) == 3


# -- the planner and the test author ----------------------------------------------------------


def test_a_plan_with_code_goes_back_and_a_planner_writes_the_plan_alone(tmp_path: Path) -> None:
    world = make_played(tmp_path / "project", "plan", roles=cast(test_author="human"))
    fenced = f"{PLAN}\n```python\nassert sub(3, 2) == 1\n```\n"
    world.plays(
        step_1_planner=[
            edit("docs", "a plan with code", {PLAN_PATH: fenced}),
            edit("docs", "and tests", {PLAN_PATH: PLAN, TEST_PATH: TESTS}),
            PLANNED,
        ]
    )
    ended = world.run()
    assert (ended.outcome, ended.why) == ("waiting", "the test_author is a person")
    assert ended.following.startswith("write tests that carry `@scenario:` and an id")
    code, tests = refusals(world)
    assert "a block of code in the plan" in code
    assert tests == f"{TEST_PATH}: the planner writes {PLAN_PATH} alone"
    assert (world.root / PLAN_PATH).read_text() == PLAN
    assert world.at_rest


def test_tests_that_pass_or_bring_code_are_set_aside_and_the_author_hears_why(tmp_path: Path) -> None:
    world = make_played(tmp_path / "project", "red", roles=cast(validator="human"))
    world.plays(
        step_2_test_author=[
            edit("test", "with the code", {TEST_PATH: TESTS, "calc.py": CODE}),
            edit("test", "untagged", {TEST_PATH: TESTS.replace("@scenario", "scenario"), "calc.py": STUB}),
            RED,
        ]
    )
    ended = world.run()
    assert ended.why == "the validator is a person"
    source, untagged = refusals(world)
    assert source.startswith("denied [cycle-red]: calc.py: source waits until the tests of SPEC-001")
    assert "carries no scenario" in untagged
    assert world.cycle.stage is Stage.VALIDATE
    assert (world.root / "calc.py").read_text() == STUB


# -- the validator ----------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path) -> PlayedCycle:
    """The tests are written; a person is the coder."""
    return make_played(tmp_path / "project", "validate", HASTY, roles=cast(coder="human"))


@pytest.mark.parametrize("junk", ["Looks good to me: PASS!", "", '{"verdict": "PASS"', stop("edit", "fine")])
def test_what_is_no_verdict_is_never_a_pass(written: PlayedCycle, junk: str) -> None:
    written.plays(step_3_validator=[junk] * 4)
    ended = written.run()
    assert ended.outcome == "stopped"
    assert ended.why.startswith("no answer of the validator was accepted in 2 attempts: ")
    assert (written.cycle.verdict, written.cycle.stage) == ("", Stage.VALIDATE)
    assert written.run().outcome == "stopped"


def test_after_a_stop_a_person_lets_the_validator_try_again(written: PlayedCycle) -> None:
    written.plays(step_3_validator=["{", "{"])
    assert "tdd cycle resume --why" in written.run().following
    resume(written.project, "another model")
    written.plays()
    ended = written.run()
    assert (ended.outcome, ended.why) == ("waiting", "the coder is a person")
    assert written.cycle.stage is Stage.GREEN
    assert written.project.state().phase is Phase.GREEN


def test_a_validator_that_is_silent_gives_no_verdict(tmp_path: Path) -> None:
    faults: list[Step] = [Stall(), rate_limited("9999")]
    with serving(lambda request: faults.pop(0) if faults else honest(request)) as server:
        roles = cast("scripted", coder="human")
        world = make_played(tmp_path / "project", "validate", SERVED.format(url=server.url), roles=roles)
        with pytest.raises(ModelUnavailable):
            world.run()
        assert (world.cycle.verdict, world.cycle.stage) == ("", Stage.VALIDATE)
        assert world.run().why == "the coder is a person"
    assert world.of(CycleBegan)[-1].resumed


def test_concerns_send_the_tests_back_with_the_findings(tmp_path: Path) -> None:
    world = make_played(tmp_path / "project", "validate", roles=cast(coder="human"))
    stronger = TESTS + "\n\ndef test_nothing_taken_away():\n    assert calc.add(5, 0) == 5\n"
    finding = f"{TEST_PATH}:6 — zero taken away is not shown"
    world.plays(
        step_3_validator=[
            judged("CONCERNS"),
            judged("CONCERNS", "tests/test_gone.py:1 — it is bad"),
            judged("CONCERNS", finding),
        ],
        step_4_test_author=[edit("test", "zero", {TEST_PATH: stronger})],
        step_5_validator=[PASSED],
    )
    assert world.run().why == "the coder is a person"
    none, nowhere = refusals(world)
    assert none == "The verdict CONCERNS needs `findings`, each as `file:line — what is wrong`"
    assert "names no line of a file of the project" in nowhere
    assert [step.outcome for step in world.of(StepEnded)] == ["CONCERNS", "handed-in", "PASS"]
    assert world.cycle.rounds == 1
    asked = (world.root / ".tdd/logs/step-4-test_author.json").read_text()
    assert '"outcome": "done"' in asked


def test_a_blocker_stops_the_cycle_for_a_person(written: PlayedCycle) -> None:
    written.plays(step_3_validator=[judged("BLOCKER", f"{SPEC_PATH}:9 — it contradicts itself")])
    ended = written.run()
    assert (ended.outcome, ended.why) == ("stopped", f"{SPEC_PATH}:9 — it contradicts itself")


def test_a_validator_writes_no_code_but_may_hold_tests_out(written: PlayedCycle) -> None:
    hidden = "import calc\n\n\ndef test_equal():\n    assert calc.sub(31, 30) == 1\n"
    written.plays(
        step_3_validator=[
            judged("PASS", files={"calc.py": CODE}),
            judged("PASS", files={"tests/test_hidden.py": hidden}),
        ]
    )
    assert written.run().why == "the coder is a person"
    assert refusals(written) == ["calc.py: the validator writes nothing but new tests to be held out"]
    assert list(written.project.state().held_out) == ["tests/test_hidden.py"]
    assert not (written.root / ".tdd/holdout/tests/test_hidden.py").exists()


def test_without_a_validator_the_kernels_checks_alone_decide(tmp_path: Path) -> None:
    world = make_played(tmp_path / "project", "validate", roles=cast(validator="", coder="human"))
    assert world.run().why == "the coder is a person"
    assert world.cycle.workers[Stage.VALIDATE][0].role == "kernel"


# -- the coder --------------------------------------------------------------------------------


@pytest.fixture
def frozen(tmp_path: Path) -> PlayedCycle:
    return make_played(tmp_path / "project", "green", "cycle: {attempts: 3}\n")


def test_a_coder_that_edits_tests_or_is_wrong_goes_on_with_the_reason(frozen: PlayedCycle) -> None:
    wrong = CODE.replace("a - b", "b - a")
    frozen.plays(
        step_4_coder=[
            edit("feat", "an easier test", {TEST_PATH: TESTS.replace("== 1", "== 0"), "calc.py": CODE}),
            edit("feat", "the wrong way round", {"calc.py": wrong}),
            CODED,
        ]
    )
    assert frozen.run().outcome == "cycle-done"
    tests, verdict = refusals(frozen)
    assert tests.startswith(f"{TEST_PATH}: it belongs to the tests, which are frozen")
    assert verdict.startswith("still-red: ")
    assert (frozen.root / TEST_PATH).read_text() == TESTS
    assert frozen.at_rest


def test_a_coder_that_never_gets_there_stops_the_cycle_and_nothing_of_it_stays(frozen: PlayedCycle) -> None:
    guesses = [STUB.replace("0", str(number)) for number in (1, 2, 3)]
    frozen.plays(step_4_coder=[edit("feat", "a guess", {"calc.py": guess}) for guess in guesses])
    ended = frozen.run()
    assert ended.outcome == "stopped"
    assert ended.why.startswith("no answer of the coder was accepted in 3 attempts: ")
    assert frozen.at_rest
    assert (frozen.root / "calc.py").read_text() == STUB


@pytest.mark.parametrize(
    "answer",
    [
        stop("test-is-wrong", f"{TEST_PATH}:6 — two from three is not one"),
        f"I cannot do that.\n\nTEST_BUG: {TEST_PATH}:6 — two from three is not one\n",
    ],
)
def test_a_wrong_test_stops_the_coder_until_somebody_rules(frozen: PlayedCycle, answer: str) -> None:
    frozen.plays(step_4_coder=[answer])
    ended = frozen.run()
    assert ended.outcome == "stopped"
    said = f"the coder says that a test is wrong: {TEST_PATH}:6 — two from three is not one"
    assert ended.why == said
    assert "tdd cycle test-bug uphold" in ended.following
    assert not isinstance(rule_on_bug(frozen.project, "the spec says so", uphold=False), Deny)
    frozen.plays()
    assert frozen.run().outcome == "cycle-done"
    assert frozen.cycle.bugs == 1


def test_a_bug_without_a_place_is_reported_of_the_first_test_and_upheld_opens_the_tests(
    tmp_path: Path,
) -> None:
    world = make_played(tmp_path / "project", "green", roles=cast(validator="human"))
    world.plays(step_4_coder=[stop("test-is-wrong", "nobody can do that")])
    assert world.run().outcome == "stopped"
    rule_on_bug(world.project, "it asks too much", uphold=True)
    mended = TESTS.replace("calc.sub(3, 2) == 1", "calc.sub(4, 3) == 1")
    world.plays(step_5_test_author=[edit("test", "mended", {TEST_PATH: mended})])
    assert world.run().why == "the validator is a person"
    assert (world.root / TEST_PATH).read_text() == mended


def test_a_wrong_spec_stops_the_cycle(frozen: PlayedCycle) -> None:
    frozen.plays(step_4_coder=[stop("spec-is-wrong", "line 9 contradicts line 13")])
    assert frozen.run().why == "the coder says that the spec is wrong: line 9 contradicts line 13"
    assert frozen.at_rest


# -- around the roles -------------------------------------------------------------------------


def test_a_budget_that_is_used_up_ends_the_run_and_the_next_one_goes_on(tmp_path: Path) -> None:
    world = make_played(
        tmp_path / "project", "plan", "budget: {tokens: 100}\n", roles=cast(validator="human")
    )
    ended = world.run()
    assert ended.outcome == "budget-used-up"
    assert (world.cycle.stage, world.subjects()[-1]) == (
        Stage.RED,
        "docs(plan): what the tests of SPEC-001 assert",
    )
    assert world.at_rest
    assert world.run().why == "the validator is a person"


def test_a_persons_part_is_taken_up_and_named_as_theirs(tmp_path: Path) -> None:
    world = make_played(tmp_path / "project", "validate", roles=cast(coder="human"))
    ended = world.run()
    assert ended.following == "make the frozen tests pass, then `tdd settle`; then `tdd cycle run` goes on"
    world.repo.write("calc.py", CODE)
    assert world.run().outcome == "waiting"
    assert (world.root / "calc.py").read_text() == CODE
    settled = settle(world.project)
    assert isinstance(settled, Settlement)
    assert world.run().outcome == "cycle-done"
    assert [*map(identity_of, world.cycle.workers[Stage.GREEN])] == ["cli/person"]


def test_a_role_that_nobody_plays_is_told_before_anything_is_done(tmp_path: Path) -> None:
    world = make_played(tmp_path / "project", roles=cast(coder=""))
    with pytest.raises(UserError, match="nobody plays the coder") as told:
        world.run()
    assert "`tdd help cycle`" in (told.value.hint or "")
    assert world.project.state().cycle is None


def test_another_spec_than_the_open_cycles_is_refused(frozen: PlayedCycle) -> None:
    found = frozen.try_to_run("specs/other.md")
    assert isinstance(found, Deny)
    assert found.rule == "cycle-open"


def test_edits_that_a_killed_run_left_are_set_aside_and_what_is_nobodys_stays(frozen: PlayedCycle) -> None:
    frozen.repo.write("calc.py", "def su")
    frozen.repo.write("notes.txt", "mine")
    assert frozen.run().outcome == "cycle-done"
    assert frozen.repo.git("status", "--porcelain") == "?? notes.txt"
    assert frozen.repo.git("show", "HEAD:calc.py") + "\n" == CODE


def test_a_moved_spec_is_told_before_a_model_is_asked(frozen: PlayedCycle) -> None:
    (frozen.root / SPEC_PATH).write_text("# nothing\n")
    ended = frozen.run()
    assert (ended.outcome, ended.tokens) == ("refused", 0)
    assert "the target moved under the tests" in ended.why


# -- killed anywhere --------------------------------------------------------------------------


BEFORE = frozenset({"Committed", "CycleAdvanced", "CycleValidated", "CycleFrozen", "CycleEnded", "Settled"})
AFTER = frozenset({"CycleStarted", "Edit", "Committing", "EditClaim"}) | BEFORE
WRITTEN = frozenset({"spec-001.md", "test_sub.py", "calc.py", "EVID-001.md.new"})


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_killed_anywhere_a_run_ends_with_the_same_commits(tmp_path: Path) -> None:
    undisturbed = make_played(tmp_path / "a" / "project")
    undisturbed.run()
    world = make_played(tmp_path / "b" / "project")
    killer = Killer(tmp_path / "seen", BEFORE, AFTER, WRITTEN, by_phase=True)
    while killer.kills(world.run):
        assert len(killer.places) < 100, killer.places[-9:]
    assert {place.partition(": ")[2] for place in killer.places if ": " in place} == {
        *(f"before {kind}" for kind in BEFORE),
        *(f"after {kind}" for kind in AFTER),
    }
    assert world.commits() == undisturbed.commits()
    assert verify(world.project, "EVID-001") == ()
    assert world.at_rest
