"""Code that could give a number itself, where an evaluator in the same process is to give it."""

from __future__ import annotations

import pytest

from verdigris.languages.python.concerns import find_measured_faults

BEFORE = "def sort(numbers):\n    return sorted(numbers)\n"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import sys\nsys.exit()", "ends the process"),
        ("from sys import exit as leave\nleave(0)", "ends the process"),
        ("raise SystemExit", "ends the process"),
        ("raise SystemExit(0)", "ends the process"),
        ("quit()", "ends the process"),
        ("import sys\nsys.stdout = None", "the output or the life of the process"),
        ("import sys as system\nsystem.__stdout__ = None", "the output or the life of the process"),
        ("import sys\nsetattr(sys, 'stdout', None)", "the output or the life of the process"),
        ("import os\nos.dup2(2, 1)", "the output or the life of the process"),
        ("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)", "the output or the life of the process"),
        ("import __main__", "accesses the program that runs it"),
        ("from __main__ import Counted", "accesses the program that runs it"),
        ("import sys\nsys.modules['__main__'].x = 1", "accesses the program that runs it"),
    ],
)
def test_what_reaches_for_the_number_is_found(body: str, words: str) -> None:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    found = find_measured_faults("sort.py", BEFORE, f"def sort(numbers):\n{lines}\n    return numbers\n")
    assert found
    assert words in found[0].what


HONEST = """\
import sys
from functools import lru_cache


class Tree:
    made = 0

    def __init__(self, root):
        self.root = root
        type(self).made += 1
        self.__dict__["lazy"] = None

    def kind(self):
        kind = type(self.root)
        return kind(self.root)


@lru_cache
def depth(tree):
    if tree is None:
        raise ValueError("no tree")
    print("debug", file=sys.stderr)
    return 1


def main():
    return 0


if __name__ == "__main__":
    sys.exit(main())
"""


def test_honest_code_has_none_of_it() -> None:
    assert find_measured_faults("tree.py", None, HONEST) == ()


def test_what_was_there_before_is_nobodys_fault() -> None:
    before = "import sys\n\n\ndef stop():\n    sys.exit(1)\n"
    assert find_measured_faults("stop.py", before, f"{before}\n\ndef more():\n    return 2\n") == ()
    twice = f"{before}\n\ndef more():\n    sys.exit(1)\n"
    assert [fault.line for fault in find_measured_faults("stop.py", before, twice)] == [9]


def test_what_cannot_be_read_is_said() -> None:
    assert [fault.what for fault in find_measured_faults("x.py", None, "def")] == ["it cannot be read"]
