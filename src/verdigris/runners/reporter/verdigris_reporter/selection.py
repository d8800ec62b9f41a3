"""Which collected tests were asked for, by exact names."""

from __future__ import annotations

import re

_PARENTS = re.compile(r"/|::|\[")


class Selection:
    def __init__(self, wanted: list[str]) -> None:
        self.wanted = {entry if "::" in entry else entry.rstrip("/") for entry in wanted}
        self._everything = bool(self.wanted & {"", "."})

    def keeps(self, test_id: str) -> bool:
        """A folder, file or class stands for all that is in it, a parametrized function for its cases."""
        if self._everything or test_id in self.wanted:
            return True
        return any(test_id[: part.start()] in self.wanted for part in _PARENTS.finditer(test_id))
