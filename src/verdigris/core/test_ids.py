"""Test ids: their parts, and the nearest match of a mistyped one."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from verdigris.core.languages import case_mark, file_end
from verdigris.core.value import value

REACH = 3
"""Lines above a test within which its annotation stands."""
MARK = "@tdd-id"


@value
class NativeId:
    path: str
    function: str
    """Qualified, e.g. `TestA::test_x`; empty for a whole file."""
    case: str
    """With what begins it, e.g. `[1-a]` or `/sub`; empty when there are none."""


def split_id(test_id: str) -> NativeId:
    """In Python brackets hold a case, in Go a `/` begins one; elsewhere both are of the name."""
    end = file_end(test_id)
    if end < 0:
        return NativeId(test_id, "", "")
    path, name = test_id[:end], test_id[end + 2 :]
    opens = case_mark(path)
    function, between, case = name.partition(opens) if opens else (name, "", "")
    return NativeId(path, function, between + case)


def function_of(native: str) -> str:
    """The id of the test that a native id is a case of."""
    return native.removesuffix(split_id(native).case)


def innermost(ids: Iterable[str]) -> list[str]:
    """Leaves out tests whose subtest is in the list: they fail because it does."""
    listed = list(ids)
    around = {name[:at] for name in listed for at, char in enumerate(name) if char == "/"}
    return [name for name in listed if name not in around]


def named_tests(word: str, ids: Iterable[str]) -> tuple[str, ...]:
    """Native ids that a bare name means, or a dotted one as Python prints it."""
    return tuple(i for i in ids if word in _other_names(i))


def _other_names(native: str) -> set[str]:
    """Spells an id without its file, without its case or class, and with dots."""
    test = split_id(native)
    full = f"{test.function}{test.case}"
    stem = test.path.rpartition(".")[0].replace("/", ".")
    dotted = f"{stem}.{test.function.replace('::', '.')}"
    shorter = {name.rpartition(between)[2] for name in (full, test.function) for between in ("::", " › ")}
    return {full, test.function, *shorter, dotted, dotted.partition(".")[2]}


def nearest(unknown: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """At most three ids, best first: with this beginning, of the same name elsewhere, the most similar."""
    import difflib

    ids = sorted(set(candidates))
    name = split_id(unknown).function or unknown
    begun = [i for i in ids if i.startswith(unknown)]
    same = [i for i in ids if split_id(i).function.endswith(name) or split_id(i).path.endswith(name)]
    alike = difflib.get_close_matches(unknown, ids, n=3, cutoff=0.5)
    return tuple(dict.fromkeys([*begun, *same, *alike]))[:3]


def shell_words(*names: str) -> str:
    """Quotes words for a shell: names of tests hold blanks and special characters."""
    return shlex.join(names)


def some(names: Sequence[str]) -> str:
    if not names:
        return "nothing"
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
