"""The facts that the log records: one frozen value per type of event.

A new event is a new class in one of the three modules; its base registers it under its name in the log.
"""

from __future__ import annotations

from verdigris.core.events.drivers import *  # noqa: F403 - each of them declares events and nothing else
from verdigris.core.events.effects import *  # noqa: F403
from verdigris.core.events.turns import *  # noqa: F403
from verdigris.core.records import Announcement as Announcement
from verdigris.core.records import Event as Event
from verdigris.core.records import Outcome as Outcome
from verdigris.core.records import decode as decode
from verdigris.core.records import encode as encode
