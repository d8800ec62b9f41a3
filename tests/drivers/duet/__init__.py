"""A made-up driver of two roles, to show that data in one folder is all that new roles take."""

from __future__ import annotations

from verdigris.core.paths import PathClass
from verdigris.core.settings import DriverSettings, key, section
from verdigris.models.roles import Role, Team
from verdigris.models.roles.answer import Say
from verdigris.storage.config.drivers import DriverSection

STOPS = frozenset({Say.TEST_IS_WRONG})
TREBLE = Role(
    "treble",
    "duet",
    guide="THE TREBLE sings a failing test.",
    task="Sing a test.",
    instead="sing a test, or answer test-is-wrong",
    commit_types=("test",),
    next="bass",
    judge="red",
    stops=STOPS,
    objections=((PathClass.SOURCE, lambda *_: "the treble sings tests alone"),),
)
BASS = Role(
    "bass",
    "duet",
    guide="THE BASS makes it sound.",
    task="Make it sound.",
    instead="make it sound, or answer test-is-wrong",
    commit_types=("feat",),
    next="treble",
    judge="settlement",
    stops=STOPS,
    objections=((PathClass.TEST, lambda *_: "the bass sings no tests"),),
)
TEAM = Team("duet", "Two voices take turns.", "EITHER may stop.", (TREBLE, BASS))


@section("duet")
class DuetSettings(DriverSettings):
    bars: int = key(default=8, least=1)
    """How many bars they sing."""


SECTION = DriverSection("duet", DuetSettings, roles=("treble", "bass"))
