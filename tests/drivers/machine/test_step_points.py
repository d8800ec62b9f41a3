from __future__ import annotations

from verdigris.drivers.machine.step import list_points, points_of, unshown_points

KATA = """\
# Rover

Build it in this order.

1. It starts at 0:0:N.
2. `R` turns it right:
   - from N to E
   - from E to S
3. It moves.

```text
- no point of the kata
```
"""


def test_the_points_of_a_kata_are_the_items_of_its_outermost_list() -> None:
    assert points_of(KATA) == ("It starts at 0:0:N.", "`R` turns it right:", "It moves.")
    assert points_of("Only prose - with a dash.\n") == ()


def test_points_that_no_test_was_written_for() -> None:
    assert unshown_points(KATA, {2}) == ("1 (It starts at 0:0:N.)", "3 (It moves.)")
    assert list_points([str(n) for n in range(14)]).endswith("11, and 2 more")
