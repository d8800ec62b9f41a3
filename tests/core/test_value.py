from __future__ import annotations

from dataclasses import FrozenInstanceError, field, fields, is_dataclass, replace
from typing import ClassVar

import pytest

from verdigris.core.value import value


@value
class Point:
    x: int
    y: int = 0
    tags: dict[str, int] = field(default_factory=dict)


@value
class Other:
    x: int
    y: int = 0
    tags: dict[str, int] = field(default_factory=dict)


def test_it_takes_values_by_place_and_by_name() -> None:
    assert (Point(1, 2).x, Point(y=3, x=1).y, Point(1).tags) == (1, 3, {})
    assert Point(1).tags is not Point(1).tags


def test_it_is_equal_by_its_values_and_to_its_own_kind_only() -> None:
    assert Point(1) == Point(1, 0)
    assert Point(1) != Point(2)
    assert Point(1) != Other(1)  # type: ignore[comparison-overlap]


def test_it_says_what_it_is() -> None:
    assert repr(Point(1)) == "Point(x=1, y=0, tags={})"


def test_it_hashes_by_its_values() -> None:
    @value
    class Name:
        text: str

    assert len({Name("a"), Name("a"), Name("b")}) == 2


def test_it_cannot_be_changed() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.x


def test_the_library_takes_it_for_a_dataclass() -> None:
    assert is_dataclass(Point)


def test_fields_replace_and_match_work() -> None:
    assert [f.name for f in fields(Point)] == ["x", "y", "tags"]
    assert replace(Point(1, 2), x=5) == Point(5, 2)
    match Point(1, 2):
        case Point(x, y=2):
            assert x == 1
        case _:
            pytest.fail("no match")


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "needs x"),
        ((1, 2, {}, 4), {}, "takes 3 values"),
        ((1,), {"x": 2}, "got x twice"),
        ((1,), {"z": 2}, "has no z"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(
    args: tuple[object, ...], kwargs: dict[str, object], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        Point(*args, **kwargs)  # type: ignore[arg-type]


@value
class Above:
    first: int
    known: ClassVar[str] = "to all"
    second: tuple[int, ...] = ()


@value
class Below(Above):
    first: int = 7
    third: dict[str, int] = field(default_factory=dict)


def test_fields_of_the_class_above_come_first_and_keep_their_place() -> None:
    assert [one.name for one in fields(Below)] == ["first", "second", "third"]
    assert Below() == Below(7, (), {})
    assert not hasattr(Below(), "__dict__")
    assert (Below.known, Below.__match_args__) == ("to all", ("first", "second", "third"))


def test_a_default_that_can_be_changed_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the default of Shared\.names can be changed"):

        @value
        class Shared:
            names: list[str] = []  # noqa: RUF012 - that is the mistake
