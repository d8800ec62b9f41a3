"""Follows `next` as a person would: runs the command that it names, and does what it asks for."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from walk.handwriting import (
    MODULES,
    expectations,
    functions,
    has_conflict,
    new_tests,
    resolved,
    with_block,
    with_changed,
    without,
)
from walk.laws import (
    Wrong,
    command_of,
    gist,
    has_placeholder,
    is_alternative,
    is_done,
    is_sentence,
    still_open,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from walk.handwriting import Hand
    from walk.place import Place

ACTS = 4
"""Commands and edits from any state to one where nothing is open."""
_TEST = re.compile(r"(tests/\w+\.py)::test_(f\d+)")
_LOST = re.compile(r"put back what (.*) lost,")
_REVISED = re.compile(r"revise [^`]*?, (?=then|put|mend)")
_UNPARSED = re.compile(r"mend ((?:\S+\.(?:py|ini)(?:, )?)+), which")
_UNASKED = re.compile(r"take (.*) out, which no test runs")
_MISSING = re.compile(r"put what is missing back, .* tdd revise (.*), with")
_TEST_FILE = re.compile(r"tests/\w+\.py")
_PUT_BACK = re.compile(r"put (\S+(?:, \S+)*) back(?:[^`]*\(`tdd (restore [^`]*)`\))?")


def follow(place: Place, hand: Hand, is_known: Callable[[str], bool]) -> Iterator[Wrong]:
    """What goes wrong on the way; it ends where a known trouble ends it."""
    told: list[str] = []
    seen: set[object] = set()
    acts = 0
    while True:
        status = place.status()
        told.append(f"next: {status['next']}")
        if is_done(status):
            return
        trouble = _trouble(status, _signature(place, status), seen, acts, told)
        if trouble is not None:
            yield trouble
            return
        refused = _carry_out(place, hand, status, told, seen)
        if refused is not None:
            yield refused
            if is_known(refused.kind):
                return
        acts += 1


def _trouble(
    status: Mapping[str, Any], here: object, seen: set[object], acts: int, told: list[str]
) -> Wrong | None:
    move = status["next"]
    way = "\n".join(told)
    if here in seen:
        return Wrong(f"circle: {gist(move)}", way)
    seen.add(here)
    if acts >= ACTS:
        return Wrong(f"far: {gist(told[0])}", way)
    if command_of(move) is None and not is_sentence(move):
        return Wrong(f"no move: {gist(move)}", way)
    if _is_asleep(status):
        return Wrong(f"asleep: {', '.join(still_open(status))}", way)
    return None


def _is_asleep(status: Mapping[str, Any]) -> bool:
    return "failing test" in status["next"] and "write" in status["next"]


def _carry_out(
    place: Place, hand: Hand, status: Mapping[str, Any], told: list[str], seen: set[object]
) -> Wrong | None:
    """Do what a person has to do, then the command. Answers why that was refused."""
    move = status["next"]
    way = "\n".join(told)
    if is_sentence(move):
        if not play(place, hand, move, status):
            return Wrong(f"not understood: {gist(move)}", way)
        told.append("  (a person does that)")
        seen.clear()
    command = command_of(move)
    if command is None or is_alternative(move):
        return None
    if has_placeholder(command):
        return Wrong(f"placeholder: {gist(move)}", way)
    program, *words = shlex.split(command)
    answer = place.tdd(*words) if program == "tdd" else place.git(*words)
    told.append(answer.said)
    if answer.refused or (program == "git" and answer.code):
        rule = re.search(r"denied \[([\w-]+)\]", answer.err)
        why = rule[1] if rule else f"exit code {answer.code}"
        return Wrong(f"refused ({why}): {gist(move)}", "\n".join(told))
    return None


def play(place: Place, hand: Hand, move: str, status: Mapping[str, Any]) -> bool:
    """An act of a person that a sentence asks for; False if it is none that we know."""
    if found := _PUT_BACK.match(move):
        by_verb = place.tdd(*shlex.split(found[2])).code == 0 if found[2] else None
        put = by_verb or (by_verb is None and all(_put_back(place, path) for path in found[1].split(", ")))
        rest = move[found.end() :].partition("then `")[0].strip(", ")
        return put and (not rest or play(place, hand, f"{rest}, then", status))
    if re.match(r"revise |put back what|mend ", move):
        done = _correct_tests(place, hand, move) and _put_back_losses(place, move) and _mend(place, move)
        return done and ("restructure" not in move or _restructure(place))
    if found := _UNASKED.match(move):
        for path, name in re.findall(r"(\w+\.py):\d+ (\w+)", found[1]):
            place.write(path, without(place.read(path), name))
        return True
    if re.match(r"(drop it|end it|finish it)", move):
        return True
    if re.match(r"correct what keeps the test tool from starting", move):
        place.write("pytest.ini", f"[pytest]\n{place.read('pytest.ini')}")
        return True
    if re.match(r"(resolve|correct) ", move):
        _import_modules(place, hand, move)
        make_right(place, hand)
        return _resolve(place)
    if found := _MISSING.match(move):
        return all(_put_back(place, path) for path in _TEST_FILE.findall(found[1])) and _restructure(place)
    if re.match(r"restructure\b", move):
        return _restructure(place)
    if re.search(r"\b(source|code)\b", move):
        make_right(place, hand)
        _take_out_unasked(place)
        return True
    return False


def make_right(place: Place, hand: Hand) -> None:
    """Let every function return what its test asserts."""
    asserted = "".join(text for path, text in place.files().items() if path.startswith("tests/"))
    for module in MODULES:
        path = f"{module}.py"
        text = without(place.read(path) or hand.module(module), "broken")
        there = functions(text)
        for name, value in expectations(asserted, module).items():
            if there.get(name) != value:
                text = with_changed(text, name, hand.function(name, value))
        if text != place.read(path):
            place.write(path, text)


def _take_out_unasked(place: Place) -> None:
    """The functions of an open turn that no test asks for: who edits for a test knows what it asks."""
    project = place.world.project
    turn = project.state().turn
    asserted = "".join(text for path, text in place.files().items() if path.startswith("tests/"))
    for module in MODULES if turn is not None else ():
        path = f"{module}.py"
        before = (project.workspace.read(turn.tree, path) or b"").decode() if turn else ""
        text = place.read(path)
        for name in functions(text).keys() - functions(before).keys() - expectations(asserted, module).keys():
            text = without(text, name)
        if text != place.read(path):
            place.write(path, text)


def _restructure(place: Place) -> bool:
    """Nothing but what the refactor began with, and that in a form that parses."""
    project = place.world.project
    refactor = project.state().refactor
    if refactor is None:
        return False
    for module in MODULES:
        path = f"{module}.py"
        before = (project.workspace.read(refactor.tree, path) or b"").decode()
        if before:
            place.write(path, without(resolved(before), "broken"))
    return True


def _import_modules(place: Place, hand: Hand, move: str) -> None:
    """In each named test file that uses its module and does not import it."""
    for path in _TEST_FILE.findall(move):
        module, text = path.removeprefix("tests/test_").removesuffix(".py"), place.read(path)
        if expectations(text, module) and not re.search(rf"^import {module}\b", text, re.MULTILINE):
            place.write(path, f"{hand.tests_of(module)}\n\n{text}")


def _correct_tests(place: Place, hand: Hand, move: str) -> bool:
    found = _REVISED.match(move)
    for path, name in _TEST.findall(found[0] if found else ""):
        module = path.removeprefix("tests/test_").removesuffix(".py")
        block = hand.test(module, name, int(name[1:]))
        place.write(path, with_changed(place.read(path), f"test_{name}", block))
    return True


def _mend(place: Place, move: str) -> bool:
    """Nothing but what does not parse."""
    found = _UNPARSED.search(move)
    for path in found[1].split(", ") if found else ():
        text = place.read(path)
        place.write(path, f"[pytest]\n{text}" if path.endswith(".ini") else without(resolved(text), "broken"))
    return True


def _put_back(place: Place, path: str) -> bool:
    """A person's editor still has the text as it was when the turn or refactor began."""
    project = place.world.project
    begun = project.state().turn or project.state().refactor
    before = project.workspace.read(begun.tree, path) if begun else None
    if before is None:
        (place.root / path).unlink(missing_ok=True)
    else:
        place.write(path, before.decode())
    return True


def _put_back_losses(place: Place, move: str) -> bool:
    """As they were when nothing of them was lost."""
    project = place.world.project
    state = project.state()
    begun = state.turn or state.refactor
    found, tree = _LOST.search(move), begun.tree if begun else state.ground
    if found is None:
        return True
    if tree is None:
        return False
    for path in found[1].split(", "):
        text = (project.workspace.read(tree, path) or b"").decode()
        for block in new_tests(place.read(path), text):
            text = with_block(text, block)
        place.write(path, text)
    return True


def _resolve(place: Place) -> bool:
    for path, text in place.files().items():
        if has_conflict(text):
            place.write(path, resolved(text))
    return True


def _signature(place: Place, status: Mapping[str, Any]) -> object:
    told = {name: value for name, value in status.items() if name not in {"notes", "characterized"}}
    return repr((sorted(place.files().items()), sorted(told.items(), key=lambda item: item[0])))
