"""Finds the programs of a repository, lints them, and compiles the paths that a program may write."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from verdigris.core.actions import Deny
from verdigris.core.errors import ConfigError, UserError
from verdigris.core.paths import compile_glob
from verdigris.core.policy import bound_classes, deny_beyond
from verdigris.core.settings import Bounds
from verdigris.core.value import value
from verdigris.drivers.loop.program import Program, hide_held_out, read_program
from verdigris.languages.folders import literal_glob
from verdigris.storage.project import Project

FOLDER = ".autoloop"
PROGRAMS = f"{FOLDER}/programs"
_SINGLE = (f"{FOLDER}/program.md", "program.md")
"""Where a repository with a single program may have it."""
_CUSTOMIZE = re.compile(r"<CUSTOMIZE:[^>]*>?")
_UNCONFIGURED = re.compile(r"<!--\s*AUTOLOOP:UNCONFIGURED\s*-->")
_PLACEHOLDER = re.compile(r"\b(?:TODO|REPLACE)\b")
_DOMAIN = re.compile(r"^##\s+Domain knowledge\s*$(.*?)(?=^##\s|\Z)", re.IGNORECASE | re.MULTILINE | re.DOTALL)
_SYNCED = ("write-test.md", "make-green.md", "refactor.md")
"""Prompts whose sections "Domain knowledge" have to be equal."""
_STRATEGIES = Path(__file__).parent / "strategies"
STRATEGIES = ("test-driven", "ratchet")
_STAYS = "CUSTOMIZE.md"


@value
class FoundProgram:
    program: Program
    path: str
    """From the repository's root."""
    text: str
    strategies: Mapping[str, str]
    """By path, the texts below the program's `strategy/`. Without any, the program is a ratchet."""

    @property
    def name(self) -> str:
        return self.program.name

    @property
    def brief(self) -> str:
        """The text for all roles: the program without held-out inputs, and its playbook.

        A role's own prompt is part of its task instead.
        """
        playbooks = [text for path, text in self.strategies.items() if "/prompts/" not in path]
        return "\n\n".join((hide_held_out(self.text), *playbooks))

    @property
    def is_test_driven(self) -> bool:
        return bool(self.strategies)


@value
class ProgramFault:
    path: str
    line: int
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


def find_programs(root: Path, name: str = "") -> tuple[FoundProgram, ...]:
    """Lists all programs by name, or the one of this name.

    A folder's program comes before a file of the same name.
    """
    if name:
        return (find_program(root, name),)
    found: dict[str, FoundProgram] = {}
    for path, own in _places(root):
        if own not in found:
            found[own] = _read_found(root, path, own)
    return tuple(found[own] for own in sorted(found))


def find_program(root: Path, name: str) -> FoundProgram:
    known = {one.name: one for one in find_programs(root)}
    if name in known:
        return known[name]
    offer = f"there are {', '.join(known)}" if known else f"`tdd loop new {name}` makes one"
    raise UserError(f"there is no program {name}.", hint=offer)


def _places(root: Path) -> Iterator[tuple[str, str]]:
    folder = root / PROGRAMS
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if (path / "program.md").is_file():
                yield f"{PROGRAMS}/{path.name}/program.md", path.name
            elif path.suffix == ".md" and path.is_file():
                yield f"{PROGRAMS}/{path.name}", path.stem
    for single in _SINGLE:
        if (root / single).is_file():
            yield single, root.name
            return


def _read_found(root: Path, path: str, name: str) -> FoundProgram:
    text = (root / path).read_text("utf-8", "replace")
    folder = (root / path).parent / "strategy"
    own = path.endswith("/program.md") and path.startswith(PROGRAMS)
    files = sorted(folder.rglob("*.md")) if own and folder.is_dir() else []
    texts = {str(one.relative_to(root)): one.read_text("utf-8", "replace") for one in files}
    return FoundProgram(read_program(name, text), path, text, texts)


# -- lint -------------------------------------------------------------------------------------


def lint_program(found: FoundProgram, root: Path) -> tuple[ProgramFault, ...]:
    """Finds what keeps the program from running."""
    faults = [
        *_find_unfinished(found),
        *_missing_parts(found),
        *_unfit_paths(found, root),
        *_find_unsynced(found),
    ]
    return tuple(sorted(faults, key=lambda fault: (fault.path, fault.line)))


def _find_unfinished(found: FoundProgram) -> Iterator[ProgramFault]:
    for path, text in {found.path: found.text, **found.strategies}.items():
        for number, line in enumerate(text.splitlines(), 1):
            if mark := _CUSTOMIZE.search(line):
                yield ProgramFault(
                    path, number, f"{mark[0]} is still there", "write what it asks for in its place"
                )
            elif _UNCONFIGURED.search(line):
                yield ProgramFault(
                    path, number, "the program says that it is not configured", "remove the line"
                )
            elif path == found.path and (word := _PLACEHOLDER.search(line)):
                what = f"the placeholder {word[0]} is still there"
                yield ProgramFault(path, number, what, "write the text, or remove the word")


def _missing_parts(found: FoundProgram) -> Iterator[ProgramFault]:
    program, path = found.program, found.path
    if not program.goal:
        yield ProgramFault(path, 1, "there is no goal", "add `## Goal` and a sentence below it")
    if not program.evaluation:
        fix = "add `## Evaluation` with one fenced block: the command that prints the metric"
        yield ProgramFault(path, 1, "there is no evaluation command", fix)
    if program.evaluation_rules.held_out and not program.evaluation_rules.held_out_command:
        fix = "add `### Held-out` below `## Evaluation`, with the command that measures on them in a block"
        yield ProgramFault(path, _line_of("held-out", found), "no command measures the held-out inputs", fix)
    if not found.is_test_driven and not program.targets:
        fix = "add `## Target` with a list of the files that the loop may change"
        yield ProgramFault(path, 1, "it names no target", fix)
    pointer = program.strategy
    if pointer and not any(one.endswith(pointer) for one in found.strategies):
        fix = f"`tdd loop new NAME --strategy test-driven` shows how {pointer} looks"
        yield ProgramFault(path, 1, f"it points at {pointer}, which is not there", fix)


def _unfit_paths(found: FoundProgram, root: Path) -> Iterator[ProgramFault]:
    """Finds names that are no valid path, or that match no file."""
    program, rules = found.program, found.program.evaluation_rules
    for named in (*program.targets, *program.protected, *rules.evaluator, *rules.held_out):
        line = _line_of(named, found)
        try:
            compile_glob(named)
        except ConfigError as error:
            yield ProgramFault(found.path, line, error.message, error.hint or "correct the path")
            continue
        known = any(root.glob(named)) if set("*?[") & set(named) else (root / named.rstrip("/")).exists()
        if not known:
            yield ProgramFault(found.path, line, f"{named} does not exist", "make it, or correct the path")


def _line_of(words: str, found: FoundProgram) -> int:
    return next((n for n, said in enumerate(found.text.splitlines(), 1) if words in said), 1)


def _find_unsynced(found: FoundProgram) -> Iterator[ProgramFault]:
    blocks = {
        path: block[1].strip()
        for path, text in found.strategies.items()
        if path.rpartition("/")[2] in _SYNCED and (block := _DOMAIN.search(text))
    }
    if len(set(blocks.values())) > 1:
        first, *others = blocks
        for path in others:
            line = found.strategies[path][: found.strategies[path].find("Domain knowledge")].count("\n") + 1
            yield ProgramFault(
                path, line, f"its domain knowledge differs from {first}", "make the two the same"
            )


def new_program(root: Path, name: str, strategy: str) -> tuple[str, ...]:
    """Writes the files of a new program, and returns their paths. It changes no file that exists."""
    home = f"{PROGRAMS}/{name}"
    if not name or "/" in name or name.startswith("."):
        raise UserError(f"{name!r} is no name of a program.", hint="letters, digits, `-` and `_`")
    if (root / home).exists() or (root / f"{home}.md").exists():
        raise UserError(
            f"there is a program {name} already.", hint=f"`tdd loop lint {name}` says how it stands"
        )
    written = []
    for source in sorted((_STRATEGIES / strategy).rglob("*.md")):
        inside = source.relative_to(_STRATEGIES / strategy).as_posix()
        text = source.read_text("utf-8").replace("<CUSTOMIZE: the program's name>", name)
        shared = f"{FOLDER}/strategies/{strategy}/{inside}"
        places = [] if inside == "program.md" else [(shared, source.read_text("utf-8"))]
        if inside == "program.md":
            places.append((f"{home}/program.md", text))
        elif inside != _STAYS:
            places.append((f"{home}/strategy/{inside}", text))
        for place, content in places:
            path = root / place
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content, "utf-8")
                written.append(place)
    return tuple(written)


_OUTPUT = re.compile(r"\d?&?>{1,2}[|&]?\s*[\w./-]+")
"""A redirection: the file that a command writes is not part of the evaluator."""
_WORDS = re.compile(r"[\s;|&()<>\"'`$={}]+")
_MODULE = re.compile(r"-m\s+([\w.]+)")
_CHANGES_FOLDER = re.compile(r"\bcd\s+([\w./-]+)")


def bounds_of(found: FoundProgram, files: Collection[str]) -> Bounds:
    """`files`: the paths of the tree that the program starts from.

    A path that the program protects, or that measures it, is no target, even if the list names it.
    """
    program, rules = found.program, found.program.evaluation_rules
    targets = _any(program.targets)
    named = evaluator_files(found, frozenset(files))
    own = (
        rf"(?!{targets})(?:{compile_glob(FOLDER)}|{re.escape(found.path)}\Z)"
        if targets
        else _any((FOLDER, literal_glob(found.path)))
    )
    measuring = (*rules.evaluator, *rules.held_out, *map(literal_glob, named))
    return Bounds(
        program.name,
        "|".join(filter(None, (own, _any(measuring)))),
        _any(program.protected),
        targets,
        tests=found.is_test_driven,
        held_out=rules.held_out,
    )


def evaluator_files(found: FoundProgram, files: Collection[str]) -> tuple[str, ...]:
    """The files that the commands name, without targets: a command may run the code that it measures."""
    rules = found.program.evaluation_rules
    targets = _compile(_any(found.program.targets))
    named = (*named_files(found.program.evaluation, files), *named_files(rules.held_out_command, files))
    return tuple(path for path in dict.fromkeys(named) if targets is None or not targets.fullmatch(path))


def named_files(command: str, files: Collection[str]) -> Iterator[str]:
    """The files of the tree that a command names, also relative to a folder that it changes to."""
    folders = ("", *(found[1] for found in _CHANGES_FOLDER.finditer(command)))
    modules = (found[1].replace(".", "/") for found in _MODULE.finditer(command))
    spelled = (end for module in modules for end in (f"{module}.py", f"{module}/__main__.py"))
    for word in (*_WORDS.split(_OUTPUT.sub(" ", command)), *spelled):
        for folder in folders:
            path = posixpath.normpath(posixpath.join(folder, word)) if word else ""
            if path in files:
                yield path


def bind_project(project: Project, bounds: Bounds) -> Project:
    """Returns the project with the bounds: writes outside are denied, and no run sees held-out inputs."""
    settings = replace(project.settings, bounds=bounds)
    return replace(project, settings=settings, configured=bound_classes(project.configured, bounds))


def find_crossings(project: Project, before: str, after: str) -> tuple[Deny, ...]:
    """Denials for the changes of a tree that lie outside the bounds, whoever made them."""
    bounds = project.settings.bounds
    if bounds is None or before == after:
        return ()
    changed = (change.path for change in project.workspace.changes(before, after))
    found = (deny_beyond(bounds, path, project.classify(path)) for path in changed)
    return tuple(one for one in found if one is not None)


def withheld_paths(bounds: Bounds, files: Iterable[str]) -> frozenset[str]:
    """The files that no prompt may show (`Material.withheld`)."""
    held = _compile(_any(bounds.held_out))
    return frozenset() if held is None else frozenset(path for path in files if held.fullmatch(path))


def _any(globs: Iterable[str]) -> str:
    return "|".join(f"(?:{compile_glob(glob)})" for glob in globs)


def _compile(regex: str) -> re.Pattern[str] | None:
    return re.compile(regex, re.DOTALL) if regex else None
