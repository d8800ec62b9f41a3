"""Pure decisions: functions from values to values, standard library only."""

from __future__ import annotations
