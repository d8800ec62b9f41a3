"""Writes specs: a draft in the format that a team uses, and the status of an existing one."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Literal

import yaml

from verdigris.core.value import value
from verdigris.drivers.specs.markdown import is_feature, read_page
from verdigris.drivers.specs.spec import STATUSES, read_spec, slug

Format = Literal["openspec", "spec-kit", "kiro", "bmad", "forgeplan", "feature"]
FORMATS: tuple[Format, ...] = ("forgeplan", "openspec", "kiro", "spec-kit", "bmad", "feature")
"""In the order in which they are looked for."""
DEFAULT: Format = "openspec"
HOMES: dict[Format, str] = {
    "forgeplan": ".forgeplan",
    "openspec": "openspec",
    "kiro": ".kiro",
    "spec-kit": ".specify",
    "bmad": "_bmad-output",
    "feature": "features",
}
"""The folder that shows that a team uses the format."""
_PLACES: dict[Format, str] = {
    "forgeplan": ".forgeplan/specs/{number}-{slug}.md",
    "openspec": "openspec/specs/{slug}/spec.md",
    "kiro": ".kiro/specs/{slug}/requirements.md",
    "spec-kit": "specs/{number}-{slug}/spec.md",
    "bmad": "_bmad-output/implementation-artifacts/{slug}.md",
    "feature": "features/{slug}.feature",
}
_TEMPLATES = Path(__file__).parent / "templates"


@value
class SpecDraft:
    path: str
    text: str


def make_draft(
    title: str, form: Format, taken: Collection[str], *, spec_id: str = "", parent: str = ""
) -> SpecDraft:
    """`known`: the repository's files. The draft goes to the format's folder if that exists."""
    title = " ".join(title.split())
    name = slug(title)
    has_home = any(path.startswith(f"{HOMES[form]}/") for path in taken)
    number = _next_number(form, taken) if has_home or form == "forgeplan" else ""
    spec_id = spec_id or (number if form == "forgeplan" else name)
    ending = "feature" if form == "feature" else "md"
    place = _PLACES[form] if has_home else f"specs/{{slug}}.{ending}"
    path = place.format(number=spec_id if form == "forgeplan" else number, slug=name)
    template = _TEMPLATES / ("gherkin.feature" if form == "feature" else f"{form}.md")
    return SpecDraft(
        path, _head(title, form, spec_id, parent) + template.read_text("utf-8").format(title=title)
    )


def _head(title: str, form: Format, spec_id: str, parent: str) -> str:
    if form == "feature":
        tags = f"@id:{spec_id} @draft" + (f" @prd:{parent}" if parent else "")
        return f"{tags}\n"
    pairs = {
        "id": spec_id,
        "title": title,
        **({"kind": "spec"} if form == "forgeplan" else {}),
        "status": "draft",
    }
    pairs |= {"prd": parent} if parent else {}
    lines = (f"{key}: {_quote(text)}" for key, text in pairs.items())
    return "\n".join(("---", *lines, "---", "", ""))


def _quote(text: str) -> str:
    """Quotes the text if YAML would read it as something else than a text."""
    try:
        return text if yaml.safe_load(text) == text else json.dumps(text, ensure_ascii=False)
    except (yaml.YAMLError, ValueError):
        return json.dumps(text, ensure_ascii=False)


def _next_number(form: Format, ids: Collection[str]) -> str:
    """Returns the next number that no file has: `SPEC-004` or `004`."""
    prefix = "SPEC-" if form == "forgeplan" else ""
    folder = ".forgeplan/specs/" if form == "forgeplan" else "specs/"
    taken = (re.match(rf"{re.escape(folder)}{prefix}(\d+)-", path) for path in ids)
    return f"{prefix}{max((int(match[1]) for match in taken if match), default=0) + 1:03}"


_PAIR = re.compile(
    rb"(?:[ \t]*[-*+][ \t]+)?(?:\*\*status[ \t]*:?\*\*[ \t:]*|status[ \t]*:[ \t]*)[\"'`*_]*(?P<word>[\w-]+)",
    re.IGNORECASE,
)


def with_status(path: str, data: bytes, status: str) -> bytes | None:
    """Returns the same bytes with another status; None if there is no place to write it."""
    changed = (
        _tag(data, status) if is_feature(path) and not path.endswith(".md") else _set_status(data, status)
    )
    return changed if read_spec(path, changed).status == status else None


def _set_status(data: bytes, status: str) -> bytes:
    lines = data.splitlines(keepends=True)
    page = read_page(data.decode("utf-8", "replace"))
    first = page.lines[0].number if page.lines else 1
    head_end = next((line.number for line in page.lines if line.level == 2), len(lines) + 1)  # noqa: PLR2004 - as `read_page`
    masked = {line.number for line in page.lines if not line.text.strip() or line.level}
    places = [n for n in range(1, min(head_end, len(lines) + 1)) if n not in masked]
    in_front = [n for n in places if n < first and lines[n - 1][:6].lower() == b"status"]
    for number in in_front or [n for n in places if n >= first]:
        match = _PAIR.match(lines[number - 1])
        if match:
            word = status.capitalize() if match["word"][:1].isupper() else status
            start, end = match.span("word")
            lines[number - 1] = lines[number - 1][:start] + word.encode() + lines[number - 1][end:]
            return b"".join(lines)
    return _insert_status(data, lines, page.blocks, status)


def _insert_status(data: bytes, lines: list[bytes], blocks: tuple[int, ...], status: str) -> bytes:
    ending = b"\r\n" if b"\r\n" in data else b"\n"
    pair = f"status: {status}".encode() + ending
    if blocks:
        lines.insert(blocks[0], pair)
        return b"".join(lines)
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    return mark + b"---" + ending + pair + b"---" + ending + data.removeprefix(mark)


_TAG = re.compile(rf"(?<!\S)@(?:{'|'.join(STATUSES)})(?!\S)".encode(), re.IGNORECASE)


def _tag(data: bytes, status: str) -> bytes:
    """Replaces the tag above the feature, or adds one; `Feature` may be a word of any language."""
    lines = data.splitlines(keepends=True)
    mark = b"\xef\xbb\xbf"
    for number, line in enumerate(lines):
        text = line.removeprefix(mark).strip()
        if text.startswith(b"@") and _TAG.search(line):
            lines[number] = _TAG.sub(f"@{status}".encode(), line, count=1)
            return b"".join(lines)
        if text and not text.startswith((b"#", b"@")):
            ending = b"\r\n" if line.endswith(b"\r\n") else b"\n"
            bare = line.removeprefix(mark)
            lines[number] = line[: len(line) - len(bare)] + f"@{status}".encode() + ending + bare
            return b"".join(lines)
    return data
