"""How the tests of one variant ended, from the messages of its reporter."""

from __future__ import annotations

from typing import Any

_RANK = {"passed": 0, "skipped": 1, "failed": 2}


class Outcomes:
    def __init__(self, files: Any = ()) -> None:
        self._files = frozenset(files)
        self._test = ""
        self._status: dict[str, str] = {}
        self._ended: set[str] = set()
        self._places: dict[str, list[Any]] = {}
        self._stood: dict[str, set[int]] = {}
        self.why = ""

    def told(self) -> dict[str, Any]:
        """Of the tests that came to their end."""
        return {
            "outcomes": {i: status for i, status in self._status.items() if i in self._ended},
            "places": self._places,
            "stood": {i: sorted(numbers) for i, numbers in self._stood.items()},
        }

    def all_failed(self, at: dict[str, list[Any]]) -> bool:
        """Each of these functions ran, and every case failed in one of its places: `[path, from, to]`."""
        functions = {i: i if i in at else i.partition("[")[0] for i in self._ended}
        return at.keys() <= set(functions.values()) and all(
            self._status[i] == "failed" and self._failed_in(i, at.get(function, ()))
            for i, function in functions.items()
        )

    def _failed_in(self, test: str, at: Any) -> bool:
        return any(
            path == place[0] and first <= place[1] <= last
            for place in self._places.get(test, ())
            for path, first, last in at
        )

    def take(self, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "started":
            self._test = message["id"]
        elif kind == "stood":
            self._stood.setdefault(self._test, set()).add(int(message["probe"]))
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
