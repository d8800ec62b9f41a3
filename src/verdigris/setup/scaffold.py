"""Plans what `tdd init --kata` adds to a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from verdigris.core.errors import HarnessError, NotARepository, ToolMissing, UserError
from verdigris.core.languages import DEFAULT_LANGUAGE
from verdigris.core.settings import Settings, Stack
from verdigris.core.value import replace, value
from verdigris.execution.tools.interpreter import find_interpreter
from verdigris.languages.folders import folders
from verdigris.languages.registry import language_named, readers
from verdigris.languages.starter import (
    FoundPython,
    Scaffolder,
    ScaffoldForm,
    project_name,
    says_nothing,
    title_of,
)
from verdigris.setup.detection import detect, name_of_language
from verdigris.storage.config import load, load_machine, render
from verdigris.storage.project import CONFIG
from verdigris.storage.repository import find_repository, read_plain

IGNORE = ".gitignore"


@value
class _Chosen:
    form: ScaffoldForm | None
    stacks: tuple[Stack, ...]
    before: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@value
class Scaffold:
    root: Path
    makes_repository: bool
    settings: Settings
    config: str | None
    """The new text of tdd.yaml; None if one exists, which stays."""
    files: Mapping[str, str]
    """Path → content of what is missing, in the order in which it is written."""
    project: bool
    """The files make a new project; else a kata is added to one that exists."""
    there: tuple[str, ...] = ()
    """Files that exist just as the scaffold would write them."""
    kept: tuple[str, ...] = ()
    """Files with names of the scaffold's that somebody else wrote."""
    kata: str = ""
    has_kata: bool = True
    """A kata was given, not only the placeholder."""
    before: tuple[str, ...] = ()
    """Commands for a person to run before the first test run."""
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        return bool(self.makes_repository or self.files or self.config is not None)


def plan_scaffold(cwd: Path, lang: str | None, kata: str | None) -> Scaffold | None:
    """None if there is nothing to scaffold: no kata is given, and no language for an empty folder."""
    cwd = cwd.resolve()
    if kata is None and (lang is None or not _is_new(cwd, name_of_language(lang))):
        return None
    root, has_repository = _root(cwd)
    found = read_kata(kata, cwd, root) if kata is not None else placeholder()
    chosen = _choose(root, lang, found)
    wanted = _wanted_files(chosen.form, found)
    missing = {path: text for path, text in wanted.items() if not os.path.lexists(root / path)}
    there = tuple(path for path, text in wanted.items() if path not in missing and _is(root / path, text))
    configured = os.path.lexists(root / CONFIG)
    content = render(Settings(stacks=chosen.stacks), found.path)
    ours = configured and _is(root / CONFIG, content)
    notes = chosen.notes
    if configured and load_machine(root).kata != found.path:
        told = f"`machine: {{kata_description: {found.path}}}`"
        notes = (*notes, f"tdd.yaml names another kata; for this one: {told}")
    return Scaffold(
        root,
        not has_repository,
        load(root).settings if configured else Settings(stacks=chosen.stacks),
        None if configured and not ours else content,
        missing,
        chosen.form is not None,
        there,
        tuple(path for path in wanted if path not in missing and path not in there),
        found.path,
        kata is not None,
        chosen.before,
        notes,
    )


def _is_new(folder: Path, language: str) -> bool:
    """Whether the folder is empty but for `.git`, or holds a scaffold that was interrupted."""
    there = {entry.name for entry in folder.iterdir()}
    if _scaffolder(language) is None or CONFIG in there:
        return False
    return there <= {".git"} or _language_begun(folder, language, placeholder()) is not None


def _root(cwd: Path) -> tuple[Path, bool]:
    """Where the scaffold goes, and whether a repository is there."""
    try:
        root = find_repository(cwd).root
    except NotARepository:
        if os.path.lexists(cwd / ".git") or cwd.name == ".git" or (cwd / "objects").is_dir():
            raise
        return cwd, False
    if root != cwd:
        raise UserError(
            f"{cwd} lies in the repository {root}, and a kata is set up at a repository's root.",
            hint="`git init` here first, for a repository of its own; or go to that root",
        )
    return root, True


def _choose(root: Path, lang: str | None, kata: Kata) -> _Chosen:
    """Chooses the scaffold, unless the folder has a project already; and the stacks."""
    language = name_of_language(lang) if lang else None
    known = detect(root)
    there = tuple(stack for stack in known.stacks if language in {None, stack.language})
    if begun := _language_begun(root, language, kata):
        others = tuple(stack for stack in there if stack.root != ".")
        return _make_choice(root, begun, kata, others)
    if there:
        return _Chosen(None, there, notes=tuple(f"left out: {note}" for note in known.notes))
    if known.notes and (language is None or _notes(root, language)):
        raise UserError("; ".join(known.notes) + ".", hint="then `tdd init --kata PATH` adds the rest")
    if language is None:
        note = f"no language is named or found, so it is {DEFAULT_LANGUAGE} (`--lang NAME`)"
        return replace(_make_choice(root, DEFAULT_LANGUAGE, kata), notes=(note,))
    if _scaffolder(language) is None:
        raise UserError(
            f"there is no scaffold for {language}; there is one for {', '.join(scaffold_languages())}.",
            hint="make the project with the tools of the language, then `tdd init --kata PATH` adds the rest",
        )
    return _make_choice(root, language, kata)


def find_python(root: Path) -> FoundPython | None:
    try:
        found = find_interpreter(root, root, None, os.environ)
    except ToolMissing:
        return None
    packages = None if found.places is None else tuple(map(str, found.places.packages))
    return FoundPython(found.path, found.how, packages)


def _language_begun(root: Path, language: str | None, kata: Kata) -> str | None:
    """The language whose manifest is there just as the scaffold writes it."""
    for each in scaffold_languages():
        if language in {None, each}:
            form = _form_of(root, each, kata)
            if _is(root / form.manifest, form.files[form.manifest]):
                return each
    return None


def scaffold_languages() -> tuple[str, ...]:
    """The languages that a project can be begun in."""
    return tuple(one.name for one in readers() if _scaffolder(one.name) is not None)


def _scaffolder(language: str) -> Scaffolder | None:
    starter = language_named(language).project.starter()
    return None if starter is None else starter.scaffolder


def _notes(root: Path, language: str) -> tuple[str, ...]:
    """The notes of the language's own detection."""
    reader, known = language_named(language), folders(root)
    found = (reader.project.detect(root, known, alone=True), reader.project.detect_bare(root, known))
    return tuple(note for one in found if one is not None for note in one.notes)


def _make_choice(root: Path, language: str, kata: Kata, others: tuple[Stack, ...] = ()) -> _Chosen:
    equipment = _known_scaffolder(language).equipment(root, partial(find_python, root))
    return _Chosen(_form_of(root, language, kata), (equipment.stack, *others), equipment.before)


def _form_of(root: Path, language: str, kata: Kata) -> ScaffoldForm:
    scaffolder = _known_scaffolder(language)
    title = " ".join(title_of(kata.text).split())
    name = project_name(title, root.name, taken=scaffolder.taken)
    return scaffolder.form(name, title or name)


def _known_scaffolder(language: str) -> Scaffolder:
    found = _scaffolder(language)
    if found is None:
        raise HarnessError(f"there is no scaffold for {language}")
    return found


def _wanted_files(form: ScaffoldForm | None, kata: Kata) -> dict[str, str]:
    """The manifest first: by it a scaffold that was begun is known again."""
    files = {} if form is None else {form.manifest: form.files[form.manifest], **form.files}
    ignored = {} if form is None else {IGNORE: "".join(f"{line}\n" for line in form.ignore)}
    return {**files, **ignored, **({kata.path: kata.text} if kata.copied else {})}


def _is(path: Path, text: str) -> bool:
    try:
        return read_plain(path) == text.encode()
    except OSError:
        return False


USUAL = "kata.md"
_PLACEHOLDER = Path(__file__).with_name("kata.md")
_MOST = 1_000_000


@value
class Kata:
    path: str
    """In the tree, from its root."""
    text: str
    copied: bool
    """It is not in the tree yet."""


def placeholder() -> Kata:
    return Kata(USUAL, _PLACEHOLDER.read_text("utf-8"), copied=True)


def read_kata(given: str, cwd: Path, root: Path) -> Kata:
    """Reads the kata; one in the tree is used where it is."""
    place = cwd / given
    text = _text(given, place)
    inside = _path_inside(place, root)
    if inside is not None:
        return Kata(inside, text, copied=False)
    there = root / USUAL
    if os.path.lexists(there) and not (_is(there, text) or _is(there, f"\ufeff{text}")):
        raise UserError(
            f"{USUAL} is there already, and it is another text than {given}.",
            hint=f"`tdd init --kata {USUAL}` takes the one that is there; or move it away first",
        )
    return Kata(USUAL, text, copied=True)


def _text(given: str, place: Path) -> str:
    if place.is_dir():
        raise UserError(f"the kata {given} is a folder.", hint="name the file that describes it")
    try:
        data = read_plain(place)
    except FileNotFoundError:
        raise UserError(
            f"there is no kata {given}.",
            hint="describe in that file what is to be built, then run `tdd init` again",
        ) from None
    except OSError as error:
        raise UserError(
            f"the kata {given} cannot be read: {error.strerror}.",
            hint="make the file readable, then run `tdd init` again",
        ) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UserError(
            f"the kata {given} is not a text file.", hint="it has to be a text in UTF-8, such as Markdown"
        )
    if len(text) > _MOST:
        raise UserError(
            f"the kata {given} has {len(text)} characters.", hint="shorten it: no model would read all of it"
        )
    if says_nothing(text):
        raise UserError(f"the kata {given} is empty.", hint="describe in it what is to be built")
    return text


def _path_inside(place: Path, root: Path) -> str | None:
    """Its path from the root, if it is a plain file of the tree with a printable name."""
    where = Path(os.path.normpath(place.absolute()))
    if place.is_symlink() or not where.is_relative_to(root):
        return None
    found = where.relative_to(root)
    named = found.as_posix().isprintable()
    return found.as_posix() if named and found.parts[0] != ".git" else None
