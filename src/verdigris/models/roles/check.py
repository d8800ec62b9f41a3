"""Checks whether an answer can be carried out on this tree by this role."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from verdigris.core.value import field, value
from verdigris.models.roles import Role, find_team
from verdigris.models.roles.answer import Pin, RefusedAnswer, RoleAnswer, Say
from verdigris.models.roles.edit_faults import (
    find_nested,
    may_hold_tests,
    ownership_fault,
    path_fault,
    paths_of,
    plain,
    rule_fault,
    shape_fault,
    tree_fault,
)

if TYPE_CHECKING:
    from verdigris.models.roles.context import Material, Tree


MOST_EDITS = 40
MOST_CHARACTERS = 200_000
"""Of all contents together."""
_SUBJECT = 90
_TRAILER = re.compile(r"^\s*TDD-\w+\s*:", re.MULTILINE | re.IGNORECASE)
_FINDING = re.compile(r"(?P<path>[^\s:][^:]*):(?P<line>\d+)\s*(?:—|–|-+|:)\s*(?P<what>\S.*)", re.DOTALL)


@value
class EditPlan:
    role: Role
    type: str
    """Of the conventional commit."""
    subject: str
    rationale: str
    changes: Mapping[str, bytes | None] = field(default_factory=dict)
    """Path → its bytes afterwards; None deletes. What `turns.write.write` takes."""
    intents: tuple[tuple[str, str], ...] = ()
    """Path → what the change is for."""
    points: tuple[int, ...] = ()
    """Of the tester: the points of the kata that the test shows."""
    pin: Pin | None = None
    improvement: str = ""
    lesson: str = ""


@value
class RoleStop:
    """The role ends the step without an edit: a result, not a failure."""

    say: Say
    reason: str
    findings: tuple[str, ...] = ()
    """Of a validator."""
    changes: Mapping[str, bytes] = field(default_factory=dict)
    """Of a validator: tests that it wants held out, by their paths."""
    lesson: str = ""


def check(
    answer: RoleAnswer, role: Role, material: Material, known: frozenset[str], *, returned: bool = False
) -> EditPlan | RoleStop | RefusedAnswer:
    """`known`: files that the model has seen whole as they are. `returned`: the tester's test came back."""
    if answer.verdict is Say.TEST_IS_RIGHT and answer.verdict in role.stops and not returned:
        return RefusedAnswer(("The verdict test-is-right answers a test that came back, and none did.",))
    if role.judge == "validation":
        return _check_judgement(answer, role, material)
    if answer.verdict is not Say.EDIT:
        return _check_stop(answer, role)
    tree = material.tree
    reasons = [
        *_wording_faults(answer, role),
        *_amount_faults(answer),
        *_edit_faults(answer, role, material, tree),
        *_statement_faults(answer, role, returned=returned),
    ]
    written = [plain(edit.path) for edit in answer.edits if edit.content is not None]
    replaced = dict.fromkeys(path for path in written if tree.get(path) and path not in known)
    unseen = () if reasons else tuple(replaced)
    reasons += [f"{path}: you have not seen all of it, and `upsert` replaces all of it" for path in unseen]
    changes = {} if reasons else _changes(answer, tree)
    if not reasons and not changes:
        right = " If the test is right as it is, answer test-is-right." if returned else ""
        reasons.append(f"Every edit leaves its file as it is: nothing would change.{right}")
    if reasons:
        return RefusedAnswer(tuple(reasons), unseen)
    return _make_plan(answer, role, changes)


def _make_plan(answer: RoleAnswer, role: Role, changes: dict[str, bytes | None]) -> EditPlan:
    kind = answer.type if answer.type in role.commit_types else role.commit_types[0]
    intents = ((plain(edit.to or edit.path), _flat(edit.intent)) for edit in answer.edits)
    shown = tuple((path, intent) for path, intent in intents if path in changes and intent)
    points = tuple(sorted(frozenset(answer.points))) if role.judge == "red" else ()
    return EditPlan(
        role,
        kind,
        _subject(answer, role),
        answer.rationale.strip(),
        changes,
        shown,
        points,
        answer.pin,
        _flat(answer.improvement),
        _flat(answer.lesson),
    )


def _check_stop(answer: RoleAnswer, role: Role) -> RoleStop | RefusedAnswer:
    if answer.verdict not in role.stops:
        return RefusedAnswer((f"The {role} cannot give the verdict {answer.verdict}: {role.instead}.",))
    if answer.edits:
        return RefusedAnswer(
            (f"The verdict is {answer.verdict}, and there are edits: decide for one of them.",)
        )
    reason = answer.reason.strip() or answer.rationale.strip()
    if not reason:
        return RefusedAnswer((f"The verdict {answer.verdict} needs a `reason`.",))
    return RoleStop(answer.verdict, reason, lesson=_flat(answer.lesson))


def _check_judgement(answer: RoleAnswer, role: Role, material: Material) -> RoleStop | RefusedAnswer:
    """A verdict on what others wrote, with findings and perhaps tests to hold out; it edits nothing."""
    faults = tuple(_edit_faults(answer, role, material, material.tree)) if answer.edits else ()
    if faults and answer.verdict is Say.EDIT:
        return RefusedAnswer(faults)
    if answer.verdict not in role.stops:
        return RefusedAnswer((f"The {role} cannot give the verdict {answer.verdict}: {role.instead}.",))
    faults += tuple(filter(None, (_finding_fault(finding, material) for finding in answer.findings)))
    if answer.verdict is Say.PASS and answer.findings:
        faults += ("The verdict is PASS, and there are findings: decide for one of them.",)
    if answer.verdict is not Say.PASS and not answer.findings:
        faults += (f"The verdict {answer.verdict} needs `findings`, each as `file:line — what is wrong`.",)
    if faults:
        return RefusedAnswer(faults)
    tests = {path: data for path, data in _changes(answer, material.tree).items() if data is not None}
    findings = tuple(map(_flat, answer.findings))
    return RoleStop(answer.verdict, answer.reason.strip() or answer.rationale.strip(), findings, tests)


def _finding_fault(finding: str, material: Material) -> str | None:
    found = _FINDING.fullmatch(finding.strip())
    if found is None:
        return f"The finding {_quote(finding[:60])} is not of the form `file:line — what is wrong`."
    text = material.tree.get(plain(found["path"].strip()))
    if text is None or not 0 < int(found["line"]) <= len(text.splitlines()):
        return f"The finding {_quote(finding[:60])} names no line of a file of the project."
    return None


def _wording_faults(answer: RoleAnswer, role: Role) -> Iterator[str]:
    if not _subject(answer, role):
        yield "`subject` is empty: say in one line what the commit does."
    if not answer.rationale.strip():
        yield "`rationale` is empty: say why this change is made now."
    texts = (answer.subject, answer.rationale, *(edit.intent for edit in answer.edits))
    if any(_TRAILER.search(text) for text in texts):
        yield "A line of the wording begins with `TDD-…:`: the machine alone writes those."


def _statement_faults(answer: RoleAnswer, role: Role, *, returned: bool) -> Iterator[str]:
    """What a role has to state with its edits; a test that came back was stated before."""
    if "pin" in role.parts and not (returned and answer.pin is None):
        pin = answer.pin or Pin()
        empty = [name for name in ("target", "behaviour", "source") if not getattr(pin, name).strip()]
        empty += [] if any(map(str.strip, pin.assertions)) else ["assertions"]
        if empty:
            yield f"`pin` does not say {', '.join(empty)}: state what the test pins and by what source."
    if "improvement" in role.parts and not answer.improvement.strip():
        yield f"`improvement` is empty: name in a line what gets better, or {role.instead}."


def _amount_faults(answer: RoleAnswer) -> Iterator[str]:
    size = sum(len(edit.content or "") for edit in answer.edits)
    if not answer.edits:
        yield "The verdict is edit, and `edits` is empty."
    if len(answer.edits) > MOST_EDITS:
        yield f"There are {len(answer.edits)} edits, and a step has at most {MOST_EDITS}: take a smaller one."
    if size > MOST_CHARACTERS:
        yield f"The contents are {size} characters, at most {MOST_CHARACTERS} in a step: take a smaller one."


def _edit_faults(answer: RoleAnswer, role: Role, material: Material, tree: Tree) -> Iterator[str]:
    touched: set[str] = set()
    brief = find_team(role.driver).brief
    for edit in answer.edits:
        for path in paths_of(edit):
            fault = path_fault(path) or ownership_fault(path, material, brief)
            if fault is None and path in touched:
                fault = "it is named by more than one edit"
            touched.add(path)
            if fault:
                yield f"{_quote(path)}: {fault}."
                break
        else:
            fault = shape_fault(edit) or tree_fault(edit, tree) or rule_fault(edit, role, material, tree)
            if fault:
                yield f"{plain(edit.path)}: {fault}."
    yield from find_nested(answer)
    paths = [path for edit in answer.edits for path in paths_of(edit)]
    if role.judge == "red" and paths and not any(may_hold_tests(path, material) for path in paths):
        yield f"No test file is among the edits: the {role}'s step is a failing test."


def _changes(answer: RoleAnswer, tree: Tree) -> dict[str, bytes | None]:
    """Leaves out edits that leave a file as it is."""
    changes: dict[str, bytes | None] = {}
    for edit in answer.edits:
        path, old = plain(edit.path), tree.get(plain(edit.path))
        new = None if edit.content is None else _as_before(edit.content, old)
        match edit.action:
            case "delete":
                changes[path] = None
            case "move":
                changes[path] = None
                changes[plain(edit.to or "")] = (new if new is not None else old or "").encode()
            case "upsert" if new != old:
                changes[path] = (new or "").encode()
    return changes


def _as_before(content: str, old: str | None) -> str:
    """Gives the text the line ends that the file had, and one at the end: models are careless with both."""
    content = content.replace("\r\n", "\n")
    if content and not content.endswith("\n") and (not old or old.endswith("\n")):
        content += "\n"
    if old and "\r\n" in old and old.count("\r\n") == old.count("\n") and "\r" not in content:
        return content.replace("\n", "\r\n")
    return content


def _subject(answer: RoleAnswer, role: Role) -> str:
    """Takes off the type, where the subject begins with one of the driver's."""
    types = "|".join(find_team(role.driver).commit_types)
    typed = re.compile(rf"(?:{types})(?:\([^)]*\))?!?:\s*", re.IGNORECASE)
    subject = _flat(answer.subject)
    flat = typed.sub("", subject, count=1) if typed.match(subject) else subject
    return flat if len(flat) <= _SUBJECT else flat[: _SUBJECT - 1].rstrip() + "…"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _quote(path: str) -> str:
    return path if path and path.isprintable() else repr(path)
