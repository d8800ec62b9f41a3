"""What the words after `tdd test` mean: ids, slugs, files and folders, each in the stack that runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import UnknownTest, UserError
from verdigris.core.pathclass import PathClass
from verdigris.core.testids import annotated, nearest, refuse_duplicates, split_id
from verdigris.kernel.paths import canonical
from verdigris.kernel.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from verdigris.core.settings import Stack
    from verdigris.kernel.project import Project


def resolve(project: Project, words: Sequence[str], *, cwd: Path) -> tuple[str, ...]:
    """Native ids and paths relative to the worktree's root."""
    return tuple(_native(project, word, cwd) for word in words)


def _native(project: Project, word: str, cwd: Path) -> str:
    path = split_id(word).path
    found = _existing(project, path, cwd)
    if found is not None:
        return found + word[len(path) :]
    if "::" not in word and "/" not in word and not word.endswith(".py"):
        return _from_slug(project, word)
    raise UnknownTest(
        f"there is no {path} here, so no test {word!r}.", hint=_offer(word, _test_files(project))
    )


def _existing(project: Project, path: str, cwd: Path) -> str | None:
    """Relative to where the user stands, else to the worktree's root, as ids are printed."""
    for base in (cwd, project.root):
        if (base / path).exists():
            found = canonical(project.root, path, cwd=base).path
            if found is None:
                raise UserError(f"{path} lies outside this repository.", hint="name a test inside it")
            return found or "."
    return None


def _from_slug(project: Project, word: str) -> str:
    name, bracket, case = word.partition("[")
    known = slugs(project)
    if name not in known:
        raise UnknownTest(f"no test has the id {word!r}.", hint=_offer(word, [*known, *_test_files(project)]))
    return f"{known[name]}{bracket}{case}"


def slugs(project: Project) -> dict[str, str]:
    """Every annotation in the test files, with the native id of its function."""
    texts = {path: text_of(project, path) for path in _test_files(project)}
    marked = {path: text for path, text in texts.items() if text is not None and "@tdd-id" in text}
    refuse_duplicates(marked)
    return {
        annotation.slug: f"{path}::{name}"
        for path, text in marked.items()
        for name, annotation in annotated(text).items()
    }


def _test_files(project: Project) -> Iterator[str]:
    tree = project.workspace.snapshot()
    for entry in project.workspace.files(tree):
        if entry.path.endswith(".py") and project.classify(entry.path) is PathClass.TEST:
            yield entry.path


def _offer(word: str, known: Iterable[str]) -> str:
    close = nearest(word, known)
    return f"did you mean {', '.join(close)}?" if close else "`tdd test` without a name runs all"


def by_stack(stacks: Sequence[Stack], natives: Sequence[str]) -> dict[Stack, tuple[str, ...]]:
    """Each id goes to the innermost stack that holds its file."""
    chosen: dict[Stack, list[str]] = {}
    for native in natives:
        holding = [s for s in stacks if s.root in {".", ""} or native.startswith(s.root.rstrip("/") + "/")]
        if not holding:
            raise UserError(f"{native} belongs to no stack of tdd.yaml.", hint="add its folder as a stack")
        chosen.setdefault(max(holding, key=lambda s: len(s.root)), []).append(native)
    return {stack: tuple(names) for stack, names in chosen.items()}
