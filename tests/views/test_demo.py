from __future__ import annotations

import pytest

from verdigris.drivers import happenings as w
from verdigris.drivers.demo import Scene
from verdigris.views.demo import LEGEND, Row, machine_rows, rows

LONG = "a reason of many words that goes on " * 6
SCENES = [
    Scene("act", "A title", more=(LONG,)),
    Scene("wish", LONG),
    Scene("edit", code=(f"+ {'x' * 200}",)),
    Scene("command", f"tdd test {'word ' * 40}"),
    Scene("denied", "denied [red-first]", more=(LONG,)),
    Scene("wrong-red", "red, but not for the right reason", more=(LONG, LONG), next=LONG),
    Scene("red", LONG),
    Scene("rejected", "hollow", ("assert x == 1",), (LONG,)),
    Scene("plain", LONG),
    Scene("moral", LONG),
]
DENIED = Scene("denied", "denied [red-first]", more=("no",))


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.kind)
@pytest.mark.parametrize("width", [40, 80])
def test_no_line_is_wider_than_the_screen_and_no_word_is_broken(scene: Scene, width: int) -> None:
    found = rows(scene, width)
    assert max(len(row.text) for row in found) <= width
    words = {word for row in found if row.tone not in {"code", "title", "red"} for word in row.text.split()}
    assert words & set(LONG.split()) in (set(), set(LONG.split()))


def test_a_denial_a_right_red_and_both_kinds_of_verdict_look_different() -> None:
    denied = rows(DENIED, 80)[0]
    red = rows(Scene("red", "red for the right reason: AssertionError"), 80)[0]
    hollow = rows(Scene("rejected", "hollow", more=("why",)), 80)[0]
    accepted = rows(Scene("accepted", "accepted: test_a"), 80)[0]
    assert denied == Row("  ✗ denied [red-first]", "denied")
    assert red == Row("  ● red for the right reason: AssertionError", "red")
    assert hollow == Row("  ◆ hollow", "rejected")
    assert accepted == Row("  ✔ accepted: test_a", "accepted")
    assert {tone for _, tone in LEGEND} == {row.tone for row in (denied, red, hollow, accepted)}


def test_a_red_for_the_wrong_reason_says_so_and_what_to_do() -> None:
    more = ("ImportError: x", "an import failed")
    wrong = Scene("wrong-red", "red, but not for the right reason", more=more, next="declare it")
    found = rows(wrong, 80)
    assert [row.text for row in found] == [
        "  ✗ red, but not for the right reason",
        "    ImportError: x",
        "    an import failed",
        "    next: declare it",
    ]


def test_the_assertion_that_proves_nothing_is_quoted() -> None:
    found = rows(Scene("rejected", "hollow", ("assert x == 1",), ("t.py:3: 1 → 2",)), 80)
    assert [row.text for row in found[1:]] == ["    │ assert x == 1", "    t.py:3: 1 → 2"]


def test_control_characters_of_a_failure_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in "".join(row.text for row in rows(Scene("red", "\x1b[2J boom"), 80))


DIFF = "--- /dev/null\n+++ b/leap.py\n@@ -0,0 +1 @@\n+def is_leap(year):\n+\n+    return None\n"


def test_a_step_of_the_machine_shows_its_code_and_what_proves_it() -> None:
    tests = ("t.py::test_a\nassert is_leap(4)\nAssertionError: None",)
    step = w.StepEnded(
        1, "tester", "committed", commit="0123456789ab", subject="test: a", tests=tests, diff=DIFF
    )
    assert [row.text for row in machine_rows(step, 80)] == [
        "The tester: test: a",
        "  │ + def is_leap(year):",
        "  │ +     return None",
        "  ● red for the right reason: AssertionError: None",
    ]


def test_a_step_without_a_commit_says_why() -> None:
    step = w.StepEnded(3, "refactorer", "nothing-to-do", "One line.")
    assert [row.text for row in machine_rows(step, 80)] == ["The refactorer: One line."]
