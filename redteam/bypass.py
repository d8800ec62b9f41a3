"""`make redteam`: tool calls against the gate in the green phase, scored by what they did.

Each call is first carried out unguarded: an attack that does no harm there is inert. Then it is put to the
hook, carried out as the client would where the hook lets it, and followed by the after-call hook.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redteam import bypass_project as project
from redteam.bypass_client import Done, carry_out, hooked, shell_prefix

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "redteam" / "bypass"
GATES = ("tdd", "allow-all", "deny-all")
LOG = ".git/tdd/events.jsonl"


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    attack: bool
    category: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Score:
    case: Case
    outcome: str
    """`defeated`, `inert` or `THROUGH`; `served` or `REFUSED`."""
    why: str = ""


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="tdd-bypass-") as name:
        place = Place(Path(name))
        scores = [place.score(case, options.gate) for case in _cases(options.bypass, place, options.only)]
    if not scores:
        print(f"no calls below {options.bypass}", file=sys.stderr)
        return 2
    for score in scores:
        print(f"{score.case.name:<34} {score.case.category:<18} {score.outcome:<9} {score.why[:110]}")
    print()
    for (category, outcome), count in sorted(Counter((s.case.category, s.outcome) for s in scores).items()):
        print(f"{category:<18} {outcome:<9} {count}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bypass", type=Path, default=DEFAULT, help="folder of the collection")
    parser.add_argument("--gate", choices=GATES, default="tdd", help="two controls beside the real one")
    parser.add_argument("--only", default="", help="names that contain this")
    return parser.parse_args()


def _cases(folder: Path, place: Place, only: str) -> list[Case]:
    return [case for file in sorted(folder.glob("*.json")) if only in (case := _case(file, place)).name]


def _case(file: Path, place: Place) -> Case:
    text = file.read_text().replace("/tmp/", f"{place.inputs}/")
    for mark, path in (("{ROOT}", str(place.root)), ("{CONTROL}", ".git/tdd"), ("{STATE}", ".git/tdd/head")):
        text = text.replace(mark, path)
    known = json.loads(text)
    return Case(known["name"], known["expect"] == "deny", known["category"], known["payload"])


class Place:
    """One folder for all cases: each finds the project anew under the same path."""

    def __init__(self, top: Path) -> None:
        self.root = top / "project"
        self.inputs = top / "inputs"
        self.template = top / "template"
        project.build(self.root)
        project.copy(self.root, self.template)

    def score(self, case: Case, gate: str) -> Score:
        self._fresh()
        before = self._files()
        bare = carry_out(self.root, case.payload, prefix=None)
        if not case.attack:
            changes = _changes(before, self._files())
            self._fresh()
            return self._served(case, gate, bare, changes)
        if not self._harm():
            return Score(case, "inert", "no harm is done unguarded")
        self._fresh()
        answer, _ = self._guarded(case, gate)
        harm = self._harm()
        return Score(case, "THROUGH" if harm else "defeated", "; ".join(harm) or answer)

    def _harm(self) -> list[str]:
        """What is not as the template has it of all that must be."""
        now, then = self._files(), _files(self.template)
        harm = [p for p in _changes(then, now) if _protected(p)]
        if not (_read(self.root / LOG) or b"").startswith((self.template / LOG).read_bytes()):
            harm.append("the log has not only grown")
        status = project.tdd(self.root, "status", "--json")
        try:
            phase = json.loads(status.stdout)["phase"]
        except (ValueError, KeyError):
            phase = f"unknown: {status.stderr.strip()}"
        return harm if phase == "green" else [*harm, f"phase {phase}"]

    def _served(self, case: Case, gate: str, bare: Done, changes: dict[str, bytes | None]) -> Score:
        before = self._files()
        answer, done = self._guarded(case, gate)
        if done is None:
            return Score(case, "REFUSED", answer)
        now = _changes(before, self._files())
        what = sorted(p for p in now.keys() | changes if _told(now.get(p)) != _told(changes.get(p)))
        if (done.code, _timeless(done.output)) != (bare.code, _timeless(bare.output)):
            what.append(f"exit {done.code} for {bare.code}: {done.output.strip()[-200:]!r}")
        return Score(case, "REFUSED" if what else "served", "; ".join(what))

    def _guarded(self, case: Case, gate: str) -> tuple[str, Done | None]:
        """How the gate answered, and what the client then did."""
        if gate == "deny-all":
            return "denied", None
        if gate == "allow-all":
            return "allowed", carry_out(self.root, case.payload, prefix=None)
        said = hooked(self.root, case.payload)
        if said.denied:
            return f"denied: {said.reason}", None
        payload = {**case.payload, "tool_input": said.input or case.payload["tool_input"]}
        done = carry_out(self.root, payload, prefix=shell_prefix(self.root))
        event = "PostToolUse" if done.code == 0 else "PostToolUseFailure"
        hooked(self.root, {**payload, "hook_event_name": event, "tool_response": {"stdout": done.output}})
        return "allowed", done

    def _fresh(self) -> None:
        project.inputs(self.inputs)
        project.copy(self.template, self.root)

    def _files(self) -> dict[str, bytes]:
        return _files(self.root)


def _files(root: Path) -> dict[str, bytes]:
    """Caches aside: a tool that cannot write one goes on without."""
    found: dict[str, bytes] = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not name.startswith((".git/", "t/")) and "__pycache__" not in name:
            found[name] = path.read_bytes()
    return {name: data for name, data in found.items() if not name.startswith(".pytest_cache/")}


def _changes(before: dict[str, bytes], after: dict[str, bytes]) -> dict[str, bytes | None]:
    return {p: after.get(p) for p in before.keys() | after if before.get(p) != after.get(p)}


def _protected(path: str) -> bool:
    name = path.rpartition("/")[2]
    return path.startswith(("tests/", ".claude/")) or path in project.ORACLE or name in project.CONFIGURES


def _told(data: bytes | None) -> str | None:
    return None if data is None else _timeless(data.decode(errors="replace"))


def _timeless(output: str) -> str:
    return re.sub(r"[0-9.]+m?s\b|[0-9a-f]{7,}|\d\d:\d\d(:\d\d)?", "_", output)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


if __name__ == "__main__":
    sys.exit(main())
