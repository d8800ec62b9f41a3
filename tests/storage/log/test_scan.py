from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.log.tally import draft
from verdigris.storage.log.lines import EMPTY
from verdigris.storage.log.log import chain_batch
from verdigris.storage.log.verification import ChainScan

SIZE = 12
_, LINKS = chain_batch(EMPTY, [draft(n) for n in range(SIZE)], 0, 1)


def scan(order: list[int]) -> ChainScan:
    """Read the events with these indices, in this order, up to the head of the whole."""
    seen = ChainScan()
    for index in order:
        list(seen.see(LINKS[index]))
    list(seen.end(SIZE))
    return seen


def missing(seen: ChainScan) -> set[int]:
    return {n for first, last in seen._missing for n in range(first, last + 1)}


@given(st.lists(st.integers(0, SIZE - 1), max_size=20))
@settings(max_examples=400)
def test_whatever_was_done_to_the_lines_is_found_and_no_event_that_is_there_is_called_missing(
    order: list[int],
) -> None:
    seen = scan(order)

    assert bool(seen.findings) == (order != list(range(SIZE)))
    assert missing(seen) == set(range(1, SIZE + 1)) - {index + 1 for index in order}
    assert "edited" not in {finding.kind for finding in seen.findings}


@given(st.sets(st.integers(0, SIZE - 1), min_size=1))
def test_lines_taken_out_are_removed_or_cut_off_and_nothing_else(gone: set[int]) -> None:
    seen = scan([index for index in range(SIZE) if index not in gone])

    assert {finding.kind for finding in seen.findings} <= {"removed", "cut-off"}
    assert missing(seen) == {index + 1 for index in gone}


def test_the_chain_holds_what_it_accepted() -> None:
    seen = scan([0, 1, 3, 4])

    assert seen.count == 4
    assert seen.holds(4, LINKS[3].hash)
    assert not seen.holds(4, LINKS[4].hash)
    assert not seen.holds(3, LINKS[2].hash)
