"""What a program of the loop may write, whatever the phase allows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from verdigris.core.actions import Allow, Deny, FileWrite, Write
from verdigris.core.paths import Classes, PathClass, classify
from verdigris.core.policy import decide
from verdigris.core.policy.bounds import bound_classes, deny_beyond, is_within
from verdigris.core.settings import Bounds, Settings
from verdigris.core.state import Phase, WorktreeState

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
