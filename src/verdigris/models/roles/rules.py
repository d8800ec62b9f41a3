"""What the law lets each role touch, said before anything is written; the kernel decides it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.languages import PYTHON, RUST, language_of
from verdigris.core.pathclass import PathClass
from verdigris.languages.python.stubs import only_stubs
from verdigris.models.roles.paths import plain
from verdigris.models.roles.role import Role

if TYPE_CHECKING:
    from verdigris.models.roles.material import Material, Tree
    from verdigris.models.roles.plan import Edit


def rule_fault(edit: Edit, role: Role, material: Material, tree: Tree) -> str | None:
    paths = (plain(path) for path in (edit.path, edit.to) if path is not None)
    classes = frozenset(map(material.classify, paths))
    if PathClass.SPEC in classes:
        return "it is specification, and no role changes it"
    match role:
        case Role.IMPLEMENTOR if PathClass.TEST in classes:
            return (
                "it belongs to the tests, and the implementor changes nothing of them; if a test is wrong,"
                " answer with the verdict test-is-wrong"
            )
        case Role.TESTER if PathClass.SOURCE in classes:
            return _tester_in_source(edit, tree)
        case Role.REFACTORER if PathClass.TEST in classes and edit.action == "delete":
            return "it is a test file, and a refactor keeps every test"
    return None


def may_hold_tests(path: str, material: Material) -> bool:
    """Rust has tests inside its source files."""
    return material.classify(path) is PathClass.TEST or language_of(path) == RUST


def _tester_in_source(edit: Edit, tree: Tree) -> str | None:
    if edit.action != "upsert":
        return f"it is source, and the tester does not {edit.action} any"
    path = plain(edit.path)
    if language_of(path) != PYTHON or not path.endswith(".py"):
        return None
    fault = only_stubs(tree.get(path), edit.content or "")
    if fault is None:
        return None
    return (
        "it is source, where the tester may only add declarations marked STUB:TDD"
        f" (line {fault.line}: {fault.why})"
    )
