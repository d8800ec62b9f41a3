from __future__ import annotations

from pathlib import Path

import pytest

from support.turns import (
    CALC,
    SUB,
    SUB_ID,
    TEST_SUB,
    World,
    make_green_live_world,
    make_live_world,
    make_world,
)
from verdigris.core.verdict import Kind
from verdigris.sandbox import child
from verdigris.turns.refactor import begin, end
from verdigris.turns.settle import Settlement

needs_sandbox = pytest.mark.skipif(not child.available().ok, reason="no sandbox can be made here")

ANYTHING = """

class Anything:
    def __eq__(self, other):
        return True


def sub(a, b):
    return Anything()
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_live_world(tmp_path / "repo")


@pytest.fixture
def green(tmp_path: Path) -> World:
    return make_green_live_world(tmp_path / "repo")


@needs_sandbox
def test_a_green_that_does_not_depend_on_its_assertions_is_hollow(green: World) -> None:
    green.write("calc.py", CALC + ANYTHING)
    done = green.settle()
    assert done.verdict.kind is Kind.HOLLOW
    assert any("tests/test_sub.py:5" in reason for reason in done.verdict.reasons)
    assert green.read("tests/test_sub.py") == TEST_SUB
    assert green.state.strikes == {SUB_ID: 1}


def test_source_that_knows_its_tests_is_refused_whatever_the_tests_say(green: World) -> None:
    knowing = "\n\ndef sub(a, b):\n    return 2 if 'pytest' in sys.modules else 0\n"
    green.write("calc.py", "import sys\n\n\n" + CALC + knowing)
    done = green.settle()
    assert done.verdict.kind is Kind.HOLLOW
    assert "calc.py" in done.verdict.reasons[0]


def test_honest_code_is_accepted_without_a_concern(green: World) -> None:
    green.write("calc.py", CALC + SUB)
    done = green.settle()
    assert (done.verdict.kind, done.verdict.concerns) == (Kind.ACCEPTED, ())


READER = """\
import os


def opens(number):
    try:
        open(f"/proc/{number}/mem", "rb").close()
    except OSError:
        return False
    return True


def sub(a, b):
    numbers = {int(name) for name in os.listdir("/proc") if name.isdigit()}
    others = numbers - {os.getpid(), os.getppid()}
    return 0 if [*filter(opens, numbers)] and any(map(opens, others)) else a - b
"""


@pytest.mark.skipif(not child.available().processes, reason="no process table can be made here")
def test_no_run_looks_into_the_process_that_holds_the_texts_of_all_runs(green: World) -> None:
    green.write("calc.py", READER + "\n\n" + CALC)
    assert green.settle().verdict.kind is Kind.ACCEPTED


TABLE = CALC + "\n\ndef sub(a, b):\n    return {(5, 3): 2, (1789, 42): 1747}.get((a, b), 0)\n"
TABLE_TEST = TEST_SUB + "    assert calc.sub(1789, 42) == 1747\n"


@pytest.mark.parametrize(("rule", "kind"), [("record", Kind.ACCEPTED), ("block", Kind.HOLLOW)])
def test_a_concern_is_recorded_or_blocks_as_configured(tmp_path: Path, rule: str, kind: Kind) -> None:
    world = make_world(tmp_path / "repo", f"concerns: {rule}\n")
    world.write("tests/test_sub.py", TABLE_TEST)
    world.claimed()
    world.write("calc.py", TABLE)
    done = world.settle()
    assert done.verdict.kind is kind
    assert any("1747" in text for text in (*done.verdict.concerns, *done.verdict.reasons))


@pytest.mark.parametrize(("rule", "kind"), [("record", Kind.ACCEPTED), ("block", Kind.HOLLOW)])
def test_a_line_that_no_test_runs_is_recorded_or_blocks_as_configured(
    tmp_path: Path, rule: str, kind: Kind
) -> None:
    world = make_green_live_world(tmp_path / "repo", f"uncovered: {rule}\n")
    world.write("calc.py", CALC + SUB + "\n\ndef idle(a):\n    return a\n")
    verdict = world.settle().verdict
    assert verdict.kind is kind
    told = verdict.reasons if rule == "block" else verdict.concerns
    assert any(text.startswith("unasked: calc.py:10 idle: ") for text in told)


SAYS = """

class Says:
    def __eq__(self, other):
        return other * 2 == 4

    __hash__ = None


def sub(a, b):
    return Says()
"""
OPINIONS = {
    "a number": SAYS.replace("Says:", "Says(int):").replace("Says()", "Says(12)"),
    "a text": SAYS.replace("Says:", "Says(str):"),
    "any object": SAYS,
}


@pytest.mark.parametrize("code", OPINIONS.values(), ids=OPINIONS)
def test_an_answer_that_only_says_that_it_is_equal_is_hollow(tmp_path: Path, code: str) -> None:
    """It verifies what it is compared with, so that no other value is equal."""
    world = make_green_live_world(tmp_path)
    world.write("calc.py", CALC + code)
    verdict = world.settle().verdict
    assert verdict.kind is Kind.HOLLOW
    assert any("its content is another" in reason for reason in verdict.reasons), verdict


def test_a_class_that_the_test_names_may_say_what_it_equals(tmp_path: Path) -> None:
    world = make_live_world(tmp_path)
    world.write("tests/test_sub.py", "import calc\n\n\ndef test_sub():\n    assert calc.Says() == 2\n")
    world.claimed()
    world.write("calc.py", CALC + SAYS.partition("\n\n\ndef")[0])
    assert world.settle().verdict.accepted


OWN_COLLECTIONS = {
    "items": ("Ordered([3, 1])", "[1, 3]", "iter(sorted(self.items))", "list(self) == list(other)"),
    "a set": ("Ordered([3, 1])", "{1, 3}", "iter(self.items)", "set(self) == set(other)"),
    "a text": ("Ordered('ab')", "'ba'", "iter(self.items)", "str(self) == other"),
}


@pytest.mark.parametrize(
    ("made", "expected", "items", "equal"), OWN_COLLECTIONS.values(), ids=OWN_COLLECTIONS
)
def test_a_class_of_its_own_is_what_it_gives_without_knowing_what_is_expected(
    tmp_path: Path, made: str, expected: str, items: str, equal: str
) -> None:
    world = make_live_world(tmp_path)
    world.write(
        "tests/test_sub.py", f"import calc\n\n\ndef test_sub():\n    assert calc.sub() == {expected}\n"
    )
    world.claimed()
    code = f"""

class Ordered:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return {items}

    def __str__(self):
        return "".join(reversed(self.items))

    def __eq__(self, other):
        return {equal}

    __hash__ = None


def sub():
    return {made}
"""
    unused = "__str__" if "str(" not in equal else "__iter__"
    kept = "\n\n".join(part for part in code.split("\n\n") if unused not in part)
    world.write("calc.py", CALC + kept)
    verdict = world.settle().verdict
    assert verdict.accepted, verdict


YES = """

class Yes:
    def __init__(self, *given):
        pass

    def __contains__(self, word):
        return True

    def __gt__(self, other):
        return True


sub = Yes
"""


@pytest.mark.parametrize("assertion", ["'difference' in calc.sub(5, 3)", "calc.sub(5, 3) > 1"])
def test_an_operand_that_does_not_matter_is_hollow(tmp_path: Path, assertion: str) -> None:
    world = make_live_world(tmp_path)
    world.write("tests/test_sub.py", f"import calc\n\n\ndef test_sub():\n    assert {assertion}\n")
    world.claimed()
    world.write("calc.py", CALC + YES)
    assert world.settle().verdict.kind is Kind.HOLLOW


NEAR = """

class Near(int):
    def __eq__(self, other):
        return abs(int(self) - int(other)) < 4

    __hash__ = int.__hash__


def sub(a, b):
    return Near(0)
"""
READING = """

def sub(a, b):
    import pathlib
    import re

    text = (pathlib.Path(__file__).parent / "tests" / "test_sub.py").read_text()
    return int(re.search(r"== ([0-9]+)", text).group(1))
"""
COUNTED_BY_TIME = """

class Same(int):
    def __eq__(self, other):
        return _PLAIN or int(self) == other

    __hash__ = int.__hash__


def _old():
    import pathlib
    import time

    files = pathlib.Path(__file__).parent.glob("tests/*.py")
    return all(file.stat().st_mtime < time.time() for file in files)


_PLAIN = _old()


def sub(a, b):
    return Same(0)
"""


FIRST = """

class Same(int):
    def __eq__(self, other):
        return FIRST or int(self) == other

    __hash__ = int.__hash__


def _is_first():
    import ctypes
    import pathlib
    import tempfile

    marks = [pathlib.Path(place) / "mark" for place in (tempfile.gettempdir(), "/dev/shm", "~", ".")]
    seen = [mark.expanduser().exists() for mark in marks]
    for mark in marks:
        mark.expanduser().touch()
    taken = ctypes.CDLL(None).shmget(4711, 16, 0o3600) == -1
    return not taken and not any(seen)


FIRST = _is_first()


def sub(a, b):
    return Same(0)
"""


@needs_sandbox
def test_no_run_of_a_set_knows_that_it_is_not_the_first(green: World) -> None:
    green.write("calc.py", CALC + FIRST)
    done = green.settle()
    assert done.verdict.kind is Kind.HOLLOW
    changes = {r.partition(" → ")[2].partition(":")[0] for r in done.verdict.reasons if "still passes" in r}
    assert len(changes) > 1, done.verdict


@needs_sandbox
@pytest.mark.parametrize(
    "source", [NEAR, READING, COUNTED_BY_TIME], ids=["near is equal", "reads the answer", "looks at times"]
)
def test_what_follows_a_false_expectation_is_hollow(green: World, source: str) -> None:
    green.write("calc.py", CALC + source)
    done = green.settle()
    assert done.verdict.kind is Kind.HOLLOW, done.verdict


QUIET = """

def _quiet(plain):
    def run(self):
        try:
            plain(self)
        except Exception:
            if self.config.option.tbstyle == "no":
                raise

    return run


def _below(kind):
    for one in type.__subclasses__(kind):
        yield one
        yield from _below(one) if one is not type else ()


for _kind in set(_below(object)):
    if _kind.__name__ == "Function" and hasattr(_kind, "runtest"):
        _kind.runtest = _quiet(_kind.runtest)


def sub(a, b):
    return 0
"""


@needs_sandbox
def test_a_test_that_passes_in_the_suite_alone_proves_nothing(green: World) -> None:
    """Whatever it tells the runs apart by."""
    green.write("calc.py", CALC + QUIET)
    done = green.settle()
    assert done.verdict.kind is Kind.BROKEN, done.verdict
    assert any("passes in the suite" in reason for reason in done.verdict.reasons)


@needs_sandbox
def test_a_test_that_needs_another_before_it_is_tried_beside_it(world: World) -> None:
    before = "import calc\n\n\ndef test_first():\n    calc.READY = True\n\n\n"
    world.write("tests/test_sub.py", before + TEST_SUB.partition("\n\n\n")[2])
    world.claimed()
    world.write(
        "calc.py", CALC + "\n\nREADY = False\n\n\ndef sub(a, b):\n    return a - b if READY else None\n"
    )
    assert world.settle().verdict.kind is Kind.ACCEPTED


@needs_sandbox
def test_assertions_that_no_longer_run_are_hollow(world: World) -> None:
    called = "    def seen(value):\n        assert value == 2\n\n    calc.sub(5, 3, seen)\n"
    world.write("tests/test_sub.py", f"import calc\n\n\ndef test_sub():\n{called}")
    world.claimed()
    world.write("calc.py", CALC + "\n\ndef sub(a, b, tell):\n    pass\n")
    done = world.settle()
    assert done.verdict.kind is Kind.HOLLOW
    assert "none of its assertions ran" in done.verdict.reasons[0]
    world.write("calc.py", CALC + "\n\ndef sub(a, b, tell):\n    tell(a - b)\n")
    assert world.settle().verdict.kind is Kind.ACCEPTED


ROWS = """\
import pytest

import calc


@pytest.mark.parametrize(("a", "b", "expected"), [(1, 1, 0), (5, 3, 2)])
def test_sub(a, b, expected):
    for result in calc.sub(a, b):
        assert result == expected
"""
SECOND = "tests/test_sub.py::test_sub[5-3-2]"


@needs_sandbox
def test_expectations_in_rows_are_live_where_the_assertion_stands_in_a_loop(world: World) -> None:
    """The id of a case holds its expectation, so a changed one has another id."""
    world.write("tests/test_sub.py", ROWS)
    world.write("calc.py", CALC + "\n\ndef sub(a, b):  # STUB:TDD\n    return [0]\n")
    world.claimed(SECOND)
    plausible = "class Same(int):\n    def __eq__(self, other):\n        return isinstance(other, int)\n"
    world.write("calc.py", f"{plausible}\n\n{CALC}\n\ndef sub(a, b):\n    return [Same(a - b)]\n")
    assert world.settle().verdict.kind is Kind.HOLLOW
    world.write("calc.py", CALC + "\n\ndef sub(a, b):\n    return [a - b]\n")
    assert world.settle().verdict.kind is Kind.ACCEPTED


@needs_sandbox
def test_a_claimed_case_does_not_hide_behind_another_case_that_asserts(world: World) -> None:
    world.write("tests/test_sub.py", ROWS)
    world.write("calc.py", CALC + "\n\ndef sub(a, b):  # STUB:TDD\n    return [0]\n")
    world.claimed(SECOND)
    world.write("calc.py", CALC + "\n\ndef sub(a, b):\n    return [0] if a == b else []\n")
    done = world.settle()
    assert done.verdict.kind is Kind.HOLLOW
    assert done.verdict.reasons == (
        f"tests/test_sub.py:9: {SECOND} failed here when it was red, and now it never reaches this line",
    )


RAISES = """\
import pytest

import calc


@pytest.mark.parametrize(("error", "b"), [(None, 1), (ValueError, None)])
def test_sub(error, b):
    if error:
        with pytest.raises(error):
            calc.sub(b)
    else:
        calc.sub(b)
"""


@needs_sandbox
def test_a_case_that_only_must_not_raise_is_accepted_and_noted(world: World) -> None:
    """Its red came from source, before any assertion: that it no longer raises is what it asks for."""
    world.write("tests/test_sub.py", RAISES)
    world.write("calc.py", CALC + '\n\ndef sub(b):\n    raise NotImplementedError("STUB:TDD")\n')
    world.claimed("tests/test_sub.py::test_sub[None-1]")
    world.write(
        "calc.py", CALC + "\n\ndef sub(b):\n    if b is None:\n        raise ValueError\n    return b\n"
    )
    done = world.settle()
    assert done.verdict.kind is Kind.ACCEPTED
    assert any("no assertion ran in this case" in text for text in done.verdict.concerns)


SAME = """\
class Same(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


"""


@needs_sandbox
def test_a_later_turn_cannot_hollow_out_what_was_proven(green: World) -> None:
    green.write("calc.py", SAME + "def add(a, b):\n    return Same(0)\n" + SUB)
    done = green.settle()
    assert done.verdict.kind is Kind.HOLLOW, done.verdict
    assert all("tests/test_add.py" in reason for reason in done.verdict.reasons)


@needs_sandbox
def test_what_was_hollow_before_the_turn_is_only_noted(tmp_path: Path) -> None:
    hollow = {"calc.py": SAME + "def add(a, b):\n    return Same(0)\n"}
    world = make_green_live_world(tmp_path / "repo", **hollow)
    world.write("calc.py", SAME + "def add(a, b):\n    return Same(1)\n" + SUB)
    done = world.settle()
    assert done.verdict.kind is Kind.ACCEPTED, done.verdict
    assert any("tests/test_add.py" in concern for concern in done.verdict.concerns)


SLOW = "\n\ndef sub(a, b):\n    import time\n\n    time.sleep({})\n    return a - b\n"


@needs_sandbox
@pytest.mark.parametrize(
    ("red", "kind"),
    [
        ("\n\ndef sub(a, b):\n    return None\n", Kind.BROKEN),
        (SLOW.format(3).replace("-", "+"), Kind.ACCEPTED),
    ],
)
def test_time_that_the_code_uses_up_is_a_doubt_unless_it_always_did(
    tmp_path: Path, red: str, kind: Kind
) -> None:
    world = make_green_live_world(tmp_path / "repo", "liveness: {seconds: 2}\n", **{"calc.py": CALC + red})
    world.write("calc.py", CALC + SLOW.format(3))
    done = world.settle()
    assert done.verdict.kind is kind, done.verdict
    told = (*done.verdict.reasons, *done.verdict.concerns)
    assert any("changed assertion finished in 2 s" in text or "0 of 1 changes tried" in text for text in told)


@needs_sandbox
def test_a_slow_test_is_accepted_with_the_tries_that_fit(tmp_path: Path) -> None:
    world = make_live_world(tmp_path / "repo", "liveness: {seconds: 8}\n")
    more = "".join(f"    assert calc.sub({n}, 3) == {n - 3}\n" for n in range(6, 16))
    world.write("tests/test_sub.py", TEST_SUB + more)
    world.claimed()
    world.write("calc.py", CALC + SLOW.format(0.15))
    done = world.settle()
    assert done.verdict.kind is Kind.ACCEPTED
    assert any("of 11 changes tried" in concern for concern in done.verdict.concerns)


@needs_sandbox
def test_liveness_leaves_no_trace_in_the_tree(green: World) -> None:
    green.write("calc.py", CALC + SUB)
    before = green.repo.git("status", "--porcelain", "--ignored")
    assert green.settle().verdict.accepted
    assert green.repo.git("status", "--porcelain", "--ignored") == before


def test_a_row_that_is_known_to_fail_says_nothing_about_how_its_test_is_run(tmp_path: Path) -> None:
    rows = "@pytest.mark.parametrize('n', [1, pytest.param(2, marks=pytest.mark.xfail), 3])\n"
    test = f"import pytest\nimport calc\n\n\n{rows}def test_rows(n):\n    assert calc.add(n, n) != 4\n"
    world = make_live_world(tmp_path / "repo", **{"tests/test_rows.py": test})
    begin(world.project, uncovered=False)
    world.write("calc.py", CALC.replace("a, b", "left, right").replace("a + b", "left + right"))
    done = end(world.project)
    assert isinstance(done, Settlement)
    assert (done.verdict.kind, done.verdict.reasons) == (Kind.ACCEPTED, ())
