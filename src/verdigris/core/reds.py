"""How long a red lives: which reds a run ends, and which one the next move names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.languages import is_loaded_singly
from verdigris.core.report import Ended, Status
from verdigris.core.testids import named_tests, split_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verdigris.core.report import TestReport
    from verdigris.core.state import Claim, Red


def ended_reds(
    reds: Mapping[str, Red] | Mapping[str, Claim],
    report: TestReport,
    asked: Sequence[str],
) -> tuple[str, ...]:
    """Ids of the reds that this run saw pass, or looked for and did not find.

    `asked`: the ids and paths that the run was asked for; none stands for all there are.
    """
    passed = {result.native_id for result in report.results if result.status is Status.PASS}
    found = {*report.collected, *(result.native_id for result in report.results)}
    gone = {
        red.native_id
        for red in reds.values()
        if red.native_id not in found and _was_looked_for(red.native_id, report, asked)
    }
    return tuple(test_id for test_id, red in reds.items() if red.native_id in passed | gone)


def _was_looked_for(native: str, report: TestReport, asked: Sequence[str]) -> bool:
    """Whether the run would have found this test if it still existed."""
    path = split_id(native).path
    broken = {error.path for error in report.errors}
    unloaded = path in broken or (broken and not is_loaded_singly(path))
    if report.ended is not Ended.FINISHED or unloaded:
        return False
    return not asked or any(covers_test(name.rstrip("/"), native) for name in asked)


def covers_test(name: str, native: str) -> bool:
    """`name`: an id, a group of tests, a file or a folder."""
    path = split_id(native).path
    inside = (f"{name}::", f"{name}[", f"{name}/", f"{name} › ")
    return name in {".", "", native, path} or native.startswith(inside) or path.startswith(f"{name}/")


def named_reds(reds: Mapping[str, Red], word: str) -> tuple[str, ...]:
    """Ids of the reds that a word means: an id, a group or a function with its cases, a file, a bare name."""
    word = word.replace(" > ", " › ")
    if word in reds:
        return (word,)
    name = word.rstrip("/")
    below = [red for red in reds.values() if covers_test(name, red.native_id)]
    if below:
        return tuple(red.test_id for red in below if red.valid) or (below[0].test_id,)
    meant = set(named_tests(word, [red.native_id for red in reds.values()]))
    one = len({(split_id(native).path, split_id(native).function) for native in meant}) == 1
    return tuple(i for i, red in reds.items() if red.native_id in meant) if one else ()


def newest(reds: Iterable[Red], tree: str | None = None) -> Red | None:
    """The valid red that was seen last; with `tree`, only one that was seen on it and can be claimed."""
    seen = [red for red in reds if tree is None or red.tree == tree]
    return max(without_parents(tuple(seen)), key=lambda red: red.seq, default=None)


def without_parents(reds: tuple[Red, ...]) -> tuple[Red, ...]:
    """Without those that are red because one of their own cases is: Go reports both."""
    cases = [red.native_id for red in reds if split_id(red.native_id).case.startswith("/")]
    return tuple(red for red in reds if not any(case.startswith(f"{red.native_id}/") for case in cases))
