"""The verbs of a cycle: what each gate lets through, and what it says where it does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cycles import (
    AUTHOR,
    CODE,
    CODER,
    LARGER,
    PLAN,
    PLAN_PATH,
    PLANNER,
    SMALLER,
    SPEC,
    SPEC_PATH,
    STUB,
    TEST_PATH,
    TESTS,
    VALIDATOR,
    CycleWorld,
    denied,
    done,
    make_cycle,
)
from verdigris.core.errors import UserError
from verdigris.core.events import SpecStatusSet
from verdigris.core.records import Actor
from verdigris.core.state import BLOCKER, CONCERNS, PASS, Phase, Stage
from verdigris.core.verdict import Kind
from verdigris.drivers.cycle.completion import verify
from verdigris.drivers.cycle.stages import abort, resume, rule_on_bug, start
from verdigris.drivers.cycle.validation.judgement import GivenVerdict
from verdigris.drivers.specs.spec import read_spec
from verdigris.storage.project import open_project
from verdigris.turns.settle import Settlement, settle
from verdigris.turns.test_bug import report_bug
from verdigris.turns.write import write

# -- entry ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "rule", "words"),
    [
        ({SPEC_PATH: SPEC.replace("active", "draft")}, "cycle-spec", "`tdd spec activate specs/subtract.md`"),
        ({SPEC_PATH: SPEC.replace("active", "superseded")}, "cycle-spec", "superseded"),
        ({SPEC_PATH: SPEC.partition("####")[0]}, "cycle-spec", "#### Scenario: NAME"),
        ({SPEC_PATH: SPEC.replace("id:", "prd: PRD-7\nid:")}, "cycle-parent", "PRD-7"),
        (
            {
                SPEC_PATH: SPEC.replace("id:", "prd: PRD-7\nid:"),
                "docs/PRD-7.md": "---\nid: PRD-7\nstatus: draft\n---\n",
            },
            "cycle-parent",
            "`tdd spec activate docs/PRD-7.md`",
        ),
        ({SPEC_PATH: SPEC + "\n[NEEDS CLARIFICATION: how many?]\n"}, "cycle-spec", "tdd spec lint"),
    ],
)
def test_no_cycle_starts_on_a_spec_that_is_no_target(
    tmp_path: Path, files: dict[str, str], rule: str, words: str
) -> None:
    world = make_cycle(tmp_path / "repo")
    for path, text in files.items():
        world.write(path, text)
    world.repo.commit()
    no = denied(world.start(), rule)
    assert words in f"{no.reason} {no.next}"
    assert world.state.cycle is None


def test_a_cycle_starts_where_the_parent_is_active(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo")
    world.write(SPEC_PATH, SPEC.replace("id:", "prd: PRD-7\nid:"))
    world.write("docs/PRD-7.md", "---\nid: PRD-7\nstatus: Active\n---\n# Product\n")
    world.repo.commit()
    assert done(world.start()).next == f"write the plan to {PLAN_PATH}, then `tdd cycle advance`"


def test_a_spec_has_to_be_committed_and_the_tree_clean(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo")
    world.write(SPEC_PATH, SPEC + "\n")
    assert f"git add {SPEC_PATH}" in denied(world.start(), "cycle-dirty").next
    world.repo.git("checkout", "-q", SPEC_PATH)
    world.write("notes.md", "a thought\n")
    assert "notes.md" in denied(world.start(), "cycle-dirty").reason


def test_a_spec_outside_the_repository_or_none_at_all_is_said(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo")
    (tmp_path / "elsewhere.md").write_text(SPEC)
    assert "outside" in denied(world.start("../elsewhere.md"), "cycle-spec").reason
    assert "tdd spec new" in denied(world.start("specs/none.md"), "cycle-spec").next


def test_one_cycle_at_a_time_in_a_worktree(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "plan")
    no = denied(world.start(), "cycle-open")
    assert "cycle c1 on SPEC-001" in no.reason
    assert "another worktree" in no.next


def test_two_worktrees_have_a_cycle_each(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "plan")
    world.repo.git("worktree", "add", "-q", "-b", "second", str(tmp_path / "second"))
    other = CycleWorld(type(world.repo)(tmp_path / "second", world.repo.home))
    assert other.state.cycle is None
    done(other.start())
    assert (world.cycle.on, other.cycle.on) == ("main", "second")


def test_an_agent_starts_only_what_a_person_activated(tmp_path: Path) -> None:
    """Its own `status: active` in the file is no person's word."""
    world = make_cycle(tmp_path / "repo")
    agent = world.project(Actor("agent", "a", "test"))
    no = denied(start(agent, SPEC_PATH, cwd=world.root), "cycle-trust")
    assert f"tdd spec activate {SPEC_PATH}" in no.next
    spec = read_spec(SPEC_PATH, SPEC.encode())
    world.project().record(SpecStatusSet(spec.id, spec.path, spec.digest, "active"))
    done(start(agent, SPEC_PATH, cwd=world.root))


# -- plan -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (None, f"## {SMALLER}\n- assert: "),
        ("# A plan\n", SMALLER),
        (PLAN.replace("- edge: both numbers are equal\n", ""), "no edge case"),
        (f"{PLAN}\n```python\nassert sub(3, 2) == 1\n```\n", "block of code"),
        (f"{PLAN}\n## SPEC-001#other/thing\n- assert: x\n- edge: y\n", "no scenario SPEC-001#other/thing"),
    ],
)
def test_the_plan_names_every_scenario_in_plain_words(tmp_path: Path, plan: str | None, words: str) -> None:
    world = make_cycle(tmp_path / "repo", "plan")
    if plan is not None:
        world.write(PLAN_PATH, plan)
    no = denied(world.advance(PLANNER), "cycle-plan")
    assert words in f"{no.reason} {no.next}"
    assert world.cycle.stage is Stage.PLAN


def test_a_planner_writes_the_plan_alone(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "plan")
    world.write(PLAN_PATH, PLAN)
    world.write(TEST_PATH, TESTS)
    assert TEST_PATH in denied(world.advance(PLANNER), "cycle-plan").reason


def test_an_agent_finds_everything_but_the_plan_closed(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "plan")
    agent = world.project(Actor("agent", "a", "test"))
    assert denied(write(agent, {TEST_PATH: b""}, cwd=world.root), "cycle-plan").next.startswith(
        "write the plan"
    )
    denied(write(agent, {"calc.py": CODE.encode()}, cwd=world.root), "cycle-plan")
    denied(write(agent, {SPEC_PATH: b""}, cwd=world.root), "cycle-spec")
    write(agent, {PLAN_PATH: PLAN.encode()}, cwd=world.root)
    done(world.advance(PLANNER))
    assert world.cycle.workers["plan"] == (Actor("agent", "a", "test"),)


# -- red --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "tests", "words"),
    [
        (STUB, TESTS.replace(f"# @scenario: {LARGER}\n", ""), f"no red test carries {LARGER}"),
        (STUB, TESTS.replace("a-larger-number-is-taken-away", "another"), "SPEC-001 has no scenario"),
        (CODE, TESTS, "source waits"),
        (STUB.replace("return 0", "raise NotImplementedError"), TESTS, "only a failed assertion counts"),
        (STUB, TESTS.replace("== 1", "== 0"), "passes already"),
        (
            STUB,
            TESTS.replace("def test_l", "@pytest.mark.skip\ndef test_l").replace(
                "import", "import pytest\nimport", 1
            ),
            "skip",
        ),
        (STUB, TESTS + "\n\ndef test_extra():\n    assert calc.sub(9, 1) == 8\n", "carries no scenario"),
        (STUB, f"# @scenario: {SMALLER}\n\n\n\n\nimport calc\n{TESTS}", "stands above no test"),
    ],
)
def test_tests_are_handed_in_when_each_scenario_is_red_by_assertion(
    tmp_path: Path, source: str, tests: str, words: str
) -> None:
    world = make_cycle(tmp_path / "repo", "red")
    world.write("calc.py", source)
    world.write(TEST_PATH, tests)
    no = denied(world.advance(), "cycle-red")
    assert words in f"{no.reason} {no.next}"
    assert world.cycle.stage is Stage.RED


def test_no_other_test_changes_its_result(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "red")
    world.write("calc.py", STUB)
    world.write(TEST_PATH, TESTS)
    world.write("tests/test_add.py", "import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == 6\n")
    assert "result changed: pass before, fail now" in denied(world.advance(), "cycle-red").reason


def test_tests_that_lost_something_are_not_handed_in(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "red")
    world.write("calc.py", STUB)
    world.write(TEST_PATH, TESTS)
    world.write("tests/test_add.py", "import calc\n\n\ndef test_add():\n    assert calc.add(2, 3)\n")
    assert "tdd revise tests/test_add.py" in denied(world.advance(), "weakened").next


def test_the_spec_is_not_edited_under_a_cycle(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "red")
    world.write(SPEC_PATH, SPEC.replace("result is 1", "result is 2"))
    no = denied(world.advance(), "spec-drift")
    assert f"tdd spec supersede {SPEC_PATH}" in no.next


def test_blanks_at_the_end_of_lines_are_no_drift(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "red")
    world.write(SPEC_PATH, SPEC.replace("# Subtraction", "# Subtraction  ") + "\n\n")
    world.write("calc.py", STUB)
    world.write(TEST_PATH, TESTS)
    done(world.advance())


def test_a_renamed_branch_is_the_same_and_another_is_not(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "red")
    world.repo.git("branch", "-m", "renamed")
    denied(world.advance(), "cycle-red")
    world.repo.git("branch", "main", "HEAD~1")
    assert "tdd sync -- switch main" in denied(world.advance(), "cycle-branch").next


# -- validate ---------------------------------------------------------------------------------


def test_the_kernel_alone_validates_where_nobody_judges(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "validate")
    said = done(world.validate(actor=AUTHOR))
    assert said.said[0] == "validation: PASS (0 findings)"
    assert [actor.role for actor in world.cycle.workers["validate"]] == ["kernel"]


def test_nobody_judges_their_own_tests(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "validate")
    no = denied(world.validate(GivenVerdict(PASS), AUTHOR), "self-validation")
    assert "test/person/author" in no.reason
    done(world.validate(GivenVerdict(PASS), VALIDATOR))


def test_a_judgement_makes_the_verdict_worse_and_sends_the_tests_back(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "validate")
    found = f"{TEST_PATH}:6 — zero is never taken away"
    said = done(world.validate(GivenVerdict(CONCERNS, (found,))))
    assert found in said.said
    assert (world.cycle.stage, world.cycle.rounds, world.state.phase) == (Stage.RED, 1, Phase.RED)


def test_a_judgement_never_makes_it_better(tmp_path: Path) -> None:
    """One test for two scenarios is the kernel's concern, whatever anybody says."""
    world = make_cycle(tmp_path / "repo", "red")
    test = "def test_both():\n    assert calc.sub(3, 2) == 1\n"
    both = f"import calc\n\n\n# @scenario: {SMALLER}, {LARGER}\n{test}"
    world.write("calc.py", STUB)
    world.write(TEST_PATH, both)
    done(world.advance())
    said = done(world.validate(GivenVerdict(PASS)))
    assert said.said[0].startswith("validation: CONCERNS")
    assert any("carries 2 scenarios and asserts 1" in line for line in said.said)


def test_too_many_rounds_stop_the_cycle_for_a_person(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "validate", "cycle: {rounds: 1}\n")
    done(world.validate(GivenVerdict(CONCERNS, ("x:1 — weak",))))
    assert "sent back 1 times" in world.cycle.stopped
    denied(world.advance(), "cycle-stopped")
    done(resume(world.project(VALIDATOR), "another author takes over"))
    assert (world.cycle.stage, world.cycle.stopped) == (Stage.RED, "")


def test_a_blocker_stops_the_cycle_until_a_person_resumes_it(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "validate")
    done(
        world.validate(GivenVerdict(BLOCKER, ("specs/subtract.md:8 — the scenarios contradict each other",)))
    )
    no = denied(world.freeze(), "cycle-stopped")
    assert "tdd cycle resume --why" in no.next


def test_a_required_judgement_is_asked_for(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "validate", "cycle: {judgement: required}\n")
    assert "--verdict" in denied(world.validate(), "cycle-validate").next


def test_tests_that_changed_since_they_were_handed_in_are_not_validated(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "validate")
    world.write(TEST_PATH, TESTS + "\n# more\n")
    assert TEST_PATH in denied(world.validate(), "cycle-validate").reason


def test_the_validators_tests_are_held_out_and_leave_the_tree(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "validate")
    hidden = "import calc\n\n\ndef test_far():\n    assert calc.sub(70, 50) == 20\n"
    world.write(".tdd/holdout/tests/test_hidden.py", hidden)
    said = done(world.validate(GivenVerdict(PASS)))
    assert "held out: tests/test_hidden.py" in said.said
    assert list(world.state.held_out) == ["tests/test_hidden.py"]
    assert not (world.root / ".tdd/holdout/tests/test_hidden.py").exists()


def test_what_is_no_new_test_is_not_held_out(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "validate")
    world.write(".tdd/holdout/calc.py", "x = 1\n")
    with pytest.raises(UserError, match="not a new test file"):
        world.validate()


# -- freeze and green -------------------------------------------------------------------------


def test_nothing_is_frozen_without_a_pass(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "validate")
    denied(world.freeze(), "cycle-freeze")


def test_freezing_commits_the_tests_and_opens_the_coders_turn(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "green")
    assert world.state.phase is Phase.GREEN
    assert sorted(world.state.claims) == [f"{TEST_PATH}::test_larger", f"{TEST_PATH}::test_smaller"]
    assert world.repo.git("show", "--format=%s", "--name-only", "HEAD").splitlines() == [
        "test: the scenarios of SPEC-001",
        "",
        "calc.py",
        TEST_PATH,
    ]
    assert "TDD-Spec-Hash: " in world.repo.git("log", "-1", "--format=%B")


def test_a_coder_finds_tests_and_spec_frozen(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "green")
    coder = world.project(Actor("agent", "d", "test"))
    denied(write(coder, {TEST_PATH: b""}, cwd=world.root), "frozen-oracle")
    denied(write(coder, {SPEC_PATH: b""}, cwd=world.root), "cycle-spec")


def test_a_spec_that_drifts_in_green_blocks_the_verdict(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "green")
    world.write("calc.py", CODE)
    world.write(SPEC_PATH, SPEC.replace("result is 1", "result is 2"))
    settled = settle(world.project(CODER))
    assert isinstance(settled, Settlement)
    assert settled.verdict.kind == "tampered"
    assert f"tdd spec supersede {SPEC_PATH}" in settled.verdict.reasons[0]
    assert settled.next.startswith(f"`tdd restore {SPEC_PATH}`")
    assert "tdd spec supersede" in denied(world.advance(CODER), "spec-drift").next


def test_evidence_waits_for_the_verdict(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "green")
    assert "tdd settle" in denied(world.advance(CODER), "cycle-green").next


def test_an_agents_code_owes_nothing_in_a_cycle_and_a_persons_is_recorded(tmp_path: Path) -> None:
    """Nobody may add a case to frozen tests: what they do not notice goes, or somebody reports it."""
    world, owing = make_cycle(tmp_path, "green", live=True), CODE.replace("a - b", "a - b if a < 1000 else b")
    world.write("calc.py", owing)
    settled = settle(world.project(Actor("agent", "coder", "test")))
    assert isinstance(settled, Settlement)
    assert settled.verdict.kind is Kind.HOLLOW
    assert settled.verdict.reasons[0].startswith("no test notices `a < 1000` in calc.py:6: ")
    world = make_cycle(tmp_path / "again", "green", live=True)
    world.write("calc.py", owing)
    by_person = settle(world.project(CODER))
    assert isinstance(by_person, Settlement)
    assert by_person.verdict.accepted
    assert {debt.what for debt in by_person.owed} == {"a < 1000"}


def test_after_two_strikes_the_tests_stay_frozen_and_the_turn_is_opened_again(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "green")
    for wrong in ("7", "8"):
        world.write("calc.py", STUB.replace("return 0", f"return {wrong}"))
        settle(world.project(CODER))
    assert world.state.phase == "held"
    agent = world.project(Actor("agent", "d", "test"))
    denied(write(agent, {TEST_PATH: b""}, cwd=world.root), "cycle-green")
    done(resume(world.project(CODER), ""))
    assert world.state.phase == "green"
    world.to_proven()
    done(world.advance(CODER))


# -- test-bug ---------------------------------------------------------------------------------


def with_bug(world: CycleWorld) -> None:
    world.write("calc.py", CODE)
    reported = report_bug(world.project(CODER), [f"{TEST_PATH}:6"], "1 is not 3 - 2", cwd=world.root)
    assert reported.bug == "b1"  # type: ignore[union-attr]


def test_a_test_bug_stops_green_until_somebody_rules(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "green")
    with_bug(world)
    assert "tdd cycle test-bug uphold" in denied(world.advance(CODER), "cycle-stopped").next
    agent = Actor("agent", "d", "test")
    denied(rule_on_bug(world.project(agent), "mine", uphold=True), "persons-verb")


def test_an_upheld_test_bug_opens_the_tests_again(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "green")
    with_bug(world)
    done(rule_on_bug(world.project(VALIDATOR), "it is wrong", uphold=True))
    assert (world.cycle.stage, world.state.phase, world.cycle.bugs) == (Stage.RED, Phase.RED, 1)
    world.write(TEST_PATH, TESTS.replace("sub(3, 2) == 1", "sub(4, 2) == 2"))
    done(world.advance())
    world.to_green()
    world.to_proven()
    done(world.advance(CODER))
    assert verify(world.project(), "EVID-001") == ()


def test_a_dismissed_test_bug_brings_the_coders_edits_back(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "green")
    with_bug(world)
    done(rule_on_bug(world.project(VALIDATOR), "the test is right", uphold=False))
    assert world.state.phase is Phase.GREEN
    assert (world.root / "calc.py").read_text() == CODE


# -- done, abort ------------------------------------------------------------------------------


def test_code_that_changed_after_the_verdict_is_no_evidence(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "proven")
    world.write("calc.py", CODE + "\n\ndef mul(a, b):\n    return a * b\n")
    assert "calc.py changed since" in denied(world.advance(CODER), "cycle-green").reason


def test_evidence_forged_by_hand_does_not_hold(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "proven")
    done(world.advance(CODER))
    page = world.root / ".tdd/evidence/EVID-001.md"
    assert verify(world.project(), "EVID-001") == ()
    true = page.read_text()
    page.write_text(true.replace("test bugs reported: 0", "test bugs reported: 3"))
    world.repo.commit()
    assert any("changed by hand" in fault for fault in verify(world.project(), "EVID-001"))
    (world.root / ".tdd/evidence/EVID-002.md").write_text(true.replace("EVID-001", "EVID-002"))
    faults = verify(world.project(), "EVID-002")
    assert any("has no cycle that ended with EVID-002" in fault for fault in faults)
    assert verify(world.project(), "EVID-002", by_git=True) == (".tdd/evidence/EVID-002.md is in no commit",)


def test_evidence_holds_for_the_code_that_was_accepted_and_no_other(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "proven")
    done(world.advance(CODER))
    world.write("calc.py", CODE.replace("a - b", "{(3, 2): 1, (2, 3): -1}[a, b]"))
    world.repo.git("commit", "-q", "-a", "--amend", "--no-edit")
    faults = verify(world.project(), "EVID-001")
    assert any(fault.startswith("calc.py is another in commit") for fault in faults), faults


def test_a_person_may_give_a_cycle_up(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo", "green")
    world.write("calc.py", CODE)
    done(abort(world.project(PLANNER), "the spec is wrong"))
    assert (world.state.cycle, world.state.phase) == (None, Phase.RED)
    assert (world.root / "calc.py").read_text() == STUB
    assert len(world.state.aside) == 1


def test_what_a_stage_has_no_use_for_is_refused_with_the_next_move(tmp_path: Path) -> None:
    world = make_cycle(tmp_path / "repo")
    assert denied(world.advance(), "no-cycle").next == "`tdd cycle start SPEC`"
    denied(world.validate(), "no-cycle")
    denied(world.freeze(), "no-cycle")
    denied(abort(open_project(world.root, AUTHOR), "x"), "no-cycle")
    denied(rule_on_bug(world.project(), "x", uphold=True), "no-cycle")
