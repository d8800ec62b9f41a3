from __future__ import annotations

import pytest

from verdigris.languages.python.tracing import failing_at


def run(text: str, argument: int) -> object:
    scope: dict[str, object] = {}
    exec(text, scope)
    work = scope["work"]
    assert callable(work)
    return work(argument)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def work(a):\n    if a > 1:\n        return 1\n    return 2\n", 4),
        (
            "def work(a):\n    if a > 1:\n        a = 1\n    elif a == 0:\n        return 2\n    return 3\n",
            4,
        ),
        (
            "def work(a):\n    if a > 1:\n        a = 1\n    elif (\n        a == 0\n    ):\n        a = 2\n",
            4,
        ),
        ("def work(a):\n    if a > 1:\n        return 'ö'\n    else: b = 'ö'; return b\n", 4),
        (
            "def work(a):\n    try:\n        return 1 if a > 1 else [][a]\n    except IndexError: return 2\n",
            4,
        ),
        ("def work(a):\n    match a > 1:\n        case True: return 1\n        case _: return 2\n", 4),
    ],
    ids=["statement", "elif", "folded elif", "behind else", "behind except", "behind case"],
)
def test_a_line_is_made_to_fail_where_it_runs_and_only_there(text: str, line: int) -> None:
    failing = failing_at(text, line)
    assert failing is not None
    assert run(failing, 2) == run(text, 2)
    with pytest.raises(RuntimeError, match="made to fail"):
        run(failing, 0)


def test_a_line_in_which_nothing_can_fail_stays_as_it_is() -> None:
    assert failing_at("def work(a):\n    return (\n        a\n    )\n", 4) is None
