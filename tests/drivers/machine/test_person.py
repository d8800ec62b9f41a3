from __future__ import annotations

from pathlib import Path

from support.machines import EMPTY, STUB, TALK, TEST, ZERO, Kata, make_kata
from verdigris.drivers.happenings import Refused, StepEnded, YourTurn

ROLES = "  tester: {{model: {0}}}\n  implementor: {{model: {1}}}\n  refactorer: {{model: {2}}}\n"
REPLAY = f"'replay:{TALK}'"


def human(tmp_path: Path, *models: str) -> Kata:
    return make_kata(tmp_path / "project", roles=ROLES.format(*models))


def test_a_person_tests_and_a_model_implements(tmp_path: Path) -> None:
    kata = human(tmp_path, "human", REPLAY, REPLAY)
    said: list[str] = []

    def person(turn: YourTurn) -> str:
        """First nothing, then a test that passes, then a real one."""
        said.append(turn.what[0])
        if len(said) == 2:
            kata.repo.write(TEST, "def test_true():\n    assert 1\n")
        if len(said) == 3:
            kata.repo.write(TEST, EMPTY)
            kata.repo.write("calculator.py", STUB)
        return "" if len(said) < 3 else "nothing adds up to zero"

    assert kata.run(2, person).outcome == "steps-made"
    assert kata.subjects() == ["test: nothing adds up to zero", "feat: the empty string"]
    assert [refused.why for refused in kata.of(Refused)] == [
        "nothing has changed in the tree yet",
        f"no test fails: {TEST}::test_true passes already",
    ]
    assert said[1].startswith("not yet: ")
    assert kata.repo.git("status", "--porcelain") == ""


def test_without_a_terminal_the_run_waits_and_takes_the_tree_as_the_edit(tmp_path: Path) -> None:
    kata = human(tmp_path, REPLAY, "human", "human")
    assert kata.run(3).outcome == "waiting"
    assert kata.subjects() == ["test: an empty string is zero"]
    kata.repo.write("calculator.py", ZERO.replace("0", "1"))
    assert kata.run().outcome == "waiting"
    assert kata.repo.read("calculator.py").decode() == ZERO.replace("0", "1"), "a person's edits stay"
    kata.repo.write("calculator.py", ZERO)
    ended = kata.run()
    assert (ended.outcome, len(ended.commits)) == ("waiting", 1)
    assert kata.of(StepEnded)[-1].role == "implementor"
    kata.repo.write("calculator.py", ZERO.replace("numbers", "text"))
    assert kata.run().outcome == "steps-made"
    assert kata.subjects()[-1] == "refactor: a better structure"
    assert kata.project.log.verify().whole


def test_a_person_may_say_that_there_is_nothing_to_do_or_stop(tmp_path: Path) -> None:
    kata = human(tmp_path, REPLAY, REPLAY, "human")
    assert kata.run(3, lambda _: "!q").outcome == "waiting"
    assert kata.run(None, lambda _: "!nothing it is fine").outcome == "steps-made"
    assert kata.of(StepEnded)[-1].why == "it is fine"
    assert len(kata.subjects()) == 2
