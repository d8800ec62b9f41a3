from __future__ import annotations

from verdigris.views.loop import count_harness, harness_marks, sparkline


def test_a_harness_is_a_mark_for_each_behaviour_and_of_many_the_newest() -> None:
    assert harness_marks(["passing", "failing", "blocked", "odd"]) == "●○✗·"
    assert harness_marks(["failing", "passing", "passing"], 2) == "…●●"


def test_statuses_are_counted_in_one_order() -> None:
    assert count_harness(["odd", "failing", "passing", "passing"]) == "2 passing, 1 failing, 1 odd"


def test_a_sparkline_spans_what_it_shows() -> None:
    assert sparkline([]) == ""
    assert sparkline([2, 2]) == "▄▄"
    assert sparkline([0, 7, 3]) == "▁█▄"
    assert sparkline([9, 1, 2], 2) == "▁█"
