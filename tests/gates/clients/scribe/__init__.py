"""A made-up coding agent, to show that a folder is all that a new one takes.

Its hook calls are JSON with words of its own; it is answered by a line: `yes`, `no: WHY` or `ask: WHAT`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdigris.core.records import Actor
from verdigris.gates.calls import HookAnswer, HookCall, Manner, Moment, Reply
from verdigris.gates.clients.registry import Hook, Surroundings
from verdigris.setup.doctor_checks import DoctorFinding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.storage.project import Project

MOMENTS = {
    "about to": Moment.BEFORE,
    "did": Moment.AFTER,
    "rests": Moment.STOP,
    "wakes": Moment.START,
    "hears": Moment.PROMPT,
}
MANNERS = {"scribble": Manner.WRITES, "peruse": Manner.READS, "mumble": Manner.OWN}
SETTINGS = ".scribe.json"


class Scribe:
    name = "scribe"
    title = "The Scribe"
    hooks = (Hook("about to", 20, closed=True), Hook("rests", 60, closed=False))

    def parse(self, raw: bytes, environment: Mapping[str, str]) -> HookCall:
        try:
            said: dict[str, Any] = json.loads(raw)
            moment = MOMENTS[said["when"]]
        except (ValueError, KeyError, TypeError, RecursionError):
            return HookCall(Moment.JUNK, fault="the Scribe's words are not understood")
        tool, where = said.get("deed", ""), said.get("scroll", "")
        text = str(said.get("ink", "")).encode()
        return HookCall(
            moment,
            actor=Actor("agent", said.get("who", ""), self.name),
            session=said.get("who", ""),
            cwd=said.get("desk", ""),
            tool=tool,
            manner=self.manner(tool),
            source=tool,
            writes={where: lambda _: text} if where else None,
            strings=(where,) if where else (),
            prompt=said.get("heard", ""),
        )

    def manner(self, tool: str) -> Manner:
        return MANNERS.get(tool, Manner.FOREIGN)

    def render(self, call: HookCall, reply: Reply) -> HookAnswer:
        match reply.kind:
            case "deny" | "send-back":
                return HookAnswer(0, f"no: {reply.text}\n")
            case "ask":
                return HookAnswer(0, f"ask: {reply.text}\n")
            case _:
                return HookAnswer(0, f"yes\n{reply.text}".rstrip() + "\n")

    def fault(self, call: HookCall, what: str, hint: str) -> HookAnswer:
        said = f"no: Verdigris cannot judge this call: {what} next: {hint}\n"
        return (
            HookAnswer(0, said)
            if call.moment in {Moment.STOP, Moment.START, Moment.PROMPT}
            else HookAnswer(2, said)
        )

    def start(self, call: HookCall, environment: Mapping[str, str]) -> str:
        return environment.get("SCRIBE_DESK") or call.cwd

    def surroundings(self, project: Project, environment: Mapping[str, str]) -> Surroundings:
        return Surroundings(confined=False, confinable=False, guarded=self.guarded(environment))

    def guarded(self, environment: Mapping[str, str]) -> tuple[Path, ...]:
        return (Path(environment.get("HOME", "/")) / SETTINGS,)

    def prefix(self, project: Project) -> str:
        return ""

    def confine(self, project: Project) -> None:
        """It has no shell."""

    def plan(self, *, team: bool = False) -> tuple[str, ...]:
        return (f"will write {SETTINGS}",)

    def install(self, project: Project, *, team: bool = False) -> tuple[str, ...]:
        wanted = json.dumps({"ask first": "tdd hook scribe"})
        path = project.root / SETTINGS
        if path.is_file() and path.read_text() == wanted:
            return ()
        path.write_text(wanted)
        return (SETTINGS,)

    def uninstall(self, project: Project) -> tuple[str, ...]:
        path = project.root / SETTINGS
        if not path.is_file():
            return ()
        path.unlink()
        return (SETTINGS,)

    def cycle_files(self) -> Mapping[str, str]:
        """It writes alone."""
        return {}

    def check(self, start: Path) -> DoctorFinding | None:
        connected = (start / SETTINGS).is_file()
        return DoctorFinding(self.name, "ok", "connected" if connected else "The Scribe is not connected")


CLIENT = Scribe()
