"""A session: what enforcement adds to what a model is shown, how much of that was sent before, and the time.

`python benchmarks/session.py`: two scripted tasks, each done by an agent under the law and by one without it.
Both run for real: the same tools read, write and run tests in a repository of their own. The agent without
the law has the same tools less those of the law, a system text of its own, and runs its tests by `shell`.
"""

from __future__ import annotations

import fnmatch
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from verdigris.core.records import Actor
from verdigris.core.settings import Prices
from verdigris.core.value import value
from verdigris.drivers.budget import cost_of
from verdigris.drivers.code import session_start
from verdigris.drivers.code.session import Session
from verdigris.drivers.code.tools import dispatch
from verdigris.drivers.code.tools.dispatch import tools_for
from verdigris.drivers.happenings import ToolCalled, TurnJudged
from verdigris.models.protocol import Ask, ModelReply, ToolCall, ToolSpec, Usage
from verdigris.models.providers import Scrubber
from verdigris.models.recording import Recorder
from verdigris.models.request import estimate, estimate_ask, prefix_share, whole_share
from verdigris.setup.initialisation import initialise
from verdigris.storage.project import open_project
from verdigris.turns.person import switch_off

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.drivers.happenings import Happening
    from verdigris.models.protocol import Model

PRICES = Prices(input=1.0, output=4.0, cached=0.1)
PLAIN = """\
You are a coding agent in a repository. Calls of a reply run in order. Write a test for each change, run it, \
and repair what fails. Several changes: submit_plan first. Paths are from the project's root. Read a file \
before you edit it. Keep replies short. When the task is done, call finish.
"""
"""What an agent without the law is told."""
LAW_TOOLS = frozenset({"run_tests", "edit_claim", "refactor_begin", "refactor_end", "test_bug"})
LAW_ARGUMENTS = frozenset({"more", "test_id", "test_file_path"})
FOOTER, CLAIM = 80, 30


# -- the tasks ----------------------------------------------------------------------------------


@value
class Edit:
    path: str
    search: str
    """Empty: the file is new."""
    replace: str

    def call(self) -> tuple[str, Mapping[str, Any]]:
        if not self.search:
            return "create_file", {"path": self.path, "content": self.replace}
        return "edit_file", {"path": self.path, "search": self.search, "replace": self.replace}


@value
class Change:
    """One behaviour: its test, and the edits of source; each of them but the last is wrong."""

    title: str
    test: Edit
    test_id: str
    tries: tuple[Edit, ...]
    stub: Edit | None = None
    """Where the test cannot be loaded without a name: under the law a stub comes first."""
    green: Edit | None = None
    """In place of the stub."""


@value
class Task:
    name: str
    text: str
    files: Mapping[str, str]
    looks: tuple[tuple[str, Mapping[str, Any]], ...]
    """The calls by which the agent finds its way, one a reply."""
    changes: tuple[Change, ...]


_RAISING = "    raise NotImplementedError  # STUB:TDD\n"


def short_task() -> Task:
    """Greenfield: three functions of one new module."""
    changes = []
    for number, factor in enumerate((2, 10, 12)):
        name, path = f"scale_by_{factor}", f"tests/test_scale_by_{factor}.py"
        test = f"from scales import {name}\n\n\ndef test_{name}():\n    assert {name}(7) == {7 * factor}\n"
        body = f"def {name}(amount):\n    return amount * {factor}\n"
        stub = f"def {name}(amount):\n{_RAISING}"
        before = "" if not number else f"    return amount * {(2, 10, 12)[number - 1]}\n"
        joined = f"{before}\n\n" if before else ""
        changes.append(
            Change(
                f"scale by {factor}",
                Edit(path, "", test),
                f"{path}::test_{name}",
                (Edit("scales.py", before, f"{joined}{body}"),),
                Edit("scales.py", before, f"{joined}{stub}"),
                Edit(
                    "scales.py",
                    "    raise NotImplementedError  # STUB:TDD\n",
                    f"    return amount * {factor}\n",
                ),
            )
        )
    text = "Write functions that scale an amount by 2, 10 and 12, in scales.py."
    return Task("short", text, {}, (("list_files", {"glob": "**"}),), tuple(changes))


def long_task() -> Task:
    """An existing package: three modules of Python's library, of 180 to 490 lines, with tests."""
    sources = {
        f"words/{module.__name__}.py": Path(module.__file__ or "").read_text("utf-8")
        for module in (textwrap, shlex, fnmatch)
    }
    files = {"words/__init__.py": "", **sources, **_TESTS}
    looks = (
        ("list_files", {"glob": "**"}),
        ("search", {"text": "def (shorten|indent|join|filter)", "regex": True}),
        ("read_file", {"path": "words/textwrap.py"}),
        ("read_file", {"path": "tests/test_textwrap.py"}),
        ("read_file", {"path": "words/shlex.py", "first": 300}),
        ("read_file", {"path": "words/fnmatch.py"}),
    )
    text = (
        "In words/: shorten takes keep='end', which keeps the end of the text; indent takes first, the "
        "prefix of the first line; shlex.join takes sep; fnmatch gets matches_any(name, patterns)."
    )
    return Task("long", text, files, looks, _CHANGES)


_TESTS = {
    "tests/test_textwrap.py": (
        "from words.textwrap import dedent, fill, indent, shorten, wrap\n\n\n"
        "def test_wrap_keeps_to_the_width():\n"
        "    assert wrap('one two three', 7) == ['one two', 'three']\n\n\n"
        "def test_fill_joins_the_lines():\n"
        "    assert fill('one two three', 7) == 'one two\\nthree'\n\n\n"
        "def test_shorten_leaves_out_the_end():\n"
        "    assert shorten('one two three', 9) == 'one [...]'\n\n\n"
        "def test_indent_leaves_blank_lines():\n"
        "    assert indent('a\\n\\nb\\n', '  ') == '  a\\n\\n  b\\n'\n\n\n"
        "def test_dedent_takes_the_common_margin():\n"
        "    assert dedent('  a\\n    b\\n') == 'a\\n  b\\n'\n"
    ),
    "tests/test_shlex.py": (
        "from words import shlex\n\n\n"
        "def test_split_takes_quotes_together():\n"
        "    assert shlex.split('a \"b c\"') == ['a', 'b c']\n\n\n"
        "def test_join_quotes_what_has_blanks():\n"
        "    assert shlex.join(['a', 'b c']) == \"a 'b c'\"\n"
    ),
    "tests/test_fnmatch.py": (
        "from words import fnmatch\n\n\n"
        "def test_filter_keeps_what_matches():\n"
        "    assert fnmatch.filter(['a.py', 'b.txt'], '*.py') == ['a.py']\n"
    ),
}


def _added(path: str, last: str, text: str) -> Edit:
    """A test after the last one of a file."""
    return Edit(path, last, f"{last}\n\n{text}")


_SHORTEN = (
    "    w = TextWrapper(width=width, max_lines=1, **kwargs)\n"
    "    return w.fill(' '.join(text.strip().split()))\n"
)
_SHORTEN_END = """\
    words = text.strip().split()
    if keep == 'end':
        placeholder = kwargs.pop('placeholder', ' [...]').strip()
        line = ' '.join(words)
        while words and len(line) > width:
            words.pop(0)
            line = ' '.join([placeholder, *words])
        return line
    w = TextWrapper(width=width, max_lines=1, **kwargs)
    return w.fill(' '.join(words))
"""
_CHANGES = (
    Change(
        "shorten keeps the end",
        _added(
            "tests/test_textwrap.py",
            "    assert dedent('  a\\n    b\\n') == 'a\\n  b\\n'\n",
            "def test_shorten_keeps_the_end():\n"
            "    assert shorten('one two three', 11, keep='end') == '[...] three'\n"
            "    assert shorten('one two', 20, keep='end') == 'one two'\n",
        ),
        "tests/test_textwrap.py::test_shorten_keeps_the_end",
        (
            Edit(
                "words/textwrap.py",
                "def shorten(text, width, **kwargs):",
                "def shorten(text, width, keep='start', **kwargs):",
            ),
            Edit("words/textwrap.py", _SHORTEN, _SHORTEN_END),
        ),
    ),
    Change(
        "indent has a prefix of the first line",
        _added(
            "tests/test_textwrap.py",
            "    assert shorten('one two', 20, keep='end') == 'one two'\n",
            "def test_indent_begins_with_another_prefix():\n"
            "    assert indent('a\\nb\\n', '  ', first='- ') == '- a\\n  b\\n'\n",
        ),
        "tests/test_textwrap.py::test_indent_begins_with_another_prefix",
        (
            Edit(
                "words/textwrap.py",
                "def indent(text, prefix, predicate=None):\n",
                "def indent(text, prefix, predicate=None, first=None):\n"
                "    if first is not None:\n"
                "        head, *rest = text.splitlines(True)\n"
                "        return indent(head, first, predicate) + indent(''.join(rest), prefix, predicate)\n"
                "    return _indent(text, prefix, predicate)\n\n\n"
                "def _indent(text, prefix, predicate):\n",
            ),
        ),
    ),
    Change(
        "join with another separator",
        _added(
            "tests/test_shlex.py",
            "    assert shlex.join(['a', 'b c']) == \"a 'b c'\"\n",
            "def test_join_takes_a_separator():\n"
            "    assert shlex.join(['a', 'b c'], sep=' \\\\\\n ') == \"a \\\\\\n 'b c'\"\n",
        ),
        "tests/test_shlex.py::test_join_takes_a_separator",
        (
            Edit(
                "words/shlex.py",
                "def join(split_command):\n"
                '    """Return a shell-escaped string from *split_command*."""\n'
                "    return ' '.join(",
                "def join(split_command, sep=' '):\n"
                '    """Return a shell-escaped string from *split_command*."""\n'
                "    return sep.join(",
            ),
        ),
    ),
    Change(
        "a name that matches any pattern",
        _added(
            "tests/test_fnmatch.py",
            "    assert fnmatch.filter(['a.py', 'b.txt'], '*.py') == ['a.py']\n",
            "def test_matches_any_takes_several_patterns():\n"
            "    assert fnmatch.matches_any('a.py', ['*.txt', '*.py'])\n"
            "    assert not fnmatch.matches_any('a.md', ['*.txt', '*.py'])\n",
        ),
        "tests/test_fnmatch.py::test_matches_any_takes_several_patterns",
        (
            Edit(
                "words/fnmatch.py",
                "def translate(pat):\n",
                "def matches_any(name, pats):\n"
                '    """Test whether FILENAME matches one of the patterns."""\n'
                "    return any(fnmatch(name, pat) for pat in pats)\n\n\n"
                "def translate(pat):\n",
            ),
        ),
    ),
)


# -- the two agents -----------------------------------------------------------------------------


def reply(text: str, *given: tuple[str, Mapping[str, Any]]) -> ModelReply:
    made = tuple(
        ToolCall(f"call_{number}", name, json.dumps(one)) for number, (name, one) in enumerate(given)
    )
    return ModelReply(text, made, Usage(), "tool_calls", "scripted")


def lawful_replies(task: Task, *, quick: bool) -> Iterator[ModelReply]:
    """Red, then green. `quick`: where one is sure, both in one reply."""
    yield from (reply("", look) for look in task.looks)
    steps = [
        {"title": one.title, "test_id": one.test_id.partition("::")[2], "test_file_path": one.test.path}
        for one in task.changes
    ]
    plan = [("submit_plan", {"steps": steps})]
    for change in task.changes:
        stub = [] if change.stub is None else [change.stub.call()]
        red = [*plan, change.test.call(), *stub, ("run_tests", {"ids": [change.test_id]})]
        first, *repairs = (change.green,) if change.green is not None else change.tries
        plan = []
        if quick:
            yield reply(f"Test and code: {change.title}.", *red, first.call())
        else:
            yield reply(f"A failing test: {change.title}.", *red)
            yield reply("Now the code.", first.call())
        yield from (reply("That was not all of it.", one.call()) for one in repairs)
    yield reply("", ("finish", {"summary": "All of it is done and tested."}))


def plain_replies(task: Task, *, quick: bool) -> Iterator[ModelReply]:
    """Test and code, then a run. `quick`: both in one reply."""
    yield from (reply("", look) for look in task.looks)
    plan = [("submit_plan", {"steps": [{"title": one.title} for one in task.changes]})]
    for change in task.changes:
        run = ("shell", {"command": f"python -m pytest -q {change.test.path}"})
        first, *repairs = change.tries
        made = [*plan, change.test.call(), first.call()]
        plan = []
        if quick:
            yield reply(f"Test and code: {change.title}.", *made, run)
        else:
            yield reply(f"Test and code: {change.title}.", *made)
            yield reply("Now I run it.", run)
        for one in repairs:
            if quick:
                yield reply("That was not all of it.", one.call(), run)
            else:
                yield reply("That was not all of it.", one.call())
                yield reply("Again.", run)
    every = ("shell", {"command": "python -m pytest -q"})
    yield reply("", *([every] if quick else []), ("finish", {"summary": "All of it is done and tested."}))


def plain_tools(model: str) -> tuple[ToolSpec, ...]:
    """The same tools less those of the law, and less the law's arguments."""
    return tuple(
        ToolSpec(tool.name, tool.description, _without_law(tool.parameters))
        for tool in tools_for(model)
        if tool.name not in LAW_TOOLS
    )


def _without_law(schema: Any) -> Any:
    match schema:
        case dict():
            return {key: _without_law(one) for key, one in schema.items() if key not in LAW_ARGUMENTS}
        case list():
            return [_without_law(one) for one in schema]
        case _:
            return schema


# -- playing ------------------------------------------------------------------------------------


@dataclass
class Kept:
    """A model whose asks are kept, with the time that passes between an answer and the next ask."""

    model: Model
    asks: list[Ask] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    answered: float = 0.0

    @property
    def name(self) -> str:
        return self.model.name

    def ask(self, ask: Ask) -> ModelReply:
        if self.asks:
            self.seconds.append(time.perf_counter() - self.answered)
        self.asks.append(ask)
        answer = self.model.ask(ask)
        self.answered = time.perf_counter()
        return answer


@dataclass
class Played:
    asks: list[Ask]
    happenings: list[Happening]
    seconds: list[float]


def make_project(root: Path, task: Task) -> None:
    root.mkdir()
    stack = f"{{root: ., language: python, runner: pytest, python: {json.dumps(sys.executable)}}}"
    files = {"tdd.yaml": f"stacks: [{stack}]\n", "conftest.py": "", **task.files}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "a beginning")):
        identity = ("-c", "user.name=b", "-c", "user.email=b@example.org")
        subprocess.run(["git", *identity, *words], cwd=root, check=True)
    initialise(root, Actor(client="benchmark"))


def play(task: Task, folder: Path, *, law: bool, quick: bool) -> Played:
    root, talk = folder / "repo", folder / "talk.jsonl"
    make_project(root, task)
    recorder = Recorder(talk, Scrubber(()))
    replies = lawful_replies(task, quick=quick) if law else plain_replies(task, quick=quick)
    for number, one in enumerate(replies, 1):
        recorder.append("step-1-agent", number, Ask(()), one)
    happenings: list[Happening] = []
    options = session_start.SessionOptions(model=f"replay:{talk}")
    with ExitStack() as held:
        if not law:
            switch_off(open_project(root, Actor(client="benchmark")), "the agent without the law")
            for name, other in (
                ("_require_law", lambda _: None),
                ("SYSTEM", PLAIN),
                ("tools_for", plain_tools),
                ("_facts", _plain_facts),
            ):
                held.enter_context(patch.object(session_start, name, other))
            held.enter_context(patch.object(Session, "_tell_open_steps", lambda _: ""))
            held.enter_context(patch.object(dispatch, "lint_plan", lambda *_, **__: ()))
        session = held.enter_context(session_start.open_session(root, happenings.append, options))
        kept = Kept(session.model)
        session.model = kept
        ended = session_start.run_session(session, task.text)
    assert ended.outcome == "done", ended
    if os.environ.get("DUMP"):
        return Played(kept.asks, happenings, kept.seconds)
    failures = [one for one in happenings if isinstance(one, ToolCalled) and one.outcome == "denied"]
    assert not failures, failures
    ran = subprocess.run(["python", "-m", "pytest", "-q"], cwd=root, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stdout
    return Played(kept.asks, happenings, kept.seconds)


def _plain_facts(session: Session, *, resumed: bool) -> str:
    del resumed
    stacks = session.bench.project.settings.stacks
    return "\n".join(f"{stack.language} with {stack.runner} in {stack.root}" for stack in stacks)


# -- the report ---------------------------------------------------------------------------------


def parts_of(ask: Ask) -> dict[str, int]:
    """The tokens of a prompt, by who says them."""
    by_role = {role: [one for one in ask.messages if one.role == role] for role in ("system", "user", "tool")}
    said = [message for message in ask.messages if message.role == "assistant"]
    schemas = [f"{tool.name}\n{tool.description}\n{json.dumps(tool.parameters)}" for tool in ask.tools]
    return {
        "tools": sum(map(estimate, schemas)),
        "system text": sum(estimate(one.content) for one in by_role["system"]),
        "task and facts": sum(estimate(one.content) for one in by_role["user"]),
        "replies": sum(
            estimate(one.content) + sum(estimate(f"{call.name} {call.arguments}") for call in one.calls)
            for one in said
        ),
        "answers": sum(estimate(one.content) for one in by_role["tool"]),
    }


def row(name: str, played: Played) -> tuple[str, float, float, float, float]:
    sent = played.asks
    shares = [prefix_share(before, now) for before, now in zip([None, *sent], sent, strict=False)]
    whole = whole_share(shares)
    money = cost_of(Usage(whole.prompt, whole.shared, 0), PRICES)
    tokens, fresh = sum(map(estimate_ask, sent)), whole.prompt - whole.shared
    shown = f"{whole.share:.1%} | {money:.5f} | {1000 * statistics.mean(played.seconds):.0f} ms |"
    print(f"| {name} | {len(sent)} | {tokens} | {fresh} | {shown}")
    return name, tokens, fresh, whole.share, money


def report(task: Task, law: Played, plain: Played, *, quick: bool) -> None:
    how = "test, run and code in one reply" if quick else "a reply for the test, one for the code"
    print(f"\n## {task.name}: {how}\n")
    print("| | turns | tokens shown | uncached | sent before | money | work a turn |")
    print("|---|---|---|---|---|---|---|")
    one, other = row("with the law", law), row("without", plain)
    ratio = [mine / theirs for mine, theirs in zip(one[1:], other[1:], strict=True)]
    print(f"| ratio | | {ratio[0]:.3f} | {ratio[1]:.3f} | | {ratio[3]:.3f} | |\n")
    print("| the last prompt | with the law | without |\n|---|---|---|")
    ours, theirs = parts_of(law.asks[-1]), parts_of(plain.asks[-1])
    for part in ours:
        print(f"| {part} | {ours[part]} | {theirs[part]} |")
    sizes = [prefix_share(None, ask).prompt for ask in law.asks]
    shares = [prefix_share(before, now).shared for before, now in pairwise(law.asks)]
    kept = [share / size for share, size in zip(shares, sizes, strict=False)]
    print(f"\nof each prompt is the beginning of the next: {min(kept):.1%} at least")
    check_claims(law)


def check_claims(law: Played) -> None:
    judged = [one for one in law.happenings if isinstance(one, TurnJudged)]
    footers = [estimate(one.footer) for one in judged]
    calls = [one for one in law.happenings if isinstance(one, ToolCalled) and "; claims " in one.told]
    claims = [estimate(one.told.partition("; claims ")[2]) for one in calls]
    print(f"settlements: {len(judged)}, in {len({one.turn for one in judged})} turns")
    print(f"footers: {max(footers)} tokens at most; implied claims: {max(claims)} tokens at most")
    assert max(footers) <= FOOTER
    assert max(claims) <= CLAIM
    assert len(judged) == len({one.turn for one in judged})


def main() -> None:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # what plugins of this machine say is nobody's cost
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for task in (short_task(), long_task()):
        for quick in (False, True):
            with tempfile.TemporaryDirectory(prefix="tdd-session.") as folder:
                places = [Path(folder) / name for name in ("law", "plain")]
                for place in places:
                    place.mkdir()
                law = play(task, places[0], law=True, quick=quick)
                plain = play(task, places[1], law=False, quick=quick)
                report(task, law, plain, quick=quick)


if __name__ == "__main__":
    main()
