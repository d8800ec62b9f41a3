"""What moves turns on: machine, cycle, loop, session, audit, corpus, fleet and demo."""

from __future__ import annotations
