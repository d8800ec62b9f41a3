"""What the gate costs an agent: everyday tasks with the real Claude Code, gated and ungated.

The model is a script. In the first tasks it works test-first and knows nothing of Verdigris: its calls are
those of its twin in a repository without it. In the others it knows what the laws at a session's start say.
So this tells what the gate does to an honest agent, and not how well a model reads the laws. Run it with
`PYTHONPATH=tests python benchmarks/friction.py`; tasks may be named.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from support.anthropic_model import bash
from support.gated import make_place, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from support.anthropic_model import Model, Step
    from support.gated import Place

RUFF = Path(sys.executable).with_name("ruff")
BODY = "    return a + b\n"
SUB = "\n\ndef sub(a, b):\n    return a - b\n"
TEST_SUB = "import calc\n\n\ndef test_sub():\n    assert calc.sub(5, 3) == 2\n"
TEST_NONE = """\
import calc


def test_none_is_nothing():
    assert calc.add(None, 2) == 2
    assert calc.add(2, None) == 2
"""
WRONG = "import calc\n\n\ndef test_sub():\n    assert calc.sub(3, 2) == 5\n"
CHARACTER = "import calc\n\n\ndef test_negative():\n    assert calc.add(-1, -2) == -3\n"
FIXED = "    return (a or 0) + (b or 0)\n"
OUTER = "    return total(a, b)\n\n\ndef total(a, b):\n    return a + b\n"
RENAME = "sed -i s/add/plus/g calc.py tests/test_add.py"
PYTEST = bash("python -m pytest -q")
DENIED = "denied ["
WASTED = (DENIED, "[tdd] Put back", "Git moved, but", "Read-only file system", "Device or resource busy")


@dataclass(frozen=True)
class Task:
    name: str
    plain: Callable[[Place], Sequence[Step]]
    gated: Callable[[Place], Sequence[Step]]
    is_done: Callable[[Place], bool]


@dataclass(frozen=True)
class Played:
    requests: int
    denied: int
    wasted: int
    context: int
    """Characters of the last request: system prompt, tools and all that was said."""
    done: bool


def edit(place: Place, new: str) -> tuple[Step, ...]:
    return reading(place, "calc.py"), place.append("calc.py", BODY, new)


def first_test(place: Place, text: str, name: str = "tests/test_new.py") -> tuple[Step, ...]:
    return place.write(name, text), bash(f"tdd test {name}")


def corrected(place: Place) -> Step:
    return place.append("tests/test_new.py", "== 5", "== 1")


SHOP = "def total(prices):\n    return sum(prices)\n"
SLUG = 'def slug(text):\n    return "-".join(text.lower().split())\n'
TEST_SHOP = "from shop import total\n\n\ndef test_total():\n    assert total([2, 5]) == 7\n"
TEST_SLUG = "from slug import slug\n\n\ndef test_slug():\n    assert slug('Two Words') == 'two-words'\n"


def feature(place: Place) -> tuple[Step, ...]:
    return (place.write("tests/test_new.py", TEST_SUB), *edit(place, BODY + SUB), PYTEST)


def bug(place: Place) -> tuple[Step, ...]:
    return (place.write("tests/test_new.py", TEST_NONE), *edit(place, FIXED), PYTEST)


def modules(place: Place) -> tuple[Step, ...]:
    return (
        place.write("tests/test_shop.py", TEST_SHOP),
        place.write("tests/test_slug.py", TEST_SLUG),
        place.write("shop.py", SHOP),
        place.write("slug.py", SLUG),
        PYTEST,
    )


def source_first(place: Place) -> tuple[Step, ...]:
    return (*edit(place, BODY + SUB), place.write("tests/test_new.py", TEST_SUB), PYTEST)


def corrected_order(place: Place) -> tuple[Step, ...]:
    """The first edit is denied; what is said then is what the agent does."""
    denied, test = edit(place, BODY + SUB), place.write("tests/test_new.py", TEST_SUB)
    return (*denied, test, denied[-1], PYTEST)


TASKS = (
    Task("feature", feature, feature, lambda p: "def sub" in p.read("calc.py")),
    Task("bug", bug, bug, lambda p: FIXED in p.read("calc.py")),
    Task("two new modules", modules, modules, lambda p: "def slug" in p.read("slug.py")),
    Task("source first", source_first, corrected_order, lambda p: "def sub" in p.read("calc.py")),
    Task(
        "wrong test corrected",
        lambda p: (
            p.write("tests/test_new.py", WRONG),
            *edit(p, BODY + SUB),
            PYTEST,
            corrected(p),
            PYTEST,
        ),
        lambda p: (
            *first_test(p, WRONG),
            *edit(p, BODY + SUB),
            bash("tdd settle"),
            bash('tdd test-bug tests/test_new.py:5 "three less two is one"'),
            corrected(p),
            bash("tdd test tests/test_new.py; tdd claim && tdd settle"),
        ),
        lambda p: "def sub" in p.read("calc.py") and "== 1" in p.read("tests/test_new.py"),
    ),
    Task(
        "extract a function",
        lambda p: (*edit(p, OUTER), PYTEST),
        lambda p: (bash("tdd refactor begin"), *edit(p, OUTER), bash("tdd refactor end")),
        lambda p: "def total" in p.read("calc.py"),
    ),
    Task(
        "rename",
        lambda _: (bash(f"{RENAME}; python -m pytest -q"),),
        lambda _: (bash(f"tdd refactor begin && {RENAME} && tdd refactor end"),),
        lambda p: "def plus" in p.read("calc.py"),
    ),
    Task(
        "docstring",
        lambda p: edit(p, f'    """Adds."""\n{BODY}'),
        lambda p: edit(p, f'    """Adds."""\n{BODY}'),
        lambda p: "Adds." in p.read("calc.py"),
    ),
    Task(
        "format",
        lambda _: (bash(f"{RUFF} format ."),),
        lambda _: (bash(f"{RUFF} format ."),),
        lambda p: p.read("ugly.py") == "def f(a, b):\n    return a + b\n",
    ),
    Task(
        "characterization",
        lambda p: (p.write("tests/test_new.py", CHARACTER), PYTEST),
        lambda p: first_test(p, CHARACTER),
        lambda p: "test_negative" in p.read("tests/test_new.py"),
    ),
)


def play(task: Task, folder: Path, *, gated: bool) -> Played:
    place = make_place(folder, gate=gated, live=True, **{"ugly.py": "def f( a,b ):\n  return  (a+b)\n"})
    playing, _ = place.plays(*(task.gated if gated else task.plain)(place), prompt=task.name)
    is_open = gated and place.phase() != "red"
    return measure(playing, done=task.is_done(place) and not is_open)


def measure(playing: Model, *, done: bool) -> Played:
    results = playing.results()
    return Played(
        len(playing.requests),
        sum(DENIED in text for text in results),
        sum(any(sign in text for sign in WASTED) for text in results),
        len(json.dumps(playing.requests[-1], ensure_ascii=False)),
        done,
    )


def row(task: Task, gated: Played, plain: Played) -> str:
    more = gated.context / plain.context - 1
    extra = gated.requests - plain.requests
    ends = "" if gated.done and plain.done else "  NOT DONE"
    return (
        f"{task.name:22}{plain.requests:9}{gated.requests:7}{extra:+7}{gated.denied:8}{gated.wasted:8}"
        f"{more:+9.1%}{ends}"
    )


def main(names: Sequence[str]) -> None:
    print(f"{'task':22}{'ungated':>9}{'gated':>7}{'extra':>7}{'denied':>8}{'wasted':>8}{'context':>9}")
    for task in TASKS:
        if names and task.name not in names:
            continue
        with tempfile.TemporaryDirectory(prefix="tdd-friction-") as name:
            top = Path(name).resolve()
            plain = play(task, top / "plain" / "repo", gated=False)
            gated = play(task, top / "gated" / "repo", gated=True)
        print(row(task, gated, plain), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
