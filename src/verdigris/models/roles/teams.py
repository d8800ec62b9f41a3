"""Six roles make up the teams of machine, cycle and loop; what each is told stands in `prompts/*.md`.

A role's page has a section for each driver that has the role: its task, what it may do instead, its guide.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.paths import PathClass
from verdigris.core.roles import NAMES
from verdigris.languages.registry import language_for
from verdigris.models.roles import Objection, Role, Team, read_prompts
from verdigris.models.roles.answer import Say
from verdigris.models.roles.edit_faults import plain

if TYPE_CHECKING:
    from collections.abc import Collection

    from verdigris.core.roles import RoleKind
    from verdigris.models.roles import Judge, Tree
    from verdigris.models.roles.answer import RoleEdit

_JUDGES: dict[RoleKind, Judge] = {
    "planner": "plan",
    "tester": "red",
    "validator": "validation",
    "coder": "settlement",
    "refactorer": "refactor",
    "optimizer": "refactor",
}
_COMMIT_TYPES: dict[RoleKind, tuple[str, ...]] = {
    "planner": ("docs",),
    "tester": ("test",),
    "validator": ("test",),
    "coder": ("feat", "fix"),
    "refactorer": ("refactor",),
    "optimizer": ("perf", "refactor"),
}


def _role(
    driver: str,
    kind: RoleKind,
    stops: Collection[Say],
    *parts: str,
    objections: Collection[tuple[PathClass, Objection]] = (),
) -> Role:
    names = NAMES[driver]
    order = tuple(names)
    task, instead, guide = re.split(r"\n(?:instead: |\n)", read_prompts(kind)[driver], maxsplit=2)
    return Role(
        names[kind],
        driver,
        guide=guide,
        task=task.removeprefix("task: "),
        instead=instead,
        commit_types=_COMMIT_TYPES[kind],
        next=names[order[(order.index(kind) + 1) % len(order)]],
        judge=_JUDGES[kind],
        stops=frozenset(stops),
        objections=tuple(objections),
        only_own=kind == "planner",
        parts=parts,
    )


def _team(driver: str, brief: str, *roles: Role) -> Team:
    page = read_prompts(driver)
    return Team(driver, page["before the roles"], page["after the roles"], roles, brief)


# -- what a role may not edit -----------------------------------------------------------------


def _only_stubs(edit: RoleEdit, tree: Tree) -> str | None:
    if edit.action != "upsert":
        return f"it is source, and the tester does not {edit.action} any"
    path = plain(edit.path)
    language = language_for(path)
    # Where tests stand in files of their own, and a grammar reads them, the gate alone tells stubs from code.
    if language is None or not language.traces or not language.reads_tests(path):
        return None
    before = tree.get(path)
    after = (edit.content or "").encode("utf-8", "surrogateescape")
    fault = language.beyond_stubs(
        path, None if before is None else before.encode("utf-8", "surrogateescape"), after
    )
    if fault is None:
        return None
    return (
        "it is source, where the tester may only add declarations marked STUB:TDD"
        f" (line {fault.line}: {fault.why})"
    )


def _only_upserts(name: str) -> Objection:
    """The kernel judges whether an upsert is only a stub."""
    return lambda edit, _: (
        None if edit.action == "upsert" else f"it is source, and the {name} does not {edit.action} any"
    )


def _never(why: str) -> Objection:
    return lambda _, __: why


def _no_deletion(why: str) -> Objection:
    return lambda edit, _: why if edit.action == "delete" else None


def _new_files(edit: RoleEdit, tree: Tree) -> str | None:
    if edit.action == "upsert" and plain(edit.path) not in tree:
        return None
    return "a test to be held out is a new file: name another"


_FROZEN = _never(
    "it belongs to the tests, which are frozen; if a test is wrong, answer with the verdict test-is-wrong"
)
_NOT_THE_IMPLEMENTORS = _never(
    "it belongs to the tests, and the implementor changes nothing of them; if a test is wrong,"
    " answer with the verdict test-is-wrong"
)
_NOT_THIS_ROLES = _never(
    "it belongs to the tests, which are not this role's; if a test is wrong, say test-is-wrong"
)
_KEPT = _no_deletion("it is a test file, and every test is kept")
_NO_CODE = _never("the validator writes nothing but new tests to be held out")

# -- the teams --------------------------------------------------------------------------------

_KATA = {Say.TEST_IS_WRONG, Say.KATA_IS_WRONG}
MACHINE = _team(
    "machine",
    "kata",
    _role(
        "machine",
        "tester",
        _KATA | {Say.KATA_DONE, Say.TEST_IS_RIGHT},
        "points",
        objections=[(PathClass.SOURCE, _only_stubs)],
    ),
    _role("machine", "coder", _KATA, objections=[(PathClass.TEST, _NOT_THE_IMPLEMENTORS)]),
    _role(
        "machine",
        "refactorer",
        _KATA | {Say.NOTHING_TO_DO},
        objections=[(PathClass.TEST, _no_deletion("it is a test file, and a refactor keeps every test"))],
    ),
)
_SPEC = {Say.SPEC_IS_WRONG}
CYCLE = _team(
    "cycle",
    "spec",
    _role("cycle", "planner", _SPEC),
    _role("cycle", "tester", _SPEC, objections=[(PathClass.SOURCE, _only_upserts("test author"))]),
    _role(
        "cycle",
        "validator",
        {Say.PASS, Say.CONCERNS, Say.BLOCKER},
        "findings",
        objections=[
            (PathClass.TEST, _new_files),
            (PathClass.SOURCE, _NO_CODE),
            (PathClass.OTHER, _NO_CODE),
        ],
    ),
    _role("cycle", "coder", _SPEC | {Say.TEST_IS_WRONG}, objections=[(PathClass.TEST, _FROZEN)]),
)
_PROGRAM = {Say.PROGRAM_IS_WRONG}
LOOP = _team(
    "loop",
    "program",
    _role(
        "loop",
        "tester",
        _PROGRAM | {Say.NOTHING_TO_DO, Say.TEST_IS_RIGHT},
        "pin",
        objections=[(PathClass.SOURCE, _only_upserts("test writer")), (PathClass.TEST, _KEPT)],
    ),
    _role("loop", "coder", _PROGRAM | {Say.TEST_IS_WRONG}, objections=[(PathClass.TEST, _NOT_THIS_ROLES)]),
    _role(
        "loop",
        "refactorer",
        _PROGRAM | {Say.NOTHING_TO_DO},
        "improvement",
        "lesson",
        objections=[(PathClass.TEST, _KEPT)],
    ),
    _role(
        "loop",
        "optimizer",
        _PROGRAM | {Say.NOTHING_TO_DO},
        "improvement",
        "lesson",
        objections=[(PathClass.TEST, _NOT_THIS_ROLES)],
    ),
)
TEAMS = {team.driver: team for team in (MACHINE, CYCLE, LOOP)}
