"""Surroundings that honest code may not depend on, and others that take their place in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from verdigris.core.value import field, replace, value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Protocol, TypeVar

    T = TypeVar("T")

    class Lot(Protocol):
        def choice(self, seq: Sequence[T], /) -> T: ...


Part = Literal[
    "hash-seed", "zone", "locale", "terminal", "user", "files", "home", "host-name", "layout", "asserts"
]
PARTS: tuple[Part, ...] = get_args(Part)
"""Another home may hide files, too: these come first."""
DESCRIPTIONS: Mapping[Part, str] = {
    "hash-seed": "this hash seed (PYTHONHASHSEED), by which a process orders its sets",
    "zone": "this time zone, or on this day (TZ)",
    "locale": "this locale (LANG, LC_*)",
    "terminal": "this terminal (COLUMNS, LINES, TERM, SHELL, CI, NO_COLOR, FORCE_COLOR)",
    "user": "this user's name (USER, LOGNAME)",
    "home": "these paths of HOME and of the temporary folder",
    "host-name": "this machine's name",
    "files": "files outside the worktree, the toolchain and the system",
    "layout": "the comments and the lines of the source's text",
    "asserts": "`assert` statements of the source, which `python -O` leaves out",
}
_TERMINAL = ("COLUMNS", "LINES", "SHELL", "CI", "NO_COLOR", "FORCE_COLOR")
_SEEDS = range(1, 2**32)
NAMES = ("mira", "tove", "ines", "juno", "petra")
_HOST = "localhost"
"""The one other name that every machine can resolve."""


@value
class Surroundings:
    """How the surroundings of a run differ from the usual ones of a room."""

    env: Mapping[str, str] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()
    """Variables that are not set."""
    home: str = ""
    """Where the run finds its HOME; it has then the usual temporary folder, as a user's own run has."""
    host: str = ""
    alone: bool = False
    """Whether nothing is there besides the worktree, what its tools need, and the system."""

    def apply(self, variables: Mapping[str, str], given: Sequence[str]) -> dict[str, str]:
        """`given`: the entries of `room.env`, which have the last word."""
        fixed = {entry.partition("=")[0] for entry in given}
        changed = {name: text for name, text in variables.items() if name not in self.dropped - fixed}
        return changed | {name: text for name, text in self.env.items() if name not in fixed}


@value
class Caller:
    """What is known of the machine, and of who calls."""

    environ: Mapping[str, str]
    day: int
    """The day of the month there now."""
    zones: Mapping[str, int]
    """Time zones that can be set, each with the day that it has now."""
    locales: Sequence[str] = ()
    names: Sequence[str] = NAMES
    """Names that a user can have here."""
    homes: str = "/tmp"  # noqa: S108 - a room has its own
    """The folder in which homes are."""


def draw_surroundings(lot: Lot, caller: Caller, parts: Collection[Part]) -> dict[Part, Surroundings]:
    """Draws how each of the parts differs.

    What the caller has not set stays unset: then it is no more than most callers have.
    """
    environ = caller.environ
    name = lot.choice([name for name in caller.names if name != environ.get("USER")])
    zones = [zone for zone, day in caller.zones.items() if day != caller.day] or [*caller.zones]
    spoken = environ.get("LC_ALL") or environ.get("LANG", "")
    locales = [locale for locale in caller.locales if locale != spoken]
    spelled = {one for one in environ if one.startswith("LC_")} | {"LANG", "LANGUAGE"}
    term = {"TERM": "vt100" if environ["TERM"] != "vt100" else "xterm"} if environ.get("TERM") else {}
    drawn: dict[Part, Surroundings] = {
        "hash-seed": Surroundings({"PYTHONHASHSEED": str(lot.choice(_SEEDS))}),
        "zone": Surroundings({"TZ": lot.choice(zones)} if zones else {}),
        "locale": Surroundings({"LANG": lot.choice(locales)} if locales else {}, frozenset(spelled)),
        "terminal": Surroundings(term, frozenset(_TERMINAL)),
        "user": Surroundings({one: name for one in ("USER", "LOGNAME") if one in environ}),
        "home": Surroundings(home=f"{caller.homes}/{name}"),
        "host-name": Surroundings(host=_HOST),
        "files": Surroundings(alone=True),
    }
    return {part: around for part, around in drawn.items() if part in parts}


def merge_surroundings(several: Iterable[Surroundings]) -> Surroundings:
    merged = Surroundings()
    for one in several:
        merged = replace(
            merged,
            env={**merged.env, **one.env},
            dropped=merged.dropped | (one.dropped - one.env.keys()),
            home=one.home or merged.home,
            host=one.host or merged.host,
            alone=merged.alone or one.alone,
        )
    return merged
