"""What a run needs to work in its room, and what it lacked there.

It needs environment variables, none of the user's secrets among them. What it lacked is read from failures,
and named by the key of `tdd.yaml` that gives it. What the machine itself lacks is a hindrance.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.confinement.toolchains import HOMES, KEPT
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.core.suite_health import AGAIN, Hindrance
from verdigris.core.value import replace, value
from verdigris.core.verdict import first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from verdigris.core.settings import Network, Settings

    FindNeeds = Callable[[str, str, "RoomFacts"], Iterator[tuple[str, str]]]
    """Gets the kind and the text of a failure, and gives keys of `tdd.yaml` with values."""
    FindCause = Callable[[str, str], Hindrance | None]
    """Gets the same, and gives what is missing on the machine, with the cure."""


def surroundings(environ: Mapping[str, str], given: Sequence[str], *, home: str, tmp: str) -> dict[str, str]:
    """`given` are `NAME`, handed on where it is set, and `NAME=VALUE`; they have the last word.

    `XDG_*` is dropped, not set: its defaults lie below the new HOME, also for a test that moves HOME.
    """
    variables = {name: text for name, text in environ.items() if name in KEPT or name.startswith("LC_")}
    for name, text in _find_in_home(environ):
        variables.setdefault(name, text)
    variables["HOME"] = home
    variables["TMPDIR"] = tmp
    for entry in given:
        name, assigned, text = entry.partition("=")
        if assigned:
            variables[name] = text
        elif name in environ:
            variables[name] = environ[name]
    return variables


def _find_in_home(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What is found below the real HOME, for those who look for it there."""
    real = environ.get("HOME", "").rstrip("/")
    if not real:
        return
    yield "PYTHONUSERBASE", f"{real}/.local"
    folders = environ.get("PATH", "").split(":")
    for on_path, name, folder in HOMES:
        if f"{real}/{on_path}" in folders:
            yield name, f"{real}/{folder}"


_ABOUT_VARIABLES = re.compile(
    r"env|variable|not set|unset|must be set|undefined|missing|required", re.IGNORECASE
)
_NEW_HOME = re.compile(r"/tdd\.\w+/home/")
_OUT_OF_REACH = (
    "Connection refused",
    "Network is unreachable",
    "No route to host",
    "Cannot assign requested address",
)
_WIDER = ("none", "loopback", "host")
_NO_GIT = re.compile(
    r"not a git repository|\bgit\b.*exit status 128|InvalidGitRepositoryError|NotGitRepository"
)
_UNRESOLVED = ("name resolution", "Name or service not known", "nodename nor servname", "getaddrinfo failed")


@value
class Need:
    key: str
    """Of `tdd.yaml`."""
    value: str
    why: str
    """The test or file, and what it said."""


_ROOM = "room."


@value
class RoomFacts:
    """What a run was given, and what it was not."""

    environ: Mapping[str, str]
    """The caller's own environment."""
    settings: Settings
    lost: frozenset[str]
    """Variables that are set where `tdd` is called, and were not handed on."""
    installed: Collection[str] | None = None
    """The plugins that the interpreter has, if known."""


@value
class _FailureText:
    where: str
    kind: str
    text: str

    @property
    def why(self) -> str:
        return ": ".join(part for part in (self.where, self.kind, first_line(self.text)) if part)


def write_keys(lacking: Sequence[Need]) -> tuple[str, ...]:
    """Writes lines to paste into `tdd.yaml`: all keys of the room in one line."""
    by_key: dict[str, list[str]] = {}
    for need in lacking:
        by_key.setdefault(need.key, []).append(need.value)
    room = [
        f"{key.removeprefix(_ROOM)}: {_value(key, values)}"
        for key, values in by_key.items()
        if key.startswith(_ROOM)
    ]
    others = (f"{key}: {_value(key, values)}" for key, values in by_key.items() if not key.startswith(_ROOM))
    return (*([f"room: {{{', '.join(room)}}}"] if room else []), *others)


def _value(key: str, values: Sequence[str]) -> str:
    if key == "room.network":
        return max(values, key=_WIDER.index)
    if key in {"stacks[].test_command", "room.git"}:
        return values[0]
    return f"[{', '.join(values)}]"


def needs(
    report: TestReport,
    environ: Mapping[str, str],
    settings: Settings,
    *,
    installed: Collection[str] | None = None,
    finders: Collection[FindNeeds] = (),
) -> tuple[Need, ...]:
    """`environ` is the caller's own; `installed` are the plugins that the interpreter has, where known.

    `finders`: what the project's test tools add, each in its own words.
    """
    by_key: dict[tuple[str, str], Need] = {}
    facts = RoomFacts(environ, settings, _withheld_variables(environ, settings), installed)
    for saying in _sayings(report):
        for find in (_find_needs, *finders):
            for key, what in find(saying.kind, saying.text, facts):
                by_key.setdefault((key, what), Need(key, what, saying.why))
    return tuple(by_key.values())


def _sayings(report: TestReport) -> Iterator[_FailureText]:
    for result in report.results:
        if result.failure is not None:
            yield _FailureText(result.id, result.failure.kind, result.failure.message)
        elif result.status is Status.SKIP:
            yield _FailureText(result.id, "", result.note)
    for error in report.errors:
        yield _FailureText(error.path, error.kind, error.message)
    if report.ended is RunEnd.NO_START:
        yield _FailureText("the run", "", report.tail)


def find_hindrance(report: TestReport, causes: Collection[FindCause]) -> Hindrance | None:
    """What kept tests from running; None if every test that was asked for could run.

    The cause with the most files is told, one with a cure first.
    """
    unloaded = [error.path for error in report.errors if error.path]
    by_cause: dict[Hindrance, list[str]] = {}
    for failure in _reports_of_no_test(report):
        hindrances = (cause for find in causes if (cause := find(failure.kind, failure.text)) is not None)
        cause = next(hindrances, None) or _without_cause(failure)
        by_cause.setdefault(cause, []).append(failure.where)
    if not by_cause:
        return None
    main = max(by_cause, key=lambda cause: (cause.elsewhere, bool(cause.cure), len(by_cause[cause])))
    files = tuple(path for path in by_cause[main] if path) if main.cure else tuple(unloaded)
    silent = not report.results
    blocks = main.elsewhere or (bool(main.cure) and silent)
    return replace(main, files=files, unloaded=len(unloaded), blocks=blocks, silent=silent)


def _without_cause(failure: _FailureText) -> Hindrance:
    """What nobody knows a cure for; where the tool itself did not start, its own words have to do."""
    why = failure.why.removeprefix(f"{failure.where}: ")
    if failure.kind != _NO_START:
        return Hindrance(why)
    return Hindrance(
        why, f"correct what keeps the test tool from starting ({first_line(failure.text)}), {AGAIN}"
    )


_NO_START = "the test tool did not start"
ELSEWHERE = "loaded from elsewhere"
"""The kind of the saying `FILE instead of PATH`."""


def _reports_of_no_test(report: TestReport) -> Iterator[_FailureText]:
    for module in report.outside[:1]:
        yield _FailureText("", ELSEWHERE, module)
    for error in report.errors:
        yield _FailureText(error.path, error.kind, error.message)
    if report.ended is RunEnd.NO_START and not report.errors:
        lines = report.tail.strip().splitlines() or ["the test tool said nothing"]
        yield _FailureText("", _NO_START, "\n".join((lines[-1], *lines)))


def _withheld_variables(environ: Mapping[str, str], settings: Settings) -> frozenset[str]:
    """What is set where `tdd` is called, and was not handed on."""
    kept = surroundings(environ, settings.room_env, home="", tmp="")
    return frozenset(environ.keys() - kept.keys())


def _find_needs(kind: str, text: str, facts: RoomFacts) -> Iterator[tuple[str, str]]:
    settings = facts.settings
    for name in _variables(kind, text, facts.lost):
        yield "room.env", name
    if _NEW_HOME.search(text) and "HOME" in facts.environ and "HOME" not in settings.room_env:
        yield "room.env", "HOME"
    if network := _network(text, settings.room_network):
        yield "room.network", network
    if not settings.room_git and _NO_GIT.search(f"{kind}: {text}"):
        yield "room.git", "true"


def _variables(kind: str, text: str, lost: frozenset[str]) -> Iterator[str]:
    if kind == "KeyError":
        yield from {text.strip("'\"")} & lost
    elif not kind or _ABOUT_VARIABLES.search(text):
        yield from (name for name in sorted(lost) if _names(text, name))


def _names(text: str, name: str) -> bool:
    """A name of one word may be a word of the text, and settings classes know a variable in small letters."""
    if "_" not in name.strip("_"):
        return False
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def _network(text: str, given: Network) -> Network | None:
    if given == "host":
        return None
    if any(sign in text for sign in _UNRESOLVED):
        return "host"
    if any(sign in text for sign in _OUT_OF_REACH):
        return "loopback" if given == "none" else "host"
    return None
