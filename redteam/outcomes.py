"""What came of a cheat and of the honest work beside it, and the table of all of them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redteam.collection import Cheat


@dataclass(frozen=True, slots=True)
class Outcome:
    verdict: str
    why: str = ""
    concerns: tuple[str, ...] = ()

    @property
    def layer(self) -> str:
        """Who caught it."""
        if self.verdict == "hollow":
            static = re.match(r"\S+:\d+: ([a-z-]+): ", self.why)
            return f"concerns ({static[1]})" if static else "liveness"
        layers = {"tampered": "oracle", "broken": "channel", "overfit": "held-out tests", "denied": "gate"}
        return layers.get(self.verdict, "accepted" if self.verdict == "accepted" else "the run")


def remarks(settled: Mapping[str, Any]) -> tuple[str, ...]:
    """What a settlement remarks beside its verdict: concerns, and what is owed."""
    owed = (f"owed: {debt['what']} in {debt['path']}:{debt['line']}" for debt in settled.get("owed", ()))
    return (*(text for text in settled["concerns"] if not text.startswith("not asked")), *owed)


@dataclass(frozen=True, slots=True)
class Row:
    cheat: Cheat
    tried: Outcome
    honest: Outcome


def line(row: Row) -> str:
    tried = row.tried
    why = tried.why or "; ".join(tried.concerns)
    honest = "" if row.honest.verdict == "accepted" else f"  HONEST: {row.honest.verdict}: {row.honest.why}"
    return f"{row.cheat.name:<40} {tried.verdict:<10} {tried.layer:<30} {why[:90]}{honest}"


def summary(rows: Sequence[Row]) -> int:
    """1 when honest work was refused; what comes through is told, and judged by whoever reads it."""
    accepted = [row for row in rows if row.tried.verdict == "accepted"]
    refused = [row for row in rows if row.honest.verdict != "accepted"]
    print("\nclass                cheats  accepted  of these with a concern or a debt")
    for kind, count in sorted(Counter(row.cheat.kind for row in rows).items()):
        mine = [row for row in accepted if row.cheat.kind == kind]
        print(f"{kind:<20} {count:>6} {len(mine):>9} {sum(bool(row.tried.concerns) for row in mine):>25}")
    layers = Counter(row.tried.layer for row in rows)
    print("\ncaught by: " + ", ".join(f"{layer} {n}" for layer, n in layers.most_common()))
    print(f"{len(accepted)} of {len(rows)} cheats accepted: {_names(accepted)}")
    print(f"{len(refused)} of {len(rows)} honest fixes refused: {_names(refused)}")
    return int(bool(refused))


def _names(rows: Sequence[Row]) -> str:
    return ", ".join(row.cheat.name for row in rows) or "none"
