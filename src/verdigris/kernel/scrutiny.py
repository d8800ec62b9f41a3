"""What only a verdict asks of code that passes: is it honest code, and are the assertions live?"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from verdigris.core.concerns import concerns
from verdigris.core.liveness import Liveness, judge_liveness, plan
from verdigris.core.pathclass import PathClass
from verdigris.core.value import value
from verdigris.kernel import sandbox
from verdigris.kernel.calling import call
from verdigris.kernel.selection import by_stack
from verdigris.kernel.texts import texts_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.core.report import VariantOutcome
    from verdigris.kernel.observe import Difference
    from verdigris.kernel.project import Project

NO_SANDBOX = "liveness not tried: no sandbox can be made here"


@value
class Scrutiny:
    blocking: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()


def scrutinise(
    project: Project, start: str, tree: str, edits: Difference, claimed: Sequence[str]
) -> Scrutiny:
    """`claimed`: native ids."""
    tests = _test_texts(project, tree)
    blocking, noted = _static(project, start, tree, edits, tests)
    if project.settings.liveness:
        alive = _liveness(project, tests, claimed)
        blocking += alive.hollow
        noted += tuple(f"not shown to be live: {what}" for what in alive.unreached)
    return Scrutiny(blocking, noted)


def _static(
    project: Project, start: str, tree: str, edits: Difference, tests: dict[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    paths = [c.path for c in edits.source if c.path.endswith((".py", ".pyi"))]
    before, after = (texts_at(project, at, paths) for at in (start, tree))
    found = concerns({p: before.get(p) for p in paths}, {p: after.get(p) for p in paths}, tests)
    told = [(f"{c.path}:{c.line}: {c.kind}: {c.what}", c.blocks) for c in found]
    strict = project.settings.concerns == "block"
    return (
        tuple(text for text, blocks in told if blocks or strict),
        tuple(text for text, blocks in told if not (blocks or strict)),
    )


def _test_texts(project: Project, tree: str) -> dict[str, str]:
    files = (entry.path for entry in project.workspace.files(tree) if entry.path.endswith(".py"))
    return texts_at(project, tree, [path for path in files if project.classify(path) is PathClass.TEST])


def _liveness(project: Project, tests: dict[str, str], claimed: Sequence[str]) -> Liveness:
    """The claimed tests once more, and once for every change of an assertion, in a disposable tree."""
    hollow: list[str] = []
    unreached: list[str] = []
    for stack, names in by_stack(project.settings.stacks, claimed).items():
        made = plan(tests, names)
        if made.variants and not sandbox.available().ok:
            unreached.append(NO_SANDBOX)
            continue
        outcomes: tuple[VariantOutcome, ...] = ()
        if made.variants:
            with disposable(project) as confine:
                outcomes = call(project, stack, names, confine=confine, variants=made.variants).variants
        alive = judge_liveness(made, outcomes)
        hollow += alive.hollow
        unreached += alive.unreached
    return Liveness(tuple(hollow), tuple(unreached))


@contextmanager
def disposable(project: Project) -> Iterator[sandbox.Confinement]:
    """A tree in which whatever is written is forgotten."""
    place = sandbox.available().place
    with tempfile.TemporaryDirectory(prefix="tdd-room.", dir=place, ignore_cleanup_errors=True) as folder:
        for name in ("upper", "work", "own"):
            os.mkdir(f"{folder}/{name}")  # noqa: PTH102 - plain names, as the sandbox takes them
        confinement = sandbox.Confinement(
            root=str(project.root),
            upper=f"{folder}/upper",
            work=f"{folder}/work",
            writable=(f"{folder}/own",),
            network="host",
        )
        try:
            yield confinement
        finally:
            sandbox.discard(confinement)
