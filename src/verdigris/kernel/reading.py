"""Questions about a file that its language answers: Python's by the core, others' by a grammar."""

from __future__ import annotations

from verdigris.core import rusttests
from verdigris.core.languages import PYTHON, RUST, language_of
from verdigris.core.sametree import same_python_tree
from verdigris.core.stubs import StubFinding
from verdigris.core.stubs import only_stubs as only_python_stubs


def beyond_stubs(path: str, before: bytes | None, after: bytes) -> StubFinding | None:
    """Where a change of source is more than stubs, and why; of Rust, tests among the source do not count."""
    language = language_of(path)
    if language in {PYTHON, None}:
        old = None if before is None else _text(before)
        if old is not None and same_python_tree(old, _text(after)):
            return None
        return only_python_stubs(old, _text(after))
    if language == RUST:
        before, after = (
            None if before is None else rusttests.without_tests(before),
            rusttests.without_tests(after),
        )
    from verdigris.kernel.grammar.stubs import only_stubs
    from verdigris.kernel.grammar.trees import grammar_of, same_tree

    if grammar_of(path) is None:
        return StubFinding(
            1, f"no grammar reads {path.rpartition('.')[2]} files here, so it counts as an edit"
        )
    if before is not None and same_tree(path, before, after):
        return None
    return only_stubs(path, before, after)


def is_read(path: str) -> bool:
    """Whether a grammar reads the file."""
    if language_of(path) in {PYTHON, None}:
        return False
    from verdigris.kernel.grammar.trees import grammar_of

    return grammar_of(path) is not None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
