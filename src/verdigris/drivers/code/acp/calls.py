"""A tool call as an editor sees it: its kind, where it reads or writes, and what it changed on the disk."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from acp import schema
from acp.helpers import start_tool_call, text_block, tool_content, tool_diff_content, update_tool_call

from verdigris.drivers.code.tools.edit_formats import BadPatch, read_patch
from verdigris.drivers.code.tools.table import EDITING, arguments_of, describe_arguments
from verdigris.models.roles.context import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from acp.schema import ToolKind

    from verdigris.drivers.code.tools.workbench import Workbench

Content: TypeAlias = schema.ContentToolCallContent | schema.FileEditToolCallContent
_KINDS: Mapping[str, ToolKind] = {
    "read_file": "read",
    "list_files": "search",
    "search": "search",
    **dict.fromkeys(sorted(EDITING), "edit"),
    **dict.fromkeys(("run_tests", "refactor_end", "shell"), "execute"),
    **dict.fromkeys(("submit_plan", "revise_plan", "mark_step"), "think"),
}
_PLACE = re.compile(r"(?P<path>[^:]+)(?::(?P<line>\d+))?")


@dataclass
class ShownCall:
    name: str
    tool: str
    arguments: str
    """JSON, perhaps broken."""
    bench: Workbench
    before: dict[str, str | None] = field(default_factory=dict)
    """Path → text before the call, of the files that it is about to write; None: there was none."""

    @property
    def kind(self) -> ToolKind:
        return _KINDS.get(self.tool, "other")

    @property
    def given(self) -> dict[str, Any]:
        return arguments_of(self.arguments)

    @property
    def title(self) -> str:
        return f"{self.tool} {describe_arguments(self.arguments)}".strip()

    # -- where --------------------------------------------------------------------------------

    def locations(self, lines: Mapping[str, int] | None = None) -> list[schema.ToolCallLocation]:
        """The files, with the line where it begins; `lines`: those of the edits."""
        root, places = self.bench.project.root, dict(self._read_places())
        places |= {path: (lines or {}).get(path) for path in self._edited()}
        return [schema.ToolCallLocation(path=str(root / path), line=line) for path, line in places.items()]

    def _edited(self) -> tuple[str, ...]:
        """The paths that an edit names, as far as they lie inside."""
        if self.tool == "apply_patch":
            patches = read_patch(str(self.given.get("patch", "")))
            named = () if isinstance(patches, BadPatch) else patches
            spelled = [name for patch in named for name in (patch.path, patch.move_to) if name]
        else:
            spelled = [str(self.given.get("path", ""))] if self.tool in EDITING else []
        located = (self.bench.locate(each) for each in dict.fromkeys(filter(None, spelled)))
        return tuple(path for path in located if isinstance(path, str))

    def _read_places(self) -> Iterator[tuple[str, int | None]]:
        """Where it reads, or what it runs: `FILE`, `FILE:LINE` or a test id."""
        given, ids = self.given, self.given.get("ids")
        spelled = [given.get("place"), *(ids if isinstance(ids, list) else ())]
        if self.tool not in EDITING and given.get("path"):
            spelled.append(f"{given['path']}:{given.get('first', 1)}")
        for found in filter(None, (_PLACE.match(str(each)) for each in spelled if each)):
            path = self.bench.locate(found["path"])
            if isinstance(path, str) and (self.bench.project.root / path).is_file():
                yield path, int(found["line"]) if found["line"] else None

    # -- what it changes ----------------------------------------------------------------------

    def look_before(self) -> None:
        self.before = {path: self._text(path) for path in self._edited()}

    def _text(self, path: str) -> str | None:
        data = self.bench.read_bytes(path)
        return None if data is None else as_text(data)

    def _diffs(self) -> dict[str, schema.FileEditToolCallContent]:
        """By what lies on the disk now: an edit is told after the kernel has accepted and made it."""
        scrub, root = self.bench.scrub, self.bench.project.root
        found = {}
        for path, old in self.before.items():
            if (new := self._text(path)) != old:
                shown = None if old is None else scrub(old)
                found[path] = tool_diff_content(str(root / path), scrub(new or ""), shown)
        return found

    def proposal(self) -> list[Content]:
        """What an edit is to change, in the model's words: for whoever has to say yes."""
        if self.tool == "apply_patch":
            return [tool_content(text_block(fence(str(self.given.get("patch", "")))))]
        old, new = self.given.get("search"), self.given.get("replace", self.given.get("content", ""))
        root = self.bench.project.root
        return [
            tool_diff_content(str(root / path), str(new), None if old is None else str(old))
            for path in self._edited()
        ]

    # -- as updates ---------------------------------------------------------------------------

    def started(self) -> schema.ToolCallStart:
        where, given = self.locations(), self.given
        return start_tool_call(
            self.name, self.title, kind=self.kind, status="pending", locations=where, raw_input=given
        )

    def ended(self, text: str, *, well: bool) -> schema.ToolCallProgress:
        diffs = self._diffs() if well else {}
        content: list[Content] = [*diffs.values(), tool_content(text_block(fence(text)))]
        lines = {path: _first_change(diff) for path, diff in diffs.items()}
        status: schema.ToolCallStatus = "completed" if well else "failed"
        where = self.locations(lines) if diffs else None
        return update_tool_call(self.name, status=status, content=content, locations=where)


def _first_change(diff: schema.FileEditToolCallContent) -> int:
    old, new = (diff.old_text or "").splitlines(), diff.new_text.splitlines()
    changed = (at for at, (was, now) in enumerate(zip(old, new, strict=False), 1) if was != now)
    return next(changed, min(len(old), len(new)) + 1)


def fence(text: str) -> str:
    """As it is, where an editor would read it as Markdown."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    marks = "`" * (longest + 1)
    return f"{marks}\n{text}\n{marks}"
