"""The specs of a repository: finds tests and specs that cite one, sets its status, and replaces it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from verdigris.core.errors import UserError
from verdigris.core.languages import facts_of
from verdigris.core.value import value
from verdigris.drivers.specs.delta import (
    DeltaEntry,
    Requirement,
    StaleScenario,
    apply_delta,
    changed_spec,
    is_delta,
    level_body,
    make_delta,
    read_delta,
    render_delta,
    requirements,
    stale_scenarios,
)
from verdigris.drivers.specs.drafts import with_status
from verdigris.drivers.specs.markdown import is_feature, read_page
from verdigris.drivers.specs.spec import ACTIVE, DEPRECATED, DRAFT, SUPERSEDED, Spec, read_spec, slug
from verdigris.drivers.specs.spec_lint import SpecFault, base_path, lint_spec
from verdigris.languages.tests import SCENARIO, LooseMark, ScenarioMark, read_scenario_marks
from verdigris.storage.git import null_split, users_git
from verdigris.storage.repository import Repository

_RELATED = re.compile(r"related|links?|references|dependencies|parents?|supersedes", re.IGNORECASE)
_TEMPLATES = Path(__file__).parent / "templates"


@value
class Succession:
    delta: str
    """The path of the delta."""
    is_new: bool
    """The delta was made now, for a person to fill in."""
    stale: tuple[StaleScenario, ...]
    tests: tuple[ScenarioMark, ...]
    """Tests that carry a stale scenario."""
    related: tuple[str, ...]
    """Specs that name the old one."""


class SpecFiles:
    """The files that git lists in a worktree, also those that are not committed yet."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self.root: Path = repo.root

    @cached_property
    def paths(self) -> tuple[str, ...]:
        listed = users_git(self._repo).run("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        return tuple(sorted(set(null_split(listed))))

    def read(self, path: str) -> bytes:
        try:
            return (self.root / path).read_bytes()
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}", hint="name a spec file") from None

    def spec(self, path: str) -> Spec:
        return read_spec(path, self.read(path))

    def scenario_marks(self) -> tuple[tuple[ScenarioMark, ...], tuple[LooseMark, ...]]:
        """Returns the scenario marks in all files of code."""
        marks: list[ScenarioMark] = []
        loose: list[LooseMark] = []
        for path, data in self._contents(self.paths):
            if facts_of(path) is not None and SCENARIO.encode() in data:
                found = read_scenario_marks(path, data)
                marks += found.marks
                loose += found.loose
        return tuple(marks), tuple(loose)

    def related_paths(self, spec: Spec) -> tuple[str, ...]:
        """Returns specs that name this one in their metadata, or below a heading such as `Related`."""
        pages = (path for path in self.paths if path.endswith((".md", ".feature")) and path != spec.path)
        return tuple(path for path, data in self._contents(pages) if _names(_text(data), spec))

    def _contents(self, paths: Iterator[str] | tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
        for path in paths:
            with suppress(OSError):
                yield path, (self.root / path).read_bytes()

    def create(self, path: str, text: str) -> None:
        """Writes a new file; never overwrites one."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with file.open("x", encoding="utf-8", newline="") as stream:
                stream.write(text)
        except FileExistsError:
            raise UserError(
                f"{path} is there already.", hint="choose another name, or edit that file"
            ) from None
        self.__dict__.pop("paths", None)

    def set_status(self, path: str, status: str) -> Spec:
        changed = with_status(path, self.read(path), status)
        if changed is None:
            raise UserError(
                f"{path}: its status cannot be set.", hint=f"write `status: {status}` into its front matter"
            )
        _replace(self.root / path, changed)
        return read_spec(path, changed)

    def activate(self, path: str) -> tuple[Spec, tuple[SpecFault, ...]]:
        """Returns also the errors that keep the spec from being active; with any, nothing is written."""
        spec, text = self.spec(path), _text(self.read(path))
        if spec.status in {SUPERSEDED, DEPRECATED}:
            raise UserError(f"{spec.id} is {spec.status}.", hint="activate the spec that took its place")
        if is_delta(text):
            raise UserError(f"{path} is a delta.", hint="activate the spec that it makes")
        errors = tuple(fault for fault in lint_in(self.root, spec, text) if fault.level == "error")
        return (spec, errors) if errors or spec.status == ACTIVE else (self.set_status(path, ACTIVE), ())

    def supersede(self, path: str, to: str, by: str) -> Succession:
        """`to`: the new version; `by`: a delta that makes the new version if it is not there yet."""
        text = _text(self.read(path))
        old = self.spec(path)
        if is_delta(text) or is_feature(path):
            what = "a delta" if is_delta(text) else "Gherkin, which has no delta"
            raise UserError(f"{path} is {what}.", hint="name a spec in Markdown")
        delta = by or _delta_path(old)
        is_new = not (self.root / delta).is_file()
        if by:
            self._apply(old, text, by, to)
        elif to:
            self._compare(old, text, to, delta)
        elif is_new:
            self.create(delta, _render_head(old) + _render_template(old, text))
        entries = read_delta(_text(self.read(delta)))
        stale = stale_scenarios(old, self.spec(to) if to else changed_spec(old, text, entries), entries)
        ids = {s.scenario.id for s in stale}
        tests = tuple(m for m in self.scenario_marks()[0] if ids.intersection(m.scenarios))
        related = tuple(path for path in self.related_paths(old) if path not in {delta, to})
        if old.status != SUPERSEDED:
            self.set_status(path, SUPERSEDED)
        return Succession(delta, is_new, stale, tests, related)

    def _apply(self, old: Spec, text: str, delta: str, to: str) -> None:
        """Writes the new version; without a path for it, the delta is only checked."""
        data = self.read(delta)
        faults = lint_spec(read_spec(delta, data), _text(data), old, text)
        first = next((fault for fault in faults if fault.level == "error"), None)
        if first is not None:
            raise UserError(f"{delta}:{first.line}: {first.what}", hint=first.fix)
        if to:
            changed = with_status(to, apply_delta(text, old, read_delta(_text(data))).encode(), DRAFT)
            self.create(to, _text(changed or b""))

    def _compare(self, old: Spec, text: str, to: str, delta: str) -> None:
        entries = make_delta((old, text), (self.spec(to), _text(self.read(to))))
        if not entries:
            raise UserError(f"{to} asks for the same as {old.path}.", hint="change a requirement in it first")
        self.create(delta, _render_head(old) + render_delta(entries, _by_name(old, text)))


def lint_in(root: Path, spec: Spec, text: str) -> tuple[SpecFault, ...]:
    """Checks a spec; a delta is compared with the spec below `root` that it changes."""
    base = base_path(spec)
    if base is None or not (root / base).is_file():
        return lint_spec(spec, text)
    before = (root / base).read_bytes()
    return lint_spec(spec, text, read_spec(base, before), _text(before))


def _replace(file: Path, data: bytes) -> None:
    """Writes all of it or nothing, also after a kill; a link stays a link, and the mode stays."""
    target = file.resolve()
    fresh = target.with_name(f".{target.name}.new")
    fresh.write_bytes(data)
    shutil.copymode(target, fresh)
    fresh.replace(target)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _by_name(spec: Spec, text: str) -> dict[str, Requirement]:
    return {r.name: r for r in requirements(spec, text)}


def _render_head(old: Spec) -> str:
    return (_TEMPLATES / "delta-head.md").read_text("utf-8").format(id=old.id, path=old.path)


def _render_template(old: Spec, text: str) -> str:
    """Shows every requirement as it is; the author edits what follows AFTER, or takes the block out."""
    by_name = _by_name(old, text)
    same = [DeltaEntry("modified", r.name, r.first, body=level_body(r)) for r in by_name.values()]
    return (_TEMPLATES / "delta.md").read_text("utf-8").format(modified=render_delta(same, by_name))


def _delta_path(spec: Spec) -> str:
    """Returns a path in a change of OpenSpec if the spec is one of its own, else a file beside the spec."""
    match = re.fullmatch(r"((?:.*/)?openspec)/(specs/.+)", spec.path)
    if match:
        return f"{match[1]}/changes/supersede-{slug(spec.id)}/{match[2]}"
    return f"{spec.path.removesuffix('.md')}.delta.md"


def _names(text: str, spec: Spec) -> bool:
    """Whether the text names the spec, by its id as a whole word or by its path."""
    word = re.compile(rf"(?<![\w/-])(?:{re.escape(spec.id)}|{re.escape(spec.path)})(?![\w-])")
    page = read_page(text)
    if any(word.search(str(text)) for key, text in page.metadata.items() if key not in {"id", "title"}):
        return True
    section = False
    for line in page.lines:
        section = _RELATED.search(line.title) is not None if line.level else section
        if section and word.search(line.text):
            return True
    return False
