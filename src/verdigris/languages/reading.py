"""Questions about a file that its language answers: Python's by the core, others' by a grammar."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.languages import PYTHON, RUST, language_of
from verdigris.core.pathclass import PathClass
from verdigris.languages.oraclepart import is_mixed, same_oracle_part
from verdigris.languages.python.sametree import same_python_tree
from verdigris.languages.python.stubs import StubFinding
from verdigris.languages.python.stubs import only_stubs as only_python_stubs
from verdigris.languages.python.stubtext import stub_of_edit
from verdigris.languages.rust import rusttests

if TYPE_CHECKING:
    from verdigris.core.actions import FileWrite
    from verdigris.languages.grammar.stubs import Forms


def beyond_stubs(path: str, before: bytes | None, after: bytes) -> StubFinding | None:
    """Where a change of source is more than stubs, and why; of Rust, tests among the source do not count."""
    language = language_of(path)
    if language == RUST:
        before, after = (
            None if before is None else rusttests.without_tests(before),
            rusttests.without_tests(after),
        )
    if before is not None and is_same_tree(path, before, after):
        return None
    if language in {PYTHON, None}:
        return only_python_stubs(None if before is None else _text(before), _text(after))
    from verdigris.languages.grammar.stubs import only_stubs

    if not is_read(path):
        return StubFinding(
            1, f"no grammar reads {path.rpartition('.')[2]} files here, so it counts as an edit"
        )
    return only_stubs(_forms(path), path, before, after)


def _forms(path: str) -> Forms:
    from verdigris.languages.grammar.trees import grammar_of

    match grammar_of(path):
        case "rust":
            from verdigris.languages.rust.stubs import RustForms

            return RustForms()
        case "go":
            from verdigris.languages.go.stubs import GoForms

            return GoForms()
        case _:
            from verdigris.languages.node.stubs import NodeForms

            return NodeForms()


def is_same_tree(path: str, before: bytes, after: bytes) -> bool:
    """Whether comments and layout are all that differs; False where nobody can read the language."""
    if language_of(path) in {PYTHON, None}:
        return same_python_tree(_text(before), _text(after))
    from verdigris.languages.grammar.trees import grammar_of, same_tree

    return grammar_of(path) is not None and same_tree(path, before, after)


def is_read(path: str) -> bool:
    """Whether a grammar reads the file."""
    if language_of(path) in {PYTHON, None}:
        return False
    from verdigris.languages.grammar.trees import grammar_of

    return grammar_of(path) is not None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def with_facts(file: FileWrite) -> FileWrite:
    """The write with what its language tells of it: more than stubs? a change of the oracle's part?"""
    path = file.path or file.spelling
    mixed = is_mixed(path, file.cls) and not same_oracle_part(path, file.before, file.after)
    file = replace(file, changes_oracle=mixed)
    if file.cls is not PathClass.SOURCE or file.after is None:
        return file
    found = beyond_stubs(path, file.before, file.after)
    return with_stub_facts(file, found)


def with_stub_facts(file: FileWrite, found: StubFinding | None) -> FileWrite:
    """`found`: where the change is more than stubs."""
    why = "" if found is None else f"line {found.line}: {found.why}"
    is_python = language_of(file.path or "") == PYTHON
    stub = stub_of_edit(file.before or b"", file.after or b"") if is_python else ""
    return replace(file, beyond_stubs=why, stub=stub)
