"""Which tests keep their result: proven here on programs made by chance, where each result is known."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from verdigris.core.report import TestUse
from verdigris.core.reuse import Rerun, plan_rerun
from verdigris.core.reuse.facts import ModuleDelta, ModuleWords, RunRecord, TreeChange
from verdigris.languages.python.module_delta import compare_modules, module_words, name_lines

SOURCE, TESTS = "calc.py", "test_calc.py"
CALM = ModuleWords({}, frozenset())


def record(tests: Mapping[str, TestUse], **fields: Any) -> RunRecord:
    """Function 0 is `f`, 1 is `g`, 2 runs while modules are loaded; the sets are theirs."""
    known = {
        "functions": ((SOURCE, "f"), (SOURCE, "g"), (SOURCE, "early")),
        "sets": ((0,), (1,), (2,), ()),
        "common": {"": 2},
        "files": frozenset({SOURCE, TESTS}),
        "read": frozenset(),
        "listed": frozenset(),
    }
    return RunRecord(tests=tests, **{**known, **fields})


RUNS_F, RUNS_G = f"{TESTS}::test_f", f"{TESTS}::test_g"
BOTH = {RUNS_F: TestUse(0), RUNS_G: TestUse(1)}
WORDS = {
    SOURCE: ModuleWords(dict.fromkeys(("f", "g", "early"), frozenset()), frozenset()),
    TESTS: ModuleWords({}, frozenset()),
}


def change(delta: ModuleDelta, path: str = SOURCE, **fields: Any) -> TreeChange:
    return TreeChange({path: delta}, tests=frozenset({TESTS}), **fields)


def test_who_ran_the_function_that_changed_is_run_again() -> None:
    found = plan_rerun(record(BOTH), change(ModuleDelta(bodies=frozenset({"f"}))), WORDS, BOTH)
    assert not found.whole
    assert found.ids == {RUNS_F}


def test_who_says_a_name_that_means_something_else_is_run_again() -> None:
    said = {
        **WORDS,
        SOURCE: ModuleWords({"f": frozenset({"LIMIT"}), "g": frozenset(), "early": frozenset()}, frozenset()),
    }
    found = plan_rerun(record(BOTH), change(ModuleDelta(names=frozenset({"LIMIT"}))), said, BOTH)
    assert found.ids == {RUNS_F}


def plan_made(user: str, tests: Mapping[str, TestUse] = BOTH) -> Rerun:
    """`LIMIT` of `calc.py` means something else; `f` and `g` stand in `shapes.py`, which has that text."""
    before = "LIMIT = 3\n\ndef early():\n    pass\n"
    delta = compare_modules(before, before.replace("3", "4"))
    said = {OTHER: module_words(user), SOURCE: module_words(before), TESTS: module_words("import shapes\n")}
    known = record(tests, functions=((OTHER, "f"), (OTHER, "g"), (SOURCE, "early")), files=frozenset(said))
    assert delta is not None
    return plan_rerun(known, change(delta), {path: one for path, one in said.items() if one}, tests)


@pytest.mark.parametrize(
    "user",
    [
        "from calc import LIMIT as most\n\ndef f():\n    return most\n\ndef g():\n    pass\n",
        (
            "from calc import LIMIT\nPAIR = (1, LIMIT)\nBOTH = [PAIR]\n\n"
            "def f():\n    return BOTH\n\ndef g():\n    pass\n"
        ),
        "from calc import LIMIT\n\ndef f(x=LIMIT):\n    return x\n\ndef g():\n    pass\n",
        (
            "import calc\nfrom calc import LIMIT\n\nclass Box:\n    size = [LIMIT]\n\n"
            "def f():\n    return Box()\n\ndef g():\n    pass\n"
        ),
    ],
)
def test_what_is_made_of_a_name_that_means_something_else_does_so_too(user: str) -> None:
    found = plan_made(user)
    assert (found.whole, set(found.ids)) == ("", {RUNS_F})


@pytest.mark.parametrize(
    "user",
    [
        "from calc import LIMIT\nPAIR = (1, LIMIT)\nregister(PAIR)\n\ndef f():\n    pass\n\ndef g(): ...\n",
        "from calc import LIMIT\n\nclass Box(Base):\n    at = LIMIT\n\ndef f():\n    pass\n\ndef g(): ...\n",
        (
            "import calc\nfrom inspect import getmembers as look\n\n"
            "def f():\n    return look(calc)\n\ndef g():\n    pass\n"
        ),
        "import calc\nlook = dir\n\ndef f():\n    return look(calc)\n\ndef g():\n    pass\n",
    ],
)
def test_where_it_is_more_than_made_all_are_run(user: str) -> None:
    assert plan_made(user).whole


def test_tests_whose_cases_are_made_of_it_are_run_by_their_names() -> None:
    """Their cases may have other names now."""
    text = "CASES = [1]\n\n@pytest.mark.parametrize('x', CASES)\ndef test_f(x):\n    pass\n"
    delta, said = compare_modules(text, text.replace("1]", "2]")), module_words(text)
    assert delta is not None
    assert said is not None
    tests = {f"{RUNS_F}[1]": TestUse(3), RUNS_G: TestUse(3)}
    found = plan_rerun(record(tests), change(delta, TESTS), {**WORDS, TESTS: said}, tests)
    assert (found.whole, set(found.names), set(found.dropped)) == ("", {RUNS_F}, {f"{RUNS_F}[1]"})


def test_who_looks_through_names_is_run_again_when_any_changed() -> None:
    said = {
        **WORDS,
        SOURCE: ModuleWords({"g": frozenset({"dir"}), "f": frozenset(), "early": frozenset()}, frozenset()),
    }
    found = plan_rerun(record(BOTH), change(ModuleDelta(names=frozenset({"LIMIT"}))), said, BOTH)
    assert found.ids == {RUNS_G}


OTHER = "shapes.py"


def plan_import(
    user: str, added: str = "from decimal import Limit\n", others: Mapping[str, str] | None = None
) -> Rerun:
    """`calc.py` binds `Limit` from now on; `f` and `g` stand in `shapes.py`, which has that text."""
    before = "def early():\n    pass\n"
    delta = compare_modules(before, added + before)
    said = {OTHER: module_words(user), SOURCE: module_words(before), TESTS: module_words("import shapes\n")}
    said |= {path: module_words(text) for path, text in (others or {}).items()}
    known = record(BOTH, functions=((OTHER, "f"), (OTHER, "g"), (SOURCE, "early")), files=frozenset({*said}))
    assert delta is not None
    return plan_rerun(known, change(delta), {path: one for path, one in said.items() if one}, BOTH)


@pytest.mark.parametrize(
    "user",
    [
        "class Limit:\n    pass\n\ndef f():\n    return Limit()\n\ndef g():\n    pass\n",
        "from fractions import Limit\n\ndef f():\n    return Limit\n\ndef g():\n    pass\n",
        "import other\nLimit = 3\n\ndef f():\n    return Limit\n\ndef g():\n    pass\n",
        "def f(numbers):\n    for Limit in numbers:\n        return Limit\n\ndef g():\n    pass\n",
    ],
)
def test_a_variable_of_a_module_that_a_file_does_not_import_is_not_the_one_that_it_says(user: str) -> None:
    found = plan_import(user)
    assert (found.whole, found.ids) == ("", frozenset())


@pytest.mark.parametrize(
    "user",
    [
        "def f(module):\n    return module.Limit\n\ndef g():\n    pass\n",
        "def f(module):\n    return getattr(module, 'Limit')\n\ndef g():\n    pass\n",
        "def f():\n    from calc import Limit\n    return Limit\n\ndef g():\n    pass\n",
        "def f():\n    import calc\n    return Limit(calc)\n\ndef g():\n    pass\n",
        "from other import Limit\n\ndef f():\n    return Limit\n\ndef g():\n    pass\n",
        "def f(module):\n    globals().update(vars(module))\n    return Limit\n\ndef g():\n    pass\n",
        "def f():\n    return Limit\n\ndef g():\n    exec(TEXT)\n",
    ],
)
def test_who_may_have_the_variable_of_that_module_is_run_again(user: str) -> None:
    found = plan_import(user)
    assert found.whole or RUNS_F in found.ids


def test_a_module_of_the_project_that_is_called_as_one_of_the_library_may_have_it() -> None:
    user = "from fractions import Limit\n\ndef f():\n    return Limit\n\ndef g():\n    pass\n"
    found = plan_import(user, others={"fractions.py": "from calc import Limit\n"})
    assert found.whole or RUNS_F in found.ids


def plan_test_import(helper: str) -> Rerun:
    """The file of tests binds `Limit` from now on; `f` and `g` stand in `shapes.py`."""
    before = "from shapes import f\n\ndef test_f():\n    f()\n"
    delta = compare_modules(before, "from shapes import Limit\n" + before)
    said = {OTHER: module_words(helper), SOURCE: module_words("def early():\n    pass\n")}
    known = record(
        BOTH,
        functions=((OTHER, "f"), (OTHER, "g"), (SOURCE, "early")),
        files=frozenset({OTHER, SOURCE, TESTS}),
    )
    assert delta is not None
    words = {**said, TESTS: module_words(before)}
    return plan_rerun(known, change(delta, TESTS), {path: one for path, one in words.items() if one}, BOTH)


def test_what_a_file_of_tests_imports_is_its_own() -> None:
    found = plan_test_import(
        "from other import Limit\n\nMOST = make(Limit)\n\ndef f():\n    Limit\n\ndef g():\n    pass\n"
    )
    assert (found.whole, found.ids) == ("", frozenset())


@pytest.mark.parametrize(
    "helper",
    [
        "def f(request):\n    return request.module.Limit\n\ndef g():\n    pass\n",
        "def f():\n    from test_calc import Limit\n    return Limit\n\ndef g():\n    pass\n",
        "import test_calc\n\ndef f():\n    return Limit\n\ndef g():\n    pass\n",
    ],
)
def test_who_asks_the_file_of_tests_for_it_is_run_again(helper: str) -> None:
    found = plan_test_import(helper)
    assert found.whole or RUNS_F in found.ids


def test_who_takes_all_names_of_some_module_may_have_it() -> None:
    found = plan_import("from other import *\n\ndef f():\n    return Limit\n\ndef g():\n    pass\n")
    assert found.whole or RUNS_F in found.ids


def test_a_class_is_no_mere_variable_since_its_objects_go_everywhere() -> None:
    found = plan_import("def f():\n    return Limit\n\ndef g():\n    pass\n", "class Limit:\n    pass\n\n\n")
    assert found.whole or found.ids == {RUNS_F}


def test_a_result_that_is_not_worth_keeping_and_an_unsure_test_are_run_again() -> None:
    tests = {**BOTH, f"{TESTS}::test_child": TestUse(3, unsure=True)}
    found = plan_rerun(record(tests), change(ModuleDelta()), WORDS, {RUNS_F, f"{TESTS}::test_child"})
    assert found.ids == {RUNS_G, f"{TESTS}::test_child"}


def test_who_takes_from_a_memory_goes_with_who_filled_it() -> None:
    tests = {RUNS_F: TestUse(0, fills=(1,)), RUNS_G: TestUse(3, hits=(1,))}
    found = plan_rerun(record(tests), change(ModuleDelta(bodies=frozenset({"f"}))), WORDS, tests)
    assert found.ids == {RUNS_F, RUNS_G}


@pytest.mark.parametrize(
    ("delta", "fields"),
    [
        (ModuleDelta(more=True), {}),
        (ModuleDelta(bodies=frozenset({"early"})), {}),
        (ModuleDelta(bodies=frozenset({"f"})), {"read": frozenset({SOURCE})}),
    ],
)
def test_any_doubt_about_all_tests_runs_them_all(delta: ModuleDelta, fields: dict[str, Any]) -> None:
    assert plan_rerun(record(BOTH, **fields), change(delta), WORDS, BOTH).whole


def test_a_file_that_is_read_and_a_folder_that_is_listed_run_all() -> None:
    read = record(BOTH, read=frozenset({"data.json"}))
    assert plan_rerun(read, TreeChange({}, others=frozenset({"data.json"})), WORDS, BOTH).whole
    assert not plan_rerun(read, TreeChange({}, others=frozenset({"README.md"})), WORDS, BOTH).whole
    listed = record(BOTH, listed=frozenset({"data/"}))
    new = TreeChange({}, others=frozenset({"data/x"}), unlisted=frozenset({"data/x"}))
    assert plan_rerun(listed, new, WORDS, BOTH).whole


def test_new_tests_are_run_and_those_that_are_gone_are_dropped() -> None:
    delta = ModuleDelta(
        names=frozenset({"test_g", "test_h"}), added=frozenset({"test_h"}), gone=frozenset({"test_g"})
    )
    found = plan_rerun(record(BOTH), change(delta, TESTS), WORDS, BOTH)
    assert not found.whole
    assert (set(found.names), set(found.dropped)) == ({f"{TESTS}::test_h"}, {RUNS_G})


def test_a_test_file_that_loads_otherwise_is_run_whole_unless_another_file_names_it() -> None:
    delta = ModuleDelta(more=True)
    found = plan_rerun(record(BOTH), change(delta, TESTS), WORDS, BOTH)
    assert (set(found.names), set(found.dropped)) == ({TESTS}, set(BOTH))
    said = {**WORDS, SOURCE: ModuleWords({"f": frozenset()}, frozenset(), frozenset({"test_calc"}))}
    assert plan_rerun(record(BOTH), change(delta, TESTS), said, BOTH).whole


# Programs by chance: functions that call each other and use constants, tests that compare their values.


_REPR = """def repr_of(x):
    if isinstance(x, tuple):
        return [repr_of(one) for one in x]
    return x() if callable(x) else x"""


def make_program(chance: random.Random) -> list[str]:
    """Statements, of which each may be changed."""
    parts = [f"LIMIT = {chance.randrange(3)}", f"SIZE = {chance.randrange(3)}"]
    for number in range(6):
        terms = [str(chance.randrange(3)), chance.choice(("LIMIT", "SIZE", "1"))]
        terms += [f"f{chance.randrange(number)}()"] if number and chance.random() < 0.6 else []
        terms += ["len(dir())"] if chance.random() < 0.1 else []
        terms += (
            [f"globals().get('f{chance.choice((*range(number), 7, 8))}', int)()"]
            if chance.random() < 0.1
            else []
        )
        default = chance.choice(("", "x=1", "x=LIMIT"))
        parts.append(f"def f{number}({default}):\n    return {' + '.join(terms)}")
    parts.append(f"PAIR = ({chance.choice(('LIMIT', 'SIZE'))}, {chance.choice(('f0', 'f1'))})")
    parts.append(f"alias = {chance.choice(('f2', 'f3', 'PAIR'))}")
    parts.append(f"def f6(x={chance.choice(('PAIR', 'alias', 'LIMIT'))}):\n    return repr_of(x)")
    parts.append(
        f"class Box:\n    held = {chance.choice(('PAIR', 'alias', 'SIZE'))}\n\n"
        f"    def value(self, x={chance.choice(('1', 'PAIR'))}):\n        return repr_of((x, self.held))"
    )
    parts.append("def f9():\n    return Box().value()")
    parts.append(_REPR)
    if chance.random() < 0.3:
        parts.append("EARLY = f5()")
    return parts


def change_program(parts: list[str], chance: random.Random) -> list[str]:
    other = make_program(chance)
    changed = [
        other[at] if at < len(other) and chance.random() < 0.2 else part for at, part in enumerate(parts)
    ]
    if chance.random() < 0.2:
        changed.insert(2, f"def f{chance.choice((7, 8))}():\n    return {chance.randrange(5)}")
    return changed


def run_program(text: str) -> tuple[dict[str, object], RunRecord] | None:
    """What each `test_N` says, and the record of it."""
    seen: set[int] = set()

    def heard(frame: Any, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename == SOURCE and frame.f_code.co_name != "<module>":
            seen.add(frame.f_code.co_firstlineno)

    space: dict[str, Any] = {}
    sets: list[tuple[int, ...]] = []
    places: dict[int, int] = {}
    results: dict[str, object] = {}
    tests: dict[str, TestUse] = {}

    def note() -> int:
        sets.append(tuple(sorted(places.setdefault(line, len(places)) for line in seen)))
        seen.clear()
        return len(sets) - 1

    sys.setprofile(heard)
    try:
        exec(compile(text, SOURCE, "exec"), space)
        early = note()
        for number in (*range(7), 9):
            name = f"{TESTS}::test_{number}"
            results[name] = space[f"f{number}"]()
            tests[name] = TestUse(note())
    except (NameError, TypeError):
        return None
    finally:
        sys.setprofile(None)
    named = name_lines(text, places)
    assert named is not None
    functions = tuple((SOURCE, named[line]) for line in places)
    empty = frozenset[str]()
    return results, RunRecord(functions, tuple(sets), tests, {"": early}, frozenset({SOURCE}), empty, empty)


def plan_texts(old: tuple[dict[str, object], RunRecord], before: str, after: str) -> Rerun:
    delta, words = compare_modules(before, after), module_words(after)
    assert delta is not None
    assert words is not None
    return plan_rerun(old[1], TreeChange({SOURCE: delta}), {SOURCE: words}, old[0])


@pytest.mark.parametrize("seed", range(200))
def test_what_keeps_its_result_has_the_same_result(seed: int) -> None:
    chance = random.Random(seed)
    parts = make_program(chance)
    before, after = "\n\n".join(parts), "\n\n".join(change_program(parts, chance))
    old, new = run_program(before), run_program(after)
    if old is None or new is None:
        return
    found = plan_texts(old, before, after)
    if not found.whole:
        kept = old[0].keys() - found.dropped
        assert {i: new[0][i] for i in kept} == {i: old[0][i] for i in kept}


def test_programs_by_chance_keep_some_results() -> None:
    """Else the test above would ask nothing."""
    kept = wholes = 0
    for seed in range(100):
        chance = random.Random(seed)
        parts = make_program(chance)
        texts = ["\n\n".join(parts), "\n\n".join(change_program(parts, chance))]
        old = run_program(texts[0])
        if old is None or texts[0] == texts[1]:
            continue
        found = plan_texts(old, *texts)
        wholes += bool(found.whole)
        kept += len(old[0].keys() - found.dropped) if not found.whole else 0
    assert kept > 60
    assert wholes > 5
