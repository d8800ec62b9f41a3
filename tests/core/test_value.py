from __future__ import annotations

import dataclasses
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import ClassVar

import pytest

from verdigris.core.value import field, mutable, replace, value


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


def test_the_library_describes_and_replaces_it() -> None:
    described = fields(Point)
    assert [(one.name, one.default) for one in described[:2]] == [("x", dataclasses.MISSING), ("y", 0)]
    assert described[2].default_factory is dict
    assert dataclasses.replace(Point(1, 2), x=5) == Point(5, 2)


def test_a_field_of_the_library_is_read_alike() -> None:
    @value
    class Listed:
        names: list[str] = dataclasses.field(default_factory=list)

    assert (Listed().names, Listed().names is Listed().names) == ([], False)


def test_replace_takes_other_dataclasses_too() -> None:
    @dataclasses.dataclass
    class Plain:
        x: int

    assert replace(Plain(1), x=2) == Plain(2)
    with pytest.raises(TypeError, match="has no z"):
        replace(Point(1), z=2)  # type: ignore[call-arg]


def test_what_is_mutable_changes_and_equals_only_itself() -> None:
    @mutable
    class Count:
        seen: int = 0
        names: list[str] = field(default_factory=list)

    count = Count(names=["a"])
    count.seen += 1
    assert (count.seen, count.names) == (1, ["a"])
    assert count != Count(1, ["a"])


def test_defining_one_loads_no_dataclasses() -> None:
    code = (
        "from verdigris.core.value import value, field, replace\nimport sys\n@value\nclass A:\n    x: int\n"
    )
    code += "assert replace(A(1), x=2) == A(2)\nassert not {'dataclasses', 'inspect'} & sys.modules.keys()\n"
    subprocess.run([sys.executable, "-I", "-c", code], check=True)


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
    assert (Below.known, Below.__match_args__) == ("to all", ("first", "second", "third"))


def test_a_default_that_can_be_changed_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the default of Shared\.names can be changed"):

        @value
        class Shared:
            names: list[str] = []  # noqa: RUF012 - that is the mistake
