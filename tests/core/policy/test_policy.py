"""What a program of the loop may write, whatever the phase allows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.writes import with_facts
from verdigris.core.actions import Allow, ClaimTest, Decision, Deny, Do, FileWrite, Target, Unclaimed, Write
from verdigris.core.paths import Classes, PathClass, classify
from verdigris.core.policy import bound_classes, decide, deny_beyond, is_within
from verdigris.core.policy.next_move import TreeFacts, next_move
from verdigris.core.report import Status
from verdigris.core.settings import Bounds, Settings
from verdigris.core.state import Claim, OpenTestBug, Phase, Red, Refactor, Turn, WorktreeState
from verdigris.core.verdict.redness import WHY_NOT

STRICT = Settings(claims="strict")
SRC, TST, SPEC, OTHER, SWITCH = (
    PathClass.SOURCE,
    PathClass.TEST,
    PathClass.SPEC,
    PathClass.OTHER,
    PathClass.SWITCH,
)


def red(test_id: str = "t.py::a", why: str = "valid") -> Red:
    return Red(test_id, test_id, "native", 7, "tree", "pytest", Status.FAIL, why)


def reds(*all_of: Red) -> WorktreeState:
    return WorktreeState(ground="g", reds={r.test_id: r for r in all_of})


GREEN = WorktreeState(
    phase=Phase.GREEN,
    ground="g",
    reds={"t.py::a": red()},
    claims={"t.py::a": Claim("t.py::a", "t.py::a", 7, ("src/a.py",))},
    turn=Turn("t1", "g"),
)
STATES = {
    "red": reds(),
    "green": GREEN,
    "refactor": WorktreeState(phase=Phase.REFACTOR, refactor=Refactor("g", "r")),
    "off": WorktreeState(phase=Phase.OFF, off_why="spike"),
}


def written(
    state: WorktreeState,
    cls: PathClass,
    path: str = "src/a.py",
    before: bytes | None = b"x = 1\n",
    after: bytes | None = b"x = 2\n",
    settings: Settings | None = None,
) -> Decision:
    return decide(
        state, Write((with_facts(FileWrite(path, cls, before, after, path)),)), settings or Settings()
    )


def rule(decision: Decision) -> str:
    assert isinstance(decision, Deny)
    return decision.rule


# DESIGN §5: the table of phases and classes.
@pytest.mark.parametrize(
    ("phase", "cls", "expected"),
    [
        ("red", TST, None),
        ("red", SRC, "red-first"),
        ("red", SPEC, None),
        ("red", OTHER, None),
        ("green", TST, "frozen-oracle"),
        ("green", SRC, None),
        ("green", SPEC, "frozen-oracle"),
        ("green", OTHER, None),
        ("refactor", TST, None),
        ("refactor", SRC, None),
        ("refactor", SPEC, "spec-in-refactor"),
        ("refactor", OTHER, None),
        ("off", TST, None),
        ("off", SRC, None),
        ("off", SPEC, None),
        ("off", OTHER, None),
        ("red", SWITCH, "switch"),
        ("green", SWITCH, "switch"),
        ("refactor", SWITCH, "switch"),
        ("off", SWITCH, "switch"),
    ],
)
def test_the_table_of_phases(phase: str, cls: PathClass, expected: str | None) -> None:
    decision = written(STATES[phase], cls)
    assert (decision.rule if isinstance(decision, Deny) else None) == expected


def test_a_stub_may_be_written_in_red() -> None:
    stub = b"def f(x):  # STUB:TDD\n    raise NotImplementedError\n"
    assert written(reds(), SRC, before=None, after=stub) == Allow()


def test_the_marker_alone_opens_nothing() -> None:
    code = b"def f(x):  # STUB:TDD\n    return x + 1\n"
    assert rule(written(reds(), SRC, before=None, after=code)) == "red-first"


def test_who_tried_a_stub_is_told_what_is_more_in_it() -> None:
    code = b"def f(x):  # STUB:TDD\n    return x + 1\n"
    denied = written(reds(), SRC, before=None, after=code)
    assert isinstance(denied, Deny)
    assert "More than a stub: line 1: " in denied.reason


@pytest.mark.parametrize(("path", "way"), [("a.rs", "marked STUB:TDD"), ("A.java", "tdd off"), ("a.rb", "")])
def test_where_tests_must_compile_the_way_to_declare_is_named(path: str, way: str) -> None:
    file = FileWrite(f"src/{path}", SRC, b"", b"code", beyond_stubs="line 1: why")
    denied = decide(reds(), Write((file,)), Settings())
    assert isinstance(denied, Deny)
    assert way in denied.next
    assert bool(way) == ("shows the red; " in denied.next)


def test_deleting_source_in_red_needs_a_red_too() -> None:
    assert rule(written(reds(), SRC, after=None)) == "red-first"


def test_one_open_red_is_claimed_by_implication() -> None:
    assert written(reds(red()), SRC) == Allow(claims=(red(),))


def test_a_known_failure_is_claimed_by_name_only() -> None:
    known = replace(red("u.py::b"), known=True)
    assert (
        decide(reds(known), ClaimTest("u.py::b", (Target("src/a.py", frozenset({SRC})),)), Settings())
        == Allow()
    )
    denial = written(reds(known), SRC, "src/a.py")
    assert isinstance(denial, Deny)
    assert (denial.rule, denial.next) == ("which-red", "`tdd claim u.py::b src/a.py`")
    assert written(reds(red(), known), SRC, "src/a.py") == Allow(claims=(red(),))


def test_an_edit_claims_all_reds_that_this_change_brought() -> None:
    all_three = reds(red(), red("t.py::b"), red("u.py::b"))
    assert written(all_three, SRC) == Allow(claims=tuple(all_three.reds.values()))


def test_a_go_test_and_its_only_red_case_are_one_red() -> None:
    case = red("a_test.go::TestA/one")
    both = reds(red("a_test.go::TestA"), case)
    assert written(both, SRC) == Allow(claims=(case,))
    two = reds(*both.reds.values(), red("a_test.go::TestA/two"))
    assert written(two, SRC) == Allow(claims=(case, two.reds["a_test.go::TestA/two"]))


def test_an_invalid_red_opens_nothing() -> None:
    assert rule(written(reds(red(why="import")), SRC)) == "red-first"


def test_a_path_outside_the_targets_joins_as_implied_or_is_refused_when_strict() -> None:
    assert written(GREEN, SRC, "src/b.py") == Allow(joins=("src/b.py",))
    assert rule(written(GREEN, SRC, "src/b.py", settings=STRICT)) == "outside-targets"


def test_a_suspended_turn_takes_no_source() -> None:
    suspended = replace(GREEN, turn=Turn("t1", "g", suspended=True))
    assert rule(written(suspended, SRC)) == "suspended"


PLAIN, RUNNER = b'[project]\nname = "x"\n', b'[tool.pytest.ini_options]\naddopts = "-x"\n'


def test_of_a_mixed_file_only_the_runner_keys_are_frozen() -> None:
    assert rule(written(GREEN, OTHER, "pyproject.toml", PLAIN, PLAIN + RUNNER)) == "frozen-oracle"
    assert written(GREEN, OTHER, "pyproject.toml", RUNNER, PLAIN + RUNNER) == Allow()
    assert written(reds(), OTHER, "pyproject.toml", PLAIN, PLAIN + RUNNER) == Allow()


def test_one_denied_file_denies_the_whole_write() -> None:
    files = (FileWrite("README.md", OTHER, b"", b"x"), FileWrite("tests/t.py", TST, b"", b"x"))
    assert rule(decide(GREEN, Write(files), Settings())) == "frozen-oracle"


# -- claims


def claimed(state: WorktreeState, **facts: object) -> Decision:
    target = Target("src/a.py", frozenset({SRC}))
    action = ClaimTest("t.py::a", facts.pop("targets", (target,)), **facts)  # type: ignore[arg-type]
    return decide(state, action, Settings())


def test_a_valid_red_may_be_claimed() -> None:
    assert claimed(reds(red())) == Allow()


def test_claims_may_join_in_green() -> None:
    assert claimed(GREEN) == Allow()


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"moved": ("src/a.py",)}, "stale-red"),
        ({"drift": ("tests/t.py",)}, "oracle-drift"),
        ({"weakened": ("tests/t.py:3: assert x == 1 is gone",)}, "weakened"),
        ({"unclaimed": (Unclaimed("src/a.py", 3, "a body changed"),)}, "source-before-red"),
        ({"targets": (Target(None, frozenset(), "/etc/passwd"),)}, "outside"),
        ({"targets": (Target("tests/t.py", frozenset({TST})),)}, "claim-target"),
        ({"targets": (Target("tdd.yaml", frozenset({SWITCH})),)}, "claim-target"),
    ],
)
def test_a_claim_is_refused(facts: dict[str, object], expected: str) -> None:
    assert rule(claimed(reds(red()), **facts)) == expected


def test_all_that_the_suite_lost_is_named_at_once_with_one_line_that_gives_it_up() -> None:
    losses = (
        "tests/t.py:3: removed: was `assert x == 1`",
        "tests/a b.py:9: removed: was `assert y`",
        "tests/t.py:5: weaker: was `assert x == 2` is `assert x`",
    )
    denied = claimed(reds(red()), weakened=losses)
    assert isinstance(denied, Deny)
    assert denied.reason.splitlines()[1:] == [f"  {loss}" for loss in losses]
    assert "tdd revise tests/t.py 'tests/a b.py', with --why and the reason" in denied.next


def test_a_long_list_of_losses_is_cut_and_says_so() -> None:
    denied = claimed(reds(red()), weakened=tuple(f"tests/t.py:{n}: removed: was `x`" for n in range(40)))
    assert isinstance(denied, Deny)
    assert denied.reason.splitlines()[-1] == "  and 20 more"


def test_a_claim_without_a_red_offers_the_nearest() -> None:
    decision = claimed(reds(), nearest=("t.py::b",))
    assert isinstance(decision, Deny)
    assert decision.rule == "no-red"
    assert "t.py::b" in decision.reason


def test_a_claim_on_a_passing_test_says_that_it_passes() -> None:
    decision = claimed(reds(), passing=True)
    assert isinstance(decision, Deny)
    assert (decision.rule, decision.next) == ("red-passing", WHY_NOT["passing"][1])


@pytest.mark.parametrize("why", sorted(WHY_NOT))
def test_every_invalid_red_has_a_denial_of_its_own(why: str) -> None:
    decision = claimed(reds(red(why=why)))
    assert isinstance(decision, Deny)
    assert decision.rule == f"red-{why}"
    assert WHY_NOT[why][0] in decision.reason


@pytest.mark.parametrize(("phase", "expected"), [("refactor", "not-in-refactor"), ("off", "off")])
def test_nothing_is_claimed_in(phase: str, expected: str) -> None:
    assert rule(claimed(replace(STATES[phase], reds={"t.py::a": red()}))) == expected


def test_a_merge_in_progress_stops_claims_and_settlements() -> None:
    action = ClaimTest("t.py::a", (Target("src/a.py", frozenset({SRC})),))
    assert rule(decide(reds(red()), action, Settings(), in_progress="merge")) == "git-in-progress"
    assert rule(decide(GREEN, Do("settle"), Settings(), in_progress="rebase")) == "git-in-progress"


# -- verbs


@pytest.mark.parametrize(
    ("verb", "phases"),
    [
        ("settle", {"green"}),
        ("refactor begin", {"red"}),
        ("refactor end", {"refactor"}),
        ("refactor abort", {"refactor"}),
        ("test-bug", {"red", "green"}),
        ("restore", {"green", "refactor", "off"}),
        ("sync", {"red", "off"}),
        ("holdout", {"red"}),
        ("on", {"off"}),
        ("off", {"red", "green", "refactor"}),
    ],
)
def test_each_verb_has_its_phases(verb: str, phases: set[str]) -> None:
    allowed = {name for name, s in STATES.items() if decide(s, Do(verb), Settings()) == Allow()}  # type: ignore[arg-type]
    assert allowed == phases


def test_every_denial_fits_three_lines_and_names_a_move() -> None:
    denials = [
        written(reds(), SRC),
        written(GREEN, TST, "tests/t.py"),
        written(GREEN, SWITCH, "tdd.yaml"),
        claimed(reds()),
        claimed(reds(red()), moved=("src/a.py",)),
        *(decide(s, Do("settle"), Settings()) for n, s in STATES.items() if n != "green"),
    ]
    for decision in denials:
        assert isinstance(decision, Deny)
        assert len(decision.lines()) == 3
        assert not any("\n" in line for line in decision.lines())
        assert decision.next


def test_the_next_move_follows_the_state() -> None:
    bug = OpenTestBug("b1", ("tests/t.py:3",), "wrong", "g")
    assert "write one failing test" in next_move(reds())
    assert next_move(reds(red()), TreeFacts(claimable=(red(),))) == "`tdd claim t.py::a`"
    denied = Deny("weakened", "lost", "put it back")
    assert next_move(reds(red()), TreeFacts(claimable=denied)) == "put it back"
    assert "tdd settle" in next_move(GREEN)
    assert "revise tests/t.py" in next_move(replace(reds(), test_bugs={"b1": bug}))
    assert "tdd refactor end" in next_move(STATES["refactor"])
    assert "tdd on" in next_move(STATES["off"])


BOUNDS = Bounds("fast", r"bench/.*\Z", r"docs/.*\Z", r"src/sort\.py\Z", tests=True)


@pytest.mark.parametrize(
    ("path", "cls", "rule"),
    [
        ("src/sort.py", PathClass.SOURCE, None),
        ("tests/test_sort.py", PathClass.TEST, None),
        ("bench/run.py", PathClass.SWITCH, "program-measure"),
        ("bench/test_x.py", PathClass.TEST, "program-measure"),
        ("docs/spec.md", PathClass.SPEC, "program-closed"),
        ("src/other.py", PathClass.SOURCE, "outside-program"),
        ("Makefile", PathClass.OTHER, "outside-program"),
    ],
)
def test_a_path_is_within_or_the_denial_says_why_not(path: str, cls: PathClass, rule: str | None) -> None:
    found = deny_beyond(BOUNDS, path, cls)
    assert (found and found.rule) == rule
    assert is_within(BOUNDS, path, cls) is (rule is None)
    if found is not None:
        assert path in found.reason
        assert "fast" in found.reason
        assert found.next


def test_a_ratchet_writes_no_test_that_is_no_target() -> None:
    assert not is_within(replace(BOUNDS, tests=False), "tests/test_sort.py", PathClass.TEST)


def test_without_targets_whatever_is_not_closed_is_within() -> None:
    bounds = replace(BOUNDS, targets="")
    assert is_within(bounds, "src/other.py", PathClass.SOURCE)
    assert not is_within(bounds, "bench/run.py", PathClass.SWITCH)


@pytest.mark.parametrize("phase", [Phase.RED, Phase.GREEN, Phase.REFACTOR])
def test_no_phase_lets_anybody_write_beyond(phase: Phase) -> None:
    state, settings = WorktreeState(phase=phase), Settings(bounds=BOUNDS)
    for path, cls in (("docs/spec.md", PathClass.SPEC), ("Makefile", PathClass.OTHER)):
        write = Write((FileWrite(path, cls, b"", b"x", path),))
        assert isinstance(decide(state, write, settings), Deny)
    off = decide(WorktreeState(phase=Phase.OFF), write, settings)
    assert isinstance(off, Allow)


def test_what_measures_is_a_switch_what_is_closed_is_specification_and_tests_stay_tests() -> None:
    plain = Classes(((PathClass.TEST, r".*test_.*\Z"), (PathClass.SOURCE, r".*\.py\Z")))
    classes = bound_classes(plain, BOUNDS)
    found = {p: classify(p, classes) for p in ("bench/run.py", "bench/test_x.py", "docs/a.py", "src/a.py")}
    assert list(found.values()) == [PathClass.SWITCH, PathClass.TEST, PathClass.SPEC, PathClass.SOURCE]
