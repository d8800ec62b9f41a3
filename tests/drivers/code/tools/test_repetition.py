from __future__ import annotations

from verdigris.drivers.code.tools.repetition import CallHistory, describe_suppression

READ = {"path": "a.py"}


def read(history: CallHistory, path: str = "a.py") -> CallHistory:
    return history.after("read_file", {"path": path}, reads=True)


def test_the_third_same_call_within_six_is_suppressed() -> None:
    history = read(CallHistory())
    assert not history.suppresses("read_file", READ)
    history = read(history)
    assert history.suppresses("read_file", READ)
    assert not history.suppresses("read_file", {"path": "b.py"})


def test_calls_that_lie_further_back_do_not_count() -> None:
    history = read(read(CallHistory()))
    for other in "bcde":
        history = read(history, other)
    assert not history.suppresses("read_file", READ)


def test_the_order_of_arguments_makes_no_difference() -> None:
    history = CallHistory()
    for _ in range(2):
        history = history.after("search", {"text": "x", "glob": "*"}, reads=True)
    assert history.suppresses("search", {"glob": "*", "text": "x"})


def test_after_an_edit_reading_again_is_no_circle() -> None:
    history = read(read(CallHistory())).after("edit_file", {"path": "a.py"}, reads=False)
    assert not history.suppresses("read_file", READ)


def test_the_same_edit_three_times_is_one() -> None:
    history = CallHistory()
    for _ in range(2):
        history = read(history.after("edit_file", READ, reads=False))
    assert history.suppresses("edit_file", READ)


def test_the_suppression_is_visible_and_names_a_way_out() -> None:
    assert "suppressed" in describe_suppression("read_file")
    assert "finish" in describe_suppression("read_file")
