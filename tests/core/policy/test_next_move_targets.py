from __future__ import annotations

import pytest

from verdigris.core.policy.next_move import apart, covers, owners
from verdigris.core.state import Claim


@pytest.mark.parametrize(
    ("target", "path", "expected"),
    [
        ("src/a.py", "src/a.py", True),
        ("src/a.py", "src/a.pyi", False),
        ("src", "src/deep/a.py", True),
        ("src/", "src/a.py", True),
        ("src", "srcs/a.py", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/*.py", "src/deep/a.py", True),
        (".", "anything.py", True),
    ],
)
def test_a_target_covers(target: str, path: str, expected: bool) -> None:
    assert covers(target, path) is expected


def claim(test_id: str, *targets: str) -> Claim:
    return Claim(test_id, test_id, 1, targets)


A, B = claim("A", "src/a.py", "src/both.py"), claim("B", "src/b.py", "src/both.py")


def test_owners_are_the_claims_that_cover_a_path() -> None:
    assert owners([A, B], "src/both.py") == {"A", "B"}
    assert owners([A, B], "src/none.py") == frozenset()


def test_paths_of_failing_claims_alone_can_be_told_apart() -> None:
    assert apart([A, B], frozenset({"B"}), ["src/a.py", "src/b.py"]) == frozenset({"src/b.py"})


@pytest.mark.parametrize("shared", ["src/both.py", "src/none.py"])
def test_a_shared_or_ownerless_path_cannot(shared: str) -> None:
    assert apart([A, B], frozenset({"B"}), ["src/b.py", shared]) is None
