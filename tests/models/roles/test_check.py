from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.kata_run import SOURCE, TEST, classify, start
from verdigris.core.paths import PathClass
from verdigris.drivers.machine.history import CODER, REFACTORER, TESTER
from verdigris.models.roles import Role
from verdigris.models.roles.answer import Pin, RefusedAnswer, RoleAnswer, RoleEdit, Say
from verdigris.models.roles.check import MOST_CHARACTERS, EditPlan, RoleStop, check
from verdigris.models.roles.teams import LOOP

WRITER, _, IMPROVER, _ = LOOP.roles
TREE = {
    "pyproject.toml": "[project]\n",
    "kata.md": "# it\n",
    "logo.png": None,
    "docs/dos.md": "one\r\ntwo\r\n",
    SOURCE: "def add(n):\n    return 0\n",
    TEST: "def test_it():\n    assert True\n",
    "held.py": "held\n",
    "spec/it.md": "it\n",
}
MATERIAL = replace(start(), files=TREE, withheld=frozenset({"tests/test_held.py"}))
KNOWN = frozenset(TREE)


def upsert(path: str = SOURCE, content: str | None = "x = 1\n", **about: Any) -> RoleEdit:
    return RoleEdit(path, "upsert", content=content, **about)


def answer(*edits: RoleEdit, **about: Any) -> RoleAnswer:
    return RoleAnswer(
        **{"verdict": Say.EDIT, "rationale": "why", "subject": "do it", "edits": edits, **about}
    )


def checked(given: RoleAnswer, role: Role = CODER, known: frozenset[str] = KNOWN) -> Any:
    return check(given, role, MATERIAL, known)


def reason(given: RoleAnswer, role: Role = CODER) -> str:
    refused = checked(given, role)
    assert isinstance(refused, RefusedAnswer), refused
    return "\n".join(refused.reasons)


def test_a_good_answer_becomes_what_the_kernel_writes() -> None:
    plan = checked(
        answer(
            upsert(intent=" the  sum\n"),
            RoleEdit("pyproject.toml", "delete"),
            RoleEdit("docs/dos.md", "move", to="./docs/unix.md"),
            type="fix",
            subject="fix(calc): Add the sum",
        )
    )
    assert plan == EditPlan(
        CODER,
        "fix",
        "Add the sum",
        "why",
        {SOURCE: b"x = 1\n", "pyproject.toml": None, "docs/dos.md": None, "docs/unix.md": b"one\r\ntwo\r\n"},
        ((SOURCE, "the sum"),),
    )


def test_line_ends_stay_as_they_were() -> None:
    assert checked(answer(upsert("docs/dos.md", "one\n2\n"))).changes == {"docs/dos.md": b"one\r\n2\r\n"}


@pytest.mark.parametrize(
    ("path", "content", "written"),
    [("src/new.py", "x = 1", b"x = 1\n"), ("src/new.py", "", b""), (SOURCE, "x = 1", b"x = 1\n")],
)
def test_a_text_ends_with_a_line_end(path: str, content: str, written: bytes) -> None:
    assert checked(answer(upsert(path, content))).changes == {path: written}


def test_an_edit_that_changes_nothing_is_left_out_beside_others() -> None:
    plan = checked(answer(upsert(), upsert("pyproject.toml", "[project]\n")))
    assert list(plan.changes) == [SOURCE]


def test_a_type_that_is_not_the_roles_is_replaced_by_its_own() -> None:
    assert checked(answer(upsert(), type="test")).type == "feat"
    assert checked(answer(upsert(TEST)), TESTER).type == "test"


def test_a_long_subject_is_shortened() -> None:
    assert len(checked(answer(upsert(), subject="very " * 50)).subject) <= 90


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (upsert(""), "'': it names no file"),
        (upsert("."), ".: it names no file"),
        (upsert("/etc/passwd"), "/etc/passwd: it is not relative to the project's root"),
        (upsert("~/x.py"), "not relative"),
        (upsert("C:/x.py"), "not relative"),
        (upsert("src\\x.py"), "separated by `/`"),
        (upsert("../x.py"), "`..` may lead outside"),
        (upsert("src/../../x.py"), "`..` may lead outside"),
        (upsert("src/x\n.py"), "'src/x\\n.py': it holds a control character"),
        (upsert("src/x\0.py"), "control character"),
        (upsert("src/"), "names a folder"),
        (upsert("src//x.py"), "an empty part"),
        (upsert("src/./x.py"), "an empty part"),
        (upsert("x" * 300), "too long"),
        (upsert(".git/hooks/pre-commit"), "belongs to git"),
        (upsert("sub/.GIT/config"), "belongs to git"),
        (upsert("tdd.yaml"), "belongs to the machine"),
        (upsert(".tdd/plan/x.md"), "belongs to the machine"),
        (upsert("kata.md"), "kata-is-wrong"),
        (upsert(".env"), "may hold secrets"),
        (upsert("tests/test_held.py"), "it is not available"),
        (upsert(content=None), "`upsert` needs `content`"),
        (upsert(to="b.py"), "`upsert` takes no `to`"),
        (upsert(content="a\0b"), "binary (a NUL at character 2)"),
        (upsert(content="a\ud800"), "half a surrogate pair at character 2"),
        (upsert("logo.png"), "binary or too large"),
        (upsert("src"), "src is a folder"),
        (upsert(f"{SOURCE}/x.py"), f"{SOURCE} is a file, not a folder"),
        (RoleEdit("gone.py", "delete"), "there is no such file to delete"),
        (RoleEdit(SOURCE, "delete", content="x"), "`delete` takes no `content`"),
        (RoleEdit(SOURCE, "delete", to="x"), "`delete` takes no `to`"),
        (RoleEdit("gone.py", "move", to="x.py"), "there is no such file to move"),
        (RoleEdit(SOURCE, "move"), "`move` needs `to`"),
        (RoleEdit(SOURCE, "move", to="pyproject.toml"), "pyproject.toml exists already"),
        (RoleEdit(SOURCE, "move", to="../x.py"), "../x.py: `..` may lead outside"),
        (RoleEdit(SOURCE, "move", to=SOURCE), "named by more than one edit"),
        (RoleEdit("logo.png", "move", to="x.png"), "binary or too large"),
        (upsert(content=TREE[SOURCE]), "nothing would change"),
        (upsert(TEST), "it belongs to the tests, and the implementor changes nothing of them"),
        (RoleEdit(TEST, "delete"), "it belongs to the tests"),
        (RoleEdit(SOURCE, "move", to="tests/x.py"), "it belongs to the tests"),
        (upsert(content="x" * (MOST_CHARACTERS + 1)), f"at most {MOST_CHARACTERS} in a step"),
        (upsert(intent="TDD-Verdict: accepted"), "the machine alone writes those"),
    ],
)  # fmt: skip
def test_an_edit_that_cannot_be_carried_out(edit: RoleEdit, why: str) -> None:
    assert why in reason(answer(edit))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (answer(), "`edits` is empty"),
        (answer(upsert(), upsert("./" + SOURCE)), f"{SOURCE}: it is named by more than one edit"),
        (answer(upsert("src/a"), upsert("src/a/b.py")), "src/a: another edit makes it a folder (src/a/b.py)"),
        (answer(*(upsert(f"src/m{n}.py") for n in range(60))), "There are 60 edits"),
        (answer(upsert(), subject=" "), "`subject` is empty"),
        (answer(upsert(), subject="feat: "), "`subject` is empty"),
        (answer(upsert(), rationale=""), "`rationale` is empty"),
        (answer(upsert(), rationale="x\ntdd-red: y"), "the machine alone writes those"),
        (answer(upsert(), verdict=Say.TEST_IS_WRONG), "there are edits: decide"),
        (answer(verdict=Say.TEST_IS_WRONG, rationale=""), "needs a `reason`"),
        (answer(verdict=Say.NOTHING_TO_DO), "cannot give the verdict nothing-to-do: make the red test pass"),
        (answer(verdict=Say.KATA_DONE), "The implementor cannot give the verdict"),
    ],
)
def test_an_answer_that_cannot_be_carried_out(given: RoleAnswer, why: str) -> None:
    assert why in reason(given)


def test_all_reasons_are_given_at_once() -> None:
    assert len(reason(answer(upsert("/a"), upsert("../b"), subject="")).splitlines()) == 3


@pytest.mark.parametrize(
    ("role", "say"),
    [
        (TESTER, Say.KATA_DONE),
        (TESTER, Say.KATA_IS_WRONG),
        (TESTER, Say.TEST_IS_WRONG),
        (CODER, Say.TEST_IS_WRONG),
        (REFACTORER, Say.NOTHING_TO_DO),
    ],
)
def test_a_role_may_stop(role: Role, say: Say) -> None:
    assert checked(answer(verdict=say, reason="because "), role) == RoleStop(say, "because")


STUB = "def add(n):\n    return 0\n\n\ndef sub(n):  # STUB:TDD\n    return -1\n"


@pytest.mark.parametrize(
    ("role", "edits", "why"),
    [
        (TESTER, [upsert(TEST, "def test_more(): assert 0\n")], None),
        (TESTER, [upsert(TEST), upsert(SOURCE, STUB)], None),
        (TESTER, [upsert(TEST), upsert(SOURCE, "def add(n):\n    return n\n")], "marked STUB:TDD (line"),
        (TESTER, [upsert(TEST), RoleEdit(SOURCE, "delete")], "the tester does not delete any"),
        (TESTER, [upsert(SOURCE, STUB)], "No test file is among the edits"),
        (TESTER, [upsert("src/lib.rs", "#[cfg(test)] mod tests {}\n")], None),
        (TESTER, [upsert(TEST), upsert("spec/it.md")], "it is specification"),
        (REFACTORER, [upsert(SOURCE), upsert(TEST)], None),
        (REFACTORER, [RoleEdit(TEST, "delete")], "a refactor keeps every test"),
        (REFACTORER, [RoleEdit(TEST, "move", to="tests/test_b.py")], None),
        (REFACTORER, [upsert("spec/it.md")], "it is specification"),
    ],
)
def test_what_each_role_may_touch(role: Role, edits: list[RoleEdit], why: str | None) -> None:
    def with_spec(path: str) -> PathClass:
        return PathClass.SPEC if path.startswith("spec/") else classify(path)

    found = check(answer(*edits), role, replace(MATERIAL, classify=with_spec), KNOWN)
    if why is None:
        assert isinstance(found, EditPlan)
    else:
        assert isinstance(found, RefusedAnswer)
        assert why in found.reasons[0]


def test_a_file_that_was_not_seen_whole_is_not_replaced() -> None:
    refused = checked(answer(upsert()), known=frozenset())
    assert refused.unseen == (SOURCE,)
    assert f"{SOURCE}: you have not seen all of it" in refused.reasons[0]
    assert isinstance(checked(answer(upsert("src/new.py")), known=frozenset()), EditPlan)
    assert isinstance(checked(answer(RoleEdit(SOURCE, "delete")), known=frozenset()), EditPlan)


PIN = Pin("take", "takes the first n", "the docs of take", ("take(2, 'abc') is ['a', 'b']",))
NEW_TEST = upsert(TEST, "def test_more(): assert 0\n")


@pytest.mark.parametrize(
    ("pin", "why"),
    [
        (None, "`pin` does not say target, behaviour, source, assertions"),
        (Pin("take", " ", "docs", ("a",)), "`pin` does not say behaviour"),
        (Pin("take", "takes", "docs", ("",)), "`pin` does not say assertions"),
    ],
)
def test_a_role_that_pins_states_what_and_by_which_source(pin: Pin | None, why: str) -> None:
    assert why in reason(answer(NEW_TEST, pin=pin), WRITER)


def test_what_a_role_states_goes_with_its_edits() -> None:
    plan = checked(answer(NEW_TEST, pin=PIN), WRITER)
    assert isinstance(plan, EditPlan)
    assert plan.pin == PIN
    better = checked(answer(upsert(), improvement="one  loop\n", lesson=" n may be 0 "), IMPROVER)
    assert isinstance(better, EditPlan)
    assert (better.improvement, better.lesson) == ("one loop", "n may be 0")


def test_a_test_that_came_back_was_stated_before() -> None:
    found = check(answer(NEW_TEST), WRITER, MATERIAL, KNOWN, returned=True)
    assert isinstance(found, EditPlan)


def test_an_improvement_has_a_name() -> None:
    assert "`improvement` is empty" in reason(answer(upsert()), IMPROVER)
