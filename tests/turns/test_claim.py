from __future__ import annotations

from pathlib import Path

import pytest

from support.turns import CALC, SUB, SUB_ID, TEST_SUB, World, make_world
from verdigris.core.actions import Deny
from verdigris.core.events import Denied, EditClaim, Event, OracleFrozen, RedsEnded, TestRun, TurnOpened
from verdigris.core.report import Status
from verdigris.core.state import Phase
from verdigris.turns.aside import lay_unclaimed_aside
from verdigris.turns.claim import claim, split_words
from verdigris.turns.claim_check import Claimed


def seen_red(world: World, test_id: str = SUB_ID) -> None:
    """A valid red on the present tree, as `tdd test` would have recorded it."""
    world.project.record(
        TestRun(
            test_id=test_id,
            test_id_source="native",
            status=Status.FAIL,
            command="python -m pytest",
            duration_ms=1,
            tree=world.project.workspace.snapshot(),
            native_id=test_id,
            red="valid",
        )
    )


def rule(decision: Claimed | Deny) -> str:
    assert isinstance(decision, Deny), decision
    return decision.rule


@pytest.fixture
def red(world: World) -> World:
    world.write("tests/test_sub.py", TEST_SUB)
    seen_red(world)
    return world


def test_the_first_claim_opens_the_turn_and_freezes_the_oracle(red: World) -> None:
    assert red.claim(SUB_ID, "calc.py") == Claimed((SUB_ID,), ("calc.py",))
    opened, frozen, claimed = red.events(TurnOpened, OracleFrozen, EditClaim)
    assert isinstance(opened, TurnOpened)
    assert isinstance(frozen, OracleFrozen)
    assert isinstance(claimed, EditClaim)
    assert opened.tree == frozen.tree == red.project.workspace.snapshot()
    assert (claimed.test_id, claimed.edit_target) == (SUB_ID, "calc.py")
    assert red.state.phase is Phase.GREEN


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("calc.py", "calc.py"),
        ("./calc.py", "calc.py"),
        ("tests/../calc.py", "calc.py"),
        ("not/there/yet.py", "not/there/yet.py"),
        ("*.py", "*.py"),
        ("pkg", "pkg"),
        (".", "."),
    ],
)
def test_a_target_is_a_file_a_folder_or_a_glob_even_of_what_is_not_there_yet(
    red: World, target: str, expected: str
) -> None:
    red.write("pkg/__init__.py", "")
    seen_red(red)
    claimed = red.claim(SUB_ID, target)
    assert isinstance(claimed, Claimed)
    assert (claimed.test_ids, claimed.targets) == ((SUB_ID,), (expected,))
    assert claimed.new == ((expected,) if "yet" in expected else ())


def test_a_new_target_that_looks_like_a_typing_error_names_the_file_that_is_meant(red: World) -> None:
    claimed = red.claim(SUB_ID, "clac.py")
    assert isinstance(claimed, Claimed)
    assert (claimed.new, claimed.alike) == (("clac.py",), {"clac.py": "calc.py"})


OTHER = "tests/test_sub.py::test_other"


def claimed_by(world: World, *words: str, cwd: str = ".") -> tuple[tuple[str, ...], tuple[str, ...]]:
    folder = world.root / cwd
    tests, targets = split_words(world.project, words, cwd=folder)
    done = claim(world.project, tests, targets, cwd=folder)
    assert isinstance(done, Claimed), done
    return done.test_ids, done.targets


@pytest.mark.parametrize(
    ("words", "tests", "targets"),
    [
        ((), (SUB_ID, OTHER), (".",)),
        (("calc.py",), (SUB_ID, OTHER), ("calc.py",)),
        ((SUB_ID,), (SUB_ID,), (".",)),
        ((OTHER, SUB_ID, "calc.py"), (OTHER, SUB_ID), ("calc.py",)),
        (("tests/test_sub.py", "calc.py"), (SUB_ID, OTHER), ("calc.py",)),
        (("test_other",), (OTHER,), (".",)),
        (("test_other", "new.py"), (OTHER,), ("new.py",)),
        ((SUB_ID, "src"), (SUB_ID,), ("src",)),
    ],
)
def test_a_claim_takes_ids_files_and_bare_names_and_nothing_means_all(
    red: World, words: tuple[str, ...], tests: tuple[str, ...], targets: tuple[str, ...]
) -> None:
    seen_red(red, OTHER)
    assert claimed_by(red, *words) == (tests, targets)


def test_a_claim_takes_a_test_file_relative_to_where_one_stands(red: World) -> None:
    assert claimed_by(red, "test_sub.py::test_sub", cwd="tests") == ((SUB_ID,), (".",))


def test_a_claim_takes_all_cases_of_a_function(red: World) -> None:
    cases = tuple(f"tests/test_sub.py::test_case[{n}]" for n in range(3))
    for case in cases:
        seen_red(red, case)
    assert claimed_by(red, "tests/test_sub.py::test_case")[0] == cases


def test_without_words_all_reds_of_this_change_are_claimed_and_no_known_failure(red: World) -> None:
    red.project.record(RedsEnded(test_ids=tuple(red.state.reds)))
    red.red_by_record("tests/test_add.py::test_add", known=True)
    assert rule(claim(red.project, (), (), cwd=red.root)) == "which-red"
    seen_red(red)
    red.red_by_record("tests/test_new.py::test_new")
    made = claim(red.project, (), (), cwd=red.root)
    assert isinstance(made, Claimed)
    assert made.test_ids == (SUB_ID, "tests/test_new.py::test_new")


def test_several_tests_are_claimed_all_or_none(red: World) -> None:
    assert rule(claim(red.project, (SUB_ID, "tests/test_sub.py::test_none"), (), cwd=red.root)) == "no-red"
    assert red.state.claims == {}


def test_an_absolute_target_and_a_link_mean_the_same_file(red: World) -> None:
    (red.root / "alias").symlink_to("calc.py")
    seen_red(red)
    assert red.claim(SUB_ID, str(red.root / "calc.py")) == Claimed((SUB_ID,), ("calc.py",))
    assert red.claim(SUB_ID, "alias") == Claimed((SUB_ID,), ("calc.py",))


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/etc/passwd", "outside"),
        ("../elsewhere.py", "outside"),
        ("../*.py", "outside"),
        ("tests/test_sub.py", "claim-target"),
        ("tests", "claim-target"),
        ("tdd.yaml", "claim-target"),
    ],
)
def test_a_target_that_is_no_source_of_ours_is_refused(red: World, target: str, expected: str) -> None:
    assert rule(red.claim(SUB_ID, target)) == expected
    assert red.state.phase is Phase.RED
    (denied,) = red.events(Denied)
    assert isinstance(denied, Denied)
    assert denied.rule == expected


def test_a_claim_without_a_red_is_refused(world: World) -> None:
    assert rule(world.claim("tests/test_sub.py::test_sub", "calc.py")) == "no-red"


def test_a_claim_near_to_an_open_red_names_it(red: World) -> None:
    decision = red.claim(SUB_ID + "s", "calc.py")
    assert isinstance(decision, Deny)
    assert SUB_ID in decision.reason


def test_a_test_that_passes_is_refused_as_passing(world: World) -> None:
    world.test("tests/test_add.py::test_add")
    assert rule(world.claim("tests/test_add.py::test_add", "calc.py")) == "red-passing"


def test_a_claim_whose_test_or_source_changed_since_is_stale(red: World) -> None:
    red.write("tests/test_sub.py", TEST_SUB + "# more\n")
    assert rule(red.claim(SUB_ID, "calc.py")) == "stale-red"
    red.write("tests/test_sub.py", TEST_SUB)
    red.write("calc.py", CALC + "# more\n")
    assert rule(red.claim(SUB_ID, "calc.py")) == "stale-red"


def test_a_changed_document_makes_no_claim_stale(red: World) -> None:
    red.write("README.md", "words\n")
    assert isinstance(red.claim(SUB_ID, "calc.py"), Claimed)


def test_source_edited_before_the_red_is_refused_and_comes_back_after_aside(world: World) -> None:
    world.write("calc.py", CALC + SUB.replace("a - b", "b"))
    world.write("tests/test_sub.py", TEST_SUB)
    seen_red(world)
    assert rule(world.claim(SUB_ID, "calc.py")) == "source-before-red"
    lay_unclaimed_aside(world.project)
    assert world.read("calc.py") == CALC
    seen_red(world)
    assert world.claim(SUB_ID, "calc.py") == Claimed((SUB_ID,), ("calc.py",), restored=("calc.py",))
    assert world.read("calc.py") == CALC + SUB.replace("a - b", "b")


def test_stubs_written_in_red_are_no_edit_before_the_red(world: World) -> None:
    world.write("calc.py", CALC + "\n\ndef sub(a, b):  # STUB:TDD\n    raise NotImplementedError\n")
    world.write("tests/test_sub.py", TEST_SUB)
    seen_red(world)
    assert isinstance(world.claim(SUB_ID, "calc.py"), Claimed)


def test_claims_join_in_green_while_the_oracle_is_unchanged(red: World) -> None:
    other = "tests/test_sub.py::test_other"
    seen_red(red, other)
    red.claim(SUB_ID, "calc.py")
    red.write("calc.py", CALC + SUB)
    assert isinstance(red.claim(other, "calc.py"), Claimed)
    assert set(red.state.claims) == {SUB_ID, other}
    red.write("tests/test_sub.py", TEST_SUB + "# drift\n")
    assert rule(red.claim(SUB_ID, "extra.py")) == "oracle-drift"


def test_a_claim_runs_no_test(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo")
    world.write("tests/test_sub.py", TEST_SUB)
    seen_red(world)
    world.write("tdd.yaml", world.read("tdd.yaml"))
    runs: list[Event] = world.events(TestRun)
    world.claim(SUB_ID, "calc.py")
    assert world.events(TestRun) == runs
