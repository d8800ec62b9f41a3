"""How the tests of one run ended, from the messages of its reporter."""

from __future__ import annotations

from typing import Any

_RANK = {"passed": 0, "skipped": 1, "failed": 2}


class Outcomes:
    def __init__(self, files: Any = ()) -> None:
        self._files = frozenset(files)
        self._status: dict[str, str] = {}
        self._ended: set[str] = set()
        self._places: dict[str, list[Any]] = {}
        self.lines: dict[str, list[int]] = {}
        """Executed lines per traced file."""
        self.ended = False
        self.why = ""

    def told(self) -> dict[str, Any]:
        """Of the tests that came to their end."""
        return {
            "outcomes": {i: status for i, status in self._status.items() if i in self._ended},
            "places": self._places,
        }

    def take(self, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "end":
            self.ended = True
        elif kind == "lines":
            self.lines[message["path"]] = message["lines"]
        elif kind == "collect-error":
            self.why = self.why or f"{message['path']} cannot be collected: {message['error']}"
        elif kind == "test":
            self._take_phase(message["id"], message)

    def _take_phase(self, test: str, message: dict[str, Any]) -> None:
        if message["outcome"] == "rerun":
            self._status.pop(test, None)
            return
        status = self._of(message)
        if _RANK[status] >= _RANK[self._status.get(test, "passed")]:
            self._status[test] = status
        if status == "failed":
            frames = (message.get("failure") or {}).get("frames", ())
            self._places[test] = [place for place in frames if place[0] in self._files]
        if message["phase"] == "teardown":
            self._ended.add(test)

    @staticmethod
    def _of(message: dict[str, Any]) -> str:
        """Only a failure from the call on says anything about an assertion; an xfail never does."""
        if "xfail" in message or (message["phase"] == "setup" and message["outcome"] == "failed"):
            return "skipped"
        return str(message["outcome"])
