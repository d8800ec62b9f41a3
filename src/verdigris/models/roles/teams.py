"""Six roles make up the teams of machine, cycle and loop; what each is told stands in `prompts/*.md`.

A role's page has a section for each driver that has the role: its task, what it may do instead, its guide.
"""

from __future__ import annotations

import re

from verdigris.core.paths import PathClass
from verdigris.core.roles import NAMES, RoleKind
from verdigris.core.value import value
from verdigris.languages.registry import language_for
from verdigris.models.roles import Judge, Objection, Role, Team, Tree, read_prompts
from verdigris.models.roles.answer import RoleEdit, Say
from verdigris.models.roles.check import plain

_KINDS: dict[RoleKind, tuple[Judge, tuple[str, ...]]] = {
    "planner": ("plan", ("docs",)),
    "tester": ("red", ("test",)),
    "validator": ("validation", ("test",)),
    "coder": ("settlement", ("feat", "fix")),
    "refactorer": ("refactor", ("refactor",)),
    "optimizer": ("refactor", ("perf", "refactor")),
}
"""Which verdict ends a role's step, and the types of its commits."""


@value
class _Own:
    """What a driver adds to a role."""

    stops: frozenset[Say] = frozenset()
    """Besides those of all its roles."""
    parts: tuple[str, ...] = ()
    objections: tuple[tuple[PathClass, Objection], ...] = ()


def _team(driver: str, brief: str, always: Say, **roles: _Own) -> Team:
    """`always`: the verdict that what is to be built is wrong, which every role may give that edits."""
    page, names = read_prompts(driver), NAMES[driver]
    order = tuple(names.values())
    made = []
    for kind, name in names.items():
        task, instead, guide = re.split(r"\n(?:instead: |\n)", read_prompts(kind)[driver], maxsplit=2)
        judge, commit_types = _KINDS[kind]
        own = roles.get(kind, _Own())
        made.append(
            Role(
                name,
                driver,
                guide=guide,
                task=task.removeprefix("task: "),
                instead=instead,
                commit_types=commit_types,
                next=order[(order.index(name) + 1) % len(order)],
                judge=judge,
                stops=own.stops if judge == "validation" else own.stops | {always},
                objections=own.objections,
                only_own=kind == "planner",
                parts=own.parts,
            )
        )
    return Team(driver, page["before the roles"], page["after the roles"], tuple(made), brief)


# -- what a role may not edit -----------------------------------------------------------------


def _only_stubs(edit: RoleEdit, tree: Tree) -> str | None:
    if edit.action != "upsert":
        return f"it is source, and the tester does not {edit.action} any"
    path = plain(edit.path)
    language = language_for(path)
    # Where tests stand in files of their own, and a grammar reads them, the gate alone tells stubs from code.
    if language is None or not language.traces or not language.tests.reads(path):
        return None
    before = tree.get(path)
    after = (edit.content or "").encode("utf-8", "surrogateescape")
    fault = language.stubs.beyond_stubs(
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

_WRONG, _RIGHT, _NOTHING = (
    frozenset({say}) for say in (Say.TEST_IS_WRONG, Say.TEST_IS_RIGHT, Say.NOTHING_TO_DO)
)
MACHINE = _team(
    "machine",
    "kata",
    Say.KATA_IS_WRONG,
    tester=_Own(_WRONG | _RIGHT | {Say.KATA_DONE}, ("points",), ((PathClass.SOURCE, _only_stubs),)),
    coder=_Own(_WRONG, objections=((PathClass.TEST, _NOT_THE_IMPLEMENTORS),)),
    refactorer=_Own(
        _WRONG | _NOTHING,
        objections=((PathClass.TEST, _no_deletion("it is a test file, and a refactor keeps every test")),),
    ),
)
CYCLE = _team(
    "cycle",
    "spec",
    Say.SPEC_IS_WRONG,
    tester=_Own(objections=((PathClass.SOURCE, _only_upserts("test author")),)),
    validator=_Own(
        frozenset({Say.PASS, Say.CONCERNS, Say.BLOCKER}),
        ("findings",),
        ((PathClass.TEST, _new_files), (PathClass.SOURCE, _NO_CODE), (PathClass.OTHER, _NO_CODE)),
    ),
    coder=_Own(_WRONG, objections=((PathClass.TEST, _FROZEN),)),
)
LOOP = _team(
    "loop",
    "program",
    Say.PROGRAM_IS_WRONG,
    tester=_Own(
        _RIGHT | _NOTHING,
        ("pin",),
        ((PathClass.SOURCE, _only_upserts("test writer")), (PathClass.TEST, _KEPT)),
    ),
    coder=_Own(_WRONG, objections=((PathClass.TEST, _NOT_THIS_ROLES),)),
    refactorer=_Own(_NOTHING, ("improvement", "lesson"), ((PathClass.TEST, _KEPT),)),
    optimizer=_Own(_NOTHING, ("improvement", "lesson"), ((PathClass.TEST, _NOT_THIS_ROLES),)),
)
TEAMS = {team.driver: team for team in (MACHINE, CYCLE, LOOP)}
