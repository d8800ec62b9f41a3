"""Resolves the words after `tdd test` to ids, and finds the stack of each.

Has a call for tests as a value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from verdigris.core.errors import UnknownTest, UserError
from verdigris.core.languages import has_tests_in_source, language_of, suffixes_of
from verdigris.core.paths import PathClass
from verdigris.core.report import Status
from verdigris.core.settings import Stack
from verdigris.core.state import WorktreeState
from verdigris.core.test_ids import MARK, function_of, named_tests, nearest, split_id
from verdigris.core.value import replace, value
from verdigris.execution.process import Finished
from verdigris.execution.room import Layer
from verdigris.runners.protocol import Progress, RunnerAnswer, RunnerCall, TestRequest
from verdigris.storage.paths import canonical
from verdigris.storage.project import Project, text_of


@value
class TestCall:
    __test__ = False

    project: Project
    stack: Stack
    request: TestRequest
    layer: Layer | None = None
    """The tree that the run sees; None: the worktree's own."""
    progress: Progress | None = None
    bare: bool = False
    """Whether it runs without a room, as the user would run it, to compare."""

    @property
    def timeout(self) -> float:
        return self.request.timeout or self.project.settings.timeout

    @property
    def feedback(self) -> bool:
        """Whether it is no verdict and runs on the worktree as it is: then a resident may make the run."""
        plain = not (self.layer or self.bare or self.request.trace) and self.request.sources is None
        return self.project.settings.warm and plain

    def place_request(self, report_folder: str) -> TestRequest:
        """The request, completed with all that a runner must know about the place."""
        return replace(
            self.request,
            worktree=str(self.project.root),
            stack_root="" if self.stack.root == "." else self.stack.root,
            report_folder=report_folder,
            extra=(*self.stack.test_command, *self.request.extra),
        )


def answer_of(call: RunnerCall, finished: Finished) -> RunnerAnswer:
    """The answer of a finished process, from which a runner makes its report.

    The caller adds the lines of a channel and the report files.
    """
    return RunnerAnswer(
        call=call,
        exit_code=finished.exit_code,
        timed_out=finished.timed_out,
        duration_ms=finished.duration_ms,
        output=finished.output,
    )


_GO_BELOW = "/..."
"""Go's notation for a folder with all that is below it. Every folder has that meaning here."""
_SLUG = re.compile(r"[A-Za-z0-9][\w.-]*")


def resolve(project: Project, words: Sequence[str], *, cwd: Path) -> tuple[str, ...]:
    """Resolves words to native ids and paths, relative to the worktree's root."""
    return tuple(_native_id(project, word.replace(" > ", " › "), cwd) for word in words)


def _native_id(project: Project, word: str, cwd: Path) -> str:
    word = word.removesuffix(_GO_BELOW)
    path = split_id(word).path
    found = _existing_path(project, path, cwd)
    if found is not None:
        return found + word[len(path) :]
    if native := _from_bare_name(project, word):
        return native
    if language_of(path) is None and (native := _from_slug(project, word)):
        return native
    raise UnknownTest(
        f"there is no {path} here, so no test {word!r}.", hint=_offer(word, _test_files(project))
    )


def _existing_path(project: Project, path: str, cwd: Path) -> str | None:
    """The path relative to the user's folder; if nothing is there, relative to the worktree, like ids."""
    for base in (cwd, project.root):
        if (base / path).exists():
            found = canonical(project.root, path, cwd=base).path
            if found is None:
                raise UserError(f"{path} lies outside this repository.", hint="name a test inside it")
            return found or "."
    return None


def _from_bare_name(project: Project, word: str) -> str | None:
    """Looks for a test of this name among those that were seen last: collecting tests would take too long."""
    state = project.state()
    known = {*(red.native_id for red in state.reds.values()), *(baseline_ids(project, state) or ())}
    functions = {function_of(i) if word not in i else i for i in named_tests(word, known)}
    if len(functions) > 1:
        raise UnknownTest(
            f"{word!r} is the name of {len(functions)} tests.", hint=" or ".join(sorted(functions)[:3])
        )
    return next(iter(functions), None)


def _from_slug(project: Project, word: str) -> str | None:
    """Resolves a slug, or a slug with one of its cases; None if the word can only be a path."""
    from verdigris.languages.registry import reader_of
    from verdigris.languages.tests import marks, refuse_duplicates

    slug = _SLUG.match(word)
    name, case = (slug[0], word[slug.end() :]) if slug else ("", word)
    texts = _annotated_files(project)
    refuse_duplicates(texts)
    known = {mark.slug: (path, mark) for path, text in texts.items() for mark in marks(path, text)}
    if name in known:
        return reader_of(known[name][0]).ids.native_id(*known[name], case)
    if "::" in word or "/" in word:
        return None
    raise UnknownTest(f"no test has the id {word!r}.", hint=_offer(word, [*known, *_test_files(project)]))


def _annotated_files(project: Project) -> dict[str, str]:
    """The files that may contain annotations; some languages have tests in source files too."""
    paths = (*_test_files(project), *filter(has_tests_in_source, _files(project, PathClass.SOURCE)))
    texts = {path: text_of(project, path) for path in paths}
    return {path: text for path, text in texts.items() if text is not None and MARK in text}


def _test_files(project: Project) -> Iterator[str]:
    yield from _files(project, PathClass.TEST)


def _files(project: Project, cls: PathClass) -> Iterator[str]:
    for entry in project.workspace.files(project.workspace.snapshot()):
        if language_of(entry.path) is not None and project.classify(entry.path) is cls:
            yield entry.path


def _offer(word: str, known: Iterable[str]) -> str:
    close = nearest(word, known)
    return f"did you mean {', '.join(close)}?" if close else "`tdd test` without a name runs all"


def by_stack(stacks: Sequence[Stack], natives: Sequence[str]) -> dict[Stack, tuple[str, ...]]:
    """Groups ids by the stack that runs their file; a folder belongs to all stacks with tests in it."""
    chosen: dict[Stack, list[str]] = {}
    for native in natives:
        path = split_id(native).path
        if language_of(path) is None and path == native:
            for stack, name in _stacks_below(stacks, path):
                chosen.setdefault(stack, []).append(name)
        else:
            chosen.setdefault(stack_of(stacks, path), []).append(native)
    return {stack: tuple(names) for stack, names in chosen.items()}


def stack_of(stacks: Sequence[Stack], path: str) -> Stack:
    """The innermost stack that contains the file; one of the file's language if there is one."""
    holding = [stack for stack in stacks if _holds(stack, path)]
    if not holding:
        raise UserError(f"{path} belongs to no stack of tdd.yaml.", hint="add its folder as a stack")
    speaking = [stack for stack in holding if path.endswith(suffixes_of(stack.language))]
    return max(speaking or holding, key=lambda stack: len(stack.root))


def _stacks_below(stacks: Sequence[Stack], folder: str) -> Iterator[tuple[Stack, str]]:
    """The stacks inside a folder, and the innermost one around it, each with the path to run."""
    inside = [s for s in stacks if s.root != folder and (folder == "." or s.root.startswith(f"{folder}/"))]
    yield from ((stack, stack.root) for stack in inside)
    holding = [stack for stack in stacks if stack not in inside and _holds(stack, folder)]
    innermost = max((len(stack.root) for stack in holding), default=0)
    yield from ((stack, folder) for stack in holding if len(stack.root) == innermost)
    if not holding and not inside:
        stack_of(stacks, folder)


def _holds(stack: Stack, path: str) -> bool:
    return stack.root in {".", "", path} or path.startswith(stack.root.rstrip("/") + "/")


def baseline_ids(project: Project, state: WorktreeState) -> frozenset[str] | None:
    """The ids that passed in the last run of the whole suite; None if there was none."""
    if state.baseline is None:
        return None
    data = project.workspace.blob_bytes(state.baseline.record)
    if data is None:
        return None
    return frozenset(i for i, status in json.loads(data).items() if status == Status.PASS)
