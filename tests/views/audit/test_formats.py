from __future__ import annotations

import pytest

from support import audits
from verdigris.core.value import replace
from verdigris.drivers.audit.report import FoundPlace
from verdigris.views.audit.formats import render_annotations

pytestmark = pytest.mark.quick


def test_errors_come_first_the_gravest_of_them_first() -> None:
    lines = render_annotations(audits.EVERYTHING).splitlines()
    kinds = [line.split(" ", 1)[0] for line in lines]
    assert kinds == ["::error"] * 5 + ["::warning"] * 3 + ["::notice"] * 2
    assert lines[0].startswith("::error file=tests/test_cart.py,line=4,title=tdd audit%3A regressed::")


def test_text_and_properties_are_escaped_as_github_reads_them() -> None:
    place = FoundPlace("a,b:c%.py", 3, "x.py::t: 50% of\r\n two, three: four")
    [line] = render_annotations(audits.report(replace(audits.REGRESSED, regressed=(place,)))).splitlines()
    assert line.startswith("::error file=a%2Cb%3Ac%25.py,line=3,title=tdd audit%3A regressed::")
    assert "50%25 of%0D%0A two, three: four%0Ain 444444444" in line


def test_lines_that_follow_each_other_have_an_end() -> None:
    assert "::warning file=src/cart.py,line=10,endLine=11,title=" in render_annotations(audits.EVERYTHING)


def test_a_finding_without_a_place_has_no_file() -> None:
    [line] = render_annotations(audits.report(audits.INFRASTRUCTURE)).splitlines()
    assert line.startswith("::notice title=tdd audit%3A infrastructure::no space left on the device%0Ain ")


@pytest.mark.parametrize(("number", "says"), [(10, None), (11, 2), (60, 51)])
def test_ten_of_a_kind_at_most_and_the_tenth_says_how_many_more(number: int, says: int | None) -> None:
    places = tuple(FoundPlace("a.py", 2 * line, "x") for line in range(1, number + 1))
    lines = render_annotations(audits.report(replace(audits.REFACTOR, uncovered=places))).splitlines()
    assert len(lines) == 10
    last = lines[-1]
    assert says is None or f"::{says} more of this kind (uncovered) are not shown here" in last
    assert (says is None) == (" more of this kind" not in last)
