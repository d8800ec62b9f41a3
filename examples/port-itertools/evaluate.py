"""Counts the behaviours in which smalltools answers as more_itertools does.

    python evaluate.py evaluation/given.json             the metric, as JSON on the last line
    python evaluate.py evaluation/given.json --answers   the reference's answers, as a page to read

The port answers in a process of its own, without any installed package: it can neither ask the reference
nor change what is counted. A behaviour is pending while its function is missing, a stub, or does not take
the arguments yet. Once it can be asked, another answer than the reference's is a failure.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
PENDING = "pending"
SECONDS = 30


def answer(module: object, name: str, arguments: list[object]) -> str:
    """What a function makes of the arguments, as a text that can be compared."""
    function = getattr(module, name, None)
    given = [iter(one["iterator"]) if isinstance(one, dict) else one for one in arguments]
    try:
        if "STUB:TDD" in inspect.getsource(function):
            return PENDING
        inspect.signature(function).bind(*given)
    except (OSError, TypeError, ValueError):  # it is missing, or takes something else
        return PENDING
    try:
        found = function(*given)
        return repr(list(found)) if isinstance(found, Iterator) else repr(found)
    except Exception as error:  # whatever is raised is the answer
        return f"raises {type(error).__name__}"


def ask_port(calls: list[list[object]]) -> list[str]:
    """The answers of smalltools, from another process."""
    command = [sys.executable, "-I", "-S", str(HERE / "evaluate.py"), "--port"]
    asked = json.dumps(calls)
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False, timeout=SECONDS)
    try:
        answers = json.loads(done.stdout)
    except ValueError:
        answers = ()
    if len(answers) != len(calls):
        return [f"gives no answers: {done.stderr.strip()[-200:]}"] * len(calls)
    return answers


def play_port() -> None:
    """The other process: what smalltools prints does not get between the answers."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.path.insert(0, str(HERE / "src"))
    import smalltools

    calls = json.load(sys.stdin)
    channel.write(json.dumps([answer(smalltools, name, arguments) for name, arguments in calls]))
    channel.close()


def judge(answers: list[str], expected: list[str]) -> str:
    """Of one behaviour: passing, failing or pending."""
    if PENDING in answers:
        return PENDING
    return "passing" if answers == expected else "failing"


def main(path: str, *options: str) -> None:
    import more_itertools

    behaviours = json.loads(Path(path).read_text())
    calls = [[one["function"], arguments] for one in behaviours for arguments in one["calls"]]
    expected = [answer(more_itertools, name, arguments) for name, arguments in calls]
    if options == ("--answers",):
        print_answers(behaviours, iter(expected))
        return
    answers = iter(zip(ask_port(calls), expected, strict=True))
    judged = []
    for one in behaviours:
        ours, theirs = zip(*(next(answers) for _ in one["calls"]), strict=True)
        judged.append(judge(list(ours), list(theirs)))
        if judged[-1] == "failing":
            print(f"{one['function']}: {one['behaviour']}: {list(ours)} instead of {list(theirs)}")
    count = Counter(judged)
    print(json.dumps({"metric": count["passing"], "passing": count["passing"], "failing": count["failing"]}))


def print_answers(behaviours: list[dict[str, object]], expected: Iterator[str]) -> None:
    print("# What the reference answers\n")
    print("Written by `python evaluate.py evaluation/given.json --answers`. An iterator is shown as a list.")
    for one in behaviours:
        print(f"\n## {one['function']}: {one['behaviour']}\n")
        for arguments in one["calls"]:
            given = ", ".join(show(argument) for argument in arguments)
            print(f"- `{one['function']}({given})`: `{next(expected)}`")


def show(argument: object) -> str:
    return f"iter({argument['iterator']!r})" if isinstance(argument, dict) else repr(argument)


if __name__ == "__main__":
    play_port() if sys.argv[1:] == ["--port"] else main(*sys.argv[1:])
