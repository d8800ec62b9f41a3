"""A repository with accepted turns, and the files of an export from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.turns import CALC, MUL, SUB, SUB_ID, TEST_SUB, World, make_world
from verdigris.drivers.corpus.export import Exported, ExportOptions, export_corpus, gather
from verdigris.drivers.corpus.triple import Author, CommitPatches, RedProof, Triple

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.drivers.corpus.contents import CorpusContents

MUL_ID = "tests/test_mul.py::test_mul"
TEST_MUL = "import calc\n\n\ndef test_mul():\n    assert calc.mul(2, 3) == 6\n"


def make_proven_world(root: Path) -> World:
    """Two turns: `sub` is committed, `mul` is not."""
    world = make_world(root)
    prove_sub(world)
    world.repo.commit("sub")
    world.write("tests/test_mul.py", TEST_MUL)
    world.claimed(MUL_ID)
    world.write("calc.py", CALC + SUB + MUL)
    assert world.settle().verdict.accepted
    return world


def prove_sub(world: World) -> None:
    world.test()
    world.write("tests/test_sub.py", TEST_SUB)
    world.claimed(SUB_ID)
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.accepted


def gather_triples(world: World, folder: Path) -> CorpusContents:
    return gather(world.root, ExportOptions("triples", folder))


def export(world: World, folder: Path, form: str = "triples", **more: object) -> Exported:
    return export_corpus(world.root, ExportOptions(form, folder, **more))  # type: ignore[arg-type]


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def made_triple(name: str = "one", **changes: object) -> Triple:
    """A made-up triple, for code that only reads it."""
    given: dict[str, object] = {
        "id": f"ada__calc-{name}",
        "task": f"ada__calc-{name}",
        "repository": "ada/calc",
        "origin": "log:7",
        "statement": "Subtract.",
        "base_commit": "c" * 40,
        "base_tree": "b" * 40,
        "red_tree": "r" * 40,
        "green_tree": "e" * 40,
        "reds": (RedProof(SUB_ID, "AttributeError", "tests/test_sub.py:5", "no attribute 'sub'"),),
        "passing": ("tests/test_add.py::test_add",),
        "test_patch": "diff --git a/tests/test_sub.py b/tests/test_sub.py\n+import calc\n",
        "patch": "diff --git a/calc.py b/calc.py\n+def sub(a, b):\n",
        "against_commit": CommitPatches("diff --git a/t b/t\n+t\n", "diff --git a/s b/s\n+s\n"),
        "verdict": "accepted",
        "liveness": "live",
        "weakening": (),
        "concerns": (),
        "environment": "f" * 40,
        "language": "python",
        "runner": "pytest",
        "author": Author("agent", "claude", "s1"),
        "created": "2026-11-16T12:00:00+00:00",
    }
    return Triple(**{**given, **changes})  # type: ignore[arg-type]
