"""Which red a source edit claims by implication, and what is said where there is none, or no single one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.actions import Allow, Decision, Deny
from verdigris.core.languages import GO, JVM, NODE, PYTHON, RUST, language_of
from verdigris.core.reds import without_parents
from verdigris.core.sametree import same_python_tree
from verdigris.core.shown import typed
from verdigris.core.stubmarks import MARK
from verdigris.core.stubs import only_stubs
from verdigris.core.stubtext import stub_of_edit
from verdigris.core.testids import split_id

if TYPE_CHECKING:
    from verdigris.core.actions import FileWrite
    from verdigris.core.state import WorktreeState

RED_FIRST = "red-first"


def beyond_stubs(file: FileWrite, after: bytes) -> str:
    if file.beyond_stubs is not None:
        return file.beyond_stubs
    before = None if file.before is None else file.before.decode("utf-8", "surrogateescape")
    text = after.decode("utf-8", "surrogateescape")
    if before is not None and same_python_tree(before, text):
        return ""
    found = only_stubs(before, text)
    return "" if found is None else f"line {found.line}: {found.why}"


def about_stubs(denial: Deny, file: FileWrite) -> Deny:
    """Said to who tried one, and where a test may not run before all that it names is declared."""
    if denial.rule != RED_FIRST or file.after is None:
        return denial
    reason, following = denial.reason, denial.next
    if MARK.encode() in file.after and MARK.encode() not in (file.before or b""):
        reason += f" More than a stub: {beyond_stubs(file, file.after)}."
    if way := _declaring(language_of(file.path or "")):
        following += f"; {way}"
    if language_of(file.path or "") == PYTHON and (stub := stub_of_edit(file.before or b"", file.after)):
        following += f"; as a stub: `{stub}`"
    return Deny(denial.rule, reason, following)


def _declaring(language: str | None) -> str:
    """How a test comes by the names without which it does not load."""
    if language in {PYTHON, NODE, RUST, GO}:
        return f"`tdd stub ID` declares what it needs to load, with bodies that fail, marked {MARK}"
    if language in {*JVM, "csharp", "swift"}:
        return (
            f"no grammar tells stubs in {language} from code, so what it needs to compile is a person's to "
            "declare: `tdd off --why WHY`, then `tdd on`"
        )
    return ""


def implied_claim(state: WorktreeState, edited: str = "") -> Decision:
    """An edit of `edited` claims every valid red when all of them lie in one file."""
    reds = without_parents(state.valid_reds)
    files = {split_id(red.native_id).path for red in reds}
    match len(files):
        case 0:
            return Deny(
                RED_FIRST,
                "No source edit without a test that is red now.",
                "write one failing test, run `tdd test ID`, then `tdd claim ID PATH`",
            )
        case 1:
            return Allow(claims=reds)
        case _:
            last = max(reds, key=lambda red: red.seq)
            return Deny(
                "which-red",
                f"{len(reds)} tests are red in {len(files)} files; the edit must say which it advances.",
                f"`tdd claim {typed(last.test_id, edited or 'PATH')}`",
            )
