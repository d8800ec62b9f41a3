"""Rules of a walk: every verb that a person has, and kills of them."""

from __future__ import annotations

import shlex

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from walk.following import make_right, play
from walk.handwriting import MODULES, expectations, test_file, test_id, with_block
from walk.journey import Journey
from walk.laws import Wrong, command_of, has_placeholder, is_sentence

PICK = st.integers(0, 3)
MODULE = st.sampled_from(MODULES)
EFFECTS = (("aside",), ("settle",), ("claim",), ("refactor", "abort"), ("test",), ("refactor", "end"))
"""Verbs that announce what they do, and do it."""

ANYWHERE = (*EFFECTS, ("status",), ("displaced",), ("refactor", "begin"), ("on",))


class Verbs(Journey):
    @rule()
    def run_all_tests(self) -> None:
        self.verb("test")

    @rule(module=MODULE, pick=PICK)
    def run_one_test(self, module: str, pick: int) -> None:
        names = sorted(expectations(self.here.read(test_file(module))))
        if names:
            self.verb("test", test_id(module, names[pick % len(names)]))

    @precondition(lambda self: self.phase == "red" and self.status["reds"])
    @rule()
    def claim(self) -> None:
        self.verb("claim")

    @precondition(lambda self: self.phase in {"red", "green"} and self.status["reds"])
    @rule(pick=PICK, targeted=st.booleans())
    def claim_by_name(self, pick: int, *, targeted: bool) -> None:
        reds = sorted(red["id"] for red in self.status["reds"])
        if reds:
            chosen = reds[pick % len(reds)]
            module = chosen.removeprefix("tests/test_")[0]
            self.verb("claim", chosen, *([f"{module}.py"] if targeted else []))

    @precondition(lambda self: self.phase == "green")
    @rule()
    def settle(self) -> None:
        self.verb("settle")

    @precondition(lambda self: self.phase == "red")
    @rule(uncovered=st.booleans())
    def begin_a_refactor(self, *, uncovered: bool) -> None:
        self.verb("refactor", "begin", *(["--uncovered"] if uncovered else []))

    @precondition(lambda self: self.phase == "refactor")
    @rule(how=st.sampled_from(("end", "abort")))
    def end_the_refactor(self, how: str) -> None:
        self.verb("refactor", how)

    @precondition(lambda self: self.phase in {"red", "green"})
    @rule(module=MODULE, pick=PICK)
    def report_a_wrong_test(self, module: str, pick: int) -> None:
        lines = self.here.read(test_file(module)).splitlines()
        places = [number for number, line in enumerate(lines, 1) if line.startswith("    assert")]
        if places:
            self.verb("test-bug", f"{test_file(module)}:{places[pick % len(places)]}", "it is wrong")

    @precondition(lambda self: self.status["test_bugs"])
    @rule()
    def close_the_report(self) -> None:
        for bug in self.status["test_bugs"][:1]:
            self.verb("test-bug", "close", bug["id"])

    @rule(module=MODULE, pick=PICK)
    def revise(self, module: str, pick: int) -> None:
        names = sorted(expectations(self.here.read(test_file(module)))) or ["f1"]
        self.verb("revise", test_id(module, names[pick % len(names)]), "--why", "nobody wants it")

    @precondition(lambda self: self.status["unclaimed"])
    @rule()
    def lay_aside(self) -> None:
        self.verb("aside")

    @precondition(lambda self: self.status["aside"])
    @rule(pick=PICK)
    def restore(self, pick: int) -> None:
        laid = self.status["aside"]
        if laid:
            self.verb("restore", laid[pick % len(laid)]["id"])

    @precondition(lambda self: self.status["aside"])
    @rule(pick=PICK)
    def drop_what_is_aside(self, pick: int) -> None:
        laid = self.status["aside"]
        if laid and self.can_drop():
            self.verb("aside", "drop", laid[pick % len(laid)]["id"])

    @rule(words=st.sampled_from(ANYWHERE))
    def use_a_verb(self, words: tuple[str, ...]) -> None:
        """Whether it fits or not."""
        self.verb(*words)

    @rule(pick=PICK)
    def sync(self, pick: int) -> None:
        names = self.here.git("for-each-ref", "--format=%(refname:short)", "refs/heads").out.split()
        self.verb("sync", "--", "switch", names[pick % len(names)])

    @rule(module=MODULE, pick=PICK)
    def stub(self, module: str, pick: int) -> None:
        names = sorted(expectations(self.here.read(test_file(module))))
        if names:
            self.verb("stub", test_id(module, names[pick % len(names)]))

    @rule()
    def switch_off_or_on(self) -> None:
        self.verb(*(("on",) if self.phase == "off" else ("off", "--why", "a walk")))

    @precondition(lambda self: self.phase == "red" and not self.in_progress)
    @rule(module=MODULE)
    def take_a_whole_turn(self, module: str) -> None:
        name = self.hand.new_name()
        path = test_file(module)
        text = self.here.read(path) or self.hand.tests_of(module)
        self.edit(path, with_block(text, self.hand.test(module, name, int(name[1:]))))
        self.verb("test", test_id(module, name))
        self.verb("claim", test_id(module, name))
        self.person("make the source right", lambda: make_right(self.here, self.hand))
        self.verb("settle")

    @rule()
    def take_the_next_move(self) -> None:
        """As the walk's own step; whether it is refused is judged where it is followed to the end."""
        status = self.status
        move, command = status["next"], command_of(status["next"])
        if is_sentence(move):
            self.person(f"({move})", lambda: play(self.here, self.hand, move, status))
        if command is None or has_placeholder(command):
            return
        program, *words = shlex.split(command)
        if program == "tdd":
            self.verb(*words)
        else:
            self.git(*words)

    @rule()
    def follow_the_next_moves(self) -> None:
        self.follow_in_a_copy()

    @rule(words=st.sampled_from(EFFECTS), step=st.integers(1, 9))
    def kill(self, words: tuple[str, ...], step: int) -> None:
        """Then the next command finishes or undoes what was under way."""

        def die() -> str | None:
            died = self.here.killed(step, *words)
            self.here.status()
            return "killed" if died else "ended before"

        said = self.machine(f"{words[0]} ({' '.join(words)} killed at step {step})", die)
        if self.here.world.state.intent is not None:
            self.complain([Wrong(f"not recovered: {' '.join(words)}", str(said))])

    def can_drop(self) -> bool:
        """Whether this version has the verb."""
        return self.here.tdd("aside", "drop", "--help").code == 0
