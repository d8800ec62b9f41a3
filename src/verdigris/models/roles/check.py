"""Checks whether an answer can be carried out on this tree by this role."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from verdigris.core.languages import has_tests_in_source
from verdigris.core.paths import PathClass
from verdigris.core.value import field, value
from verdigris.models.roles import Role, find_team
from verdigris.models.roles.answer import Pin, RefusedAnswer, RoleAnswer, RoleEdit, Say
from verdigris.models.roles.context import Material, Tree, secret

MOST_EDITS = 40
MOST_CHARACTERS = 200_000
"""Of all contents together."""
_SUBJECT = 90
_LONGEST = 240
"""Characters of a path."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
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
        for path in _paths_of(edit):
            fault = path_fault(path) or _ownership_fault(path, material, brief)
            if fault is None and path in touched:
                fault = "it is named by more than one edit"
            touched.add(path)
            if fault:
                yield f"{_quote(path)}: {fault}."
                break
        else:
            fault = _shape_fault(edit) or _tree_fault(edit, tree) or _rule_fault(edit, role, material, tree)
            if fault:
                yield f"{plain(edit.path)}: {fault}."
    yield from _find_nested(answer)
    paths = [path for edit in answer.edits for path in _paths_of(edit)]
    if role.judge == "red" and paths and not any(_may_hold_tests(path, material) for path in paths):
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


# -- one edit ---------------------------------------------------------------------------------


def plain(path: str) -> str:
    """Takes off a leading `./`, which is harmless."""
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path


def path_fault(path: str) -> str | None:
    """Why a spelling is no path of the project, whatever the project holds."""
    parts = path.split("/")
    if not path or path == ".":
        return "it names no file"
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:", path):
        return "it is not relative to the project's root"
    if "\\" in path:
        return "folders are separated by `/`"
    if _CONTROL.search(path) or not path.isprintable():
        return "it holds a control character"
    if ".." in parts:
        return "`..` may lead outside of the project"
    if path.endswith("/"):
        return "it names a folder, not a file"
    if "" in parts or "." in parts:
        return "it has an empty part"
    return "it is too long" if len(path) > _LONGEST else None


def _ownership_fault(path: str, material: Material, brief: str) -> str | None:
    """Why it is not any role's to write. `brief`: what the file that says what is to be built is called."""
    if path in material.own:
        return None
    folders = [part.lower() for part in path.split("/")]
    if ".git" in folders:
        return "it belongs to git"
    if folders[0] == ".tdd" or material.classify(path) is PathClass.SWITCH:
        return "it belongs to the machine, and no role writes it"
    if path == material.kata_path:
        return f"it is the {brief}; if the {brief} is wrong, answer with the verdict {brief}-is-wrong"
    if secret(path):
        return "a file of that name may hold secrets, so no role writes it"
    return "it is not available" if path in material.withheld else None


def _rule_fault(edit: RoleEdit, role: Role, material: Material, tree: Tree) -> str | None:
    classes = frozenset(map(material.classify, _paths_of(edit)))
    if PathClass.SPEC in classes:
        return "it is specification, and no role changes it"
    if role.only_own and not material.own.issuperset(_paths_of(edit)):
        return f"the {role} writes {', '.join(sorted(material.own)) or 'nothing'} alone"
    found = (object_to(edit, tree) for cls, object_to in role.objections if cls in classes)
    return next(filter(None, found), None)


def _may_hold_tests(path: str, material: Material) -> bool:
    """Some languages have tests inside their source files."""
    return material.classify(path) is PathClass.TEST or has_tests_in_source(path)


def _find_nested(answer: RoleAnswer) -> Iterator[str]:
    written = [plain(edit.to or edit.path) for edit in answer.edits if edit.action != "delete"]
    for path in written:
        if inner := next((other for other in written if other.startswith(f"{path}/")), None):
            yield f"{path}: another edit makes it a folder ({inner})."


def _paths_of(edit: RoleEdit) -> tuple[str, ...]:
    return tuple(plain(path) for path in (edit.path, edit.to) if path is not None)


def _shape_fault(edit: RoleEdit) -> str | None:
    match edit.action:
        case "upsert" if edit.content is None:
            return "`upsert` needs `content`, the file's whole new text"
        case "move" if edit.to is None:
            return "`move` needs `to`, the new path"
        case "delete" if edit.content is not None:
            return "`delete` takes no `content`"
    if edit.action != "move" and edit.to is not None:
        return f"`{edit.action}` takes no `to`"
    return _content_fault(edit.content or "")


def _content_fault(content: str) -> str | None:
    if "\0" in content:
        at = content.index("\0") + 1
        return f"its content is binary (a NUL at character {at}), and only text can be written"
    try:
        content.encode()
    except UnicodeEncodeError as error:
        return f"its content is no Unicode text (half a surrogate pair at character {error.start + 1})"
    return None


def _tree_fault(edit: RoleEdit, tree: Tree) -> str | None:
    path = plain(edit.path)
    if edit.action != "upsert" and path not in tree:
        return f"there is no such file to {edit.action}"
    if edit.action != "delete" and path in tree and tree[path] is None:
        return "it is binary or too large to be shown, so it can only be left or deleted"
    if edit.action == "delete":
        return None
    target = plain(edit.to) if edit.to is not None else path
    if edit.action == "move" and target in tree:
        return f"{target} exists already, and a move would overwrite it"
    if any(other.startswith(f"{target}/") for other in tree):
        return f"{target} is a folder"
    parents = target.split("/")[:-1]
    above = ("/".join(parents[: n + 1]) for n in range(len(parents)))
    return next((f"{folder} is a file, not a folder" for folder in above if folder in tree), None)
