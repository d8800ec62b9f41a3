"""Rules of a walk: what a person does with an editor."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from walk.following import make_right
from walk.handwriting import (
    MODULES,
    expectations,
    functions,
    test_file,
    with_block,
    with_changed,
    with_docstring,
    without,
)
from walk.journey import Journey

MODULE = st.sampled_from(MODULES)
PICK = st.integers(0, 3)
WRONG = 1000
"""Added to a value, it makes a function or a test wrong."""
RUNNER_KEYS = (
    "addopts = -q",
    "testpaths = tests",
    "python_files = test_*.py check_*.py",
    "xfail_strict = true",
)


class Edits(Journey):
    @rule(module=MODULE, at=PICK)
    def write_a_failing_test(self, module: str, at: int) -> None:
        name = self.hand.new_name()
        block = self.hand.test(module, name, int(name[1:]))
        self._edit_tests(module, with_block(self._tests(module), block, at=at))

    @rule(module=MODULE)
    def write_a_test_that_passes(self, module: str) -> None:
        """Of a function that nobody tested yet."""
        there = functions(self._source(module))
        for name in sorted(there.keys() - expectations(self._tests(module)).keys())[:1]:
            block = self.hand.test(module, name, there[name])
            self._edit_tests(module, with_block(self._tests(module), block))

    @rule(module=MODULE, pick=PICK)
    def correct_a_test(self, module: str, pick: int) -> None:
        for name in self._picked(expectations(self._tests(module)), pick):
            block = self.hand.test(module, name, int(name[1:]))
            self._edit_tests(module, with_changed(self._tests(module), f"test_{name}", block))

    @rule(module=MODULE, pick=PICK)
    def expect_something_else(self, module: str, pick: int) -> None:
        for name in self._picked(expectations(self._tests(module)), pick):
            block = self.hand.test(module, name, int(name[1:]) + WRONG)
            self._edit_tests(module, with_changed(self._tests(module), f"test_{name}", block))

    @rule(module=MODULE, pick=PICK)
    def delete_a_test(self, module: str, pick: int) -> None:
        for name in self._picked(expectations(self._tests(module)), pick):
            self._edit_tests(module, without(self._tests(module), f"test_{name}"))

    @rule()
    def make_the_source_right(self) -> None:
        self.person("make the source right", lambda: make_right(self.here, self.hand))

    @rule(module=MODULE, at=PICK)
    def write_source_first(self, module: str, at: int) -> None:
        name = self.hand.new_name()
        block = self.hand.function(name, int(name[1:]))
        self._edit_source(module, with_block(self._source(module), block, at=at))

    @rule(module=MODULE, pick=PICK)
    def make_a_function_wrong(self, module: str, pick: int) -> None:
        for name in self._picked(functions(self._source(module)), pick):
            block = self.hand.function(name, int(name[1:]) + WRONG)
            self._edit_source(module, with_changed(self._source(module), name, block))

    @rule(module=MODULE, pick=PICK)
    def delete_a_function(self, module: str, pick: int) -> None:
        for name in self._picked(functions(self._source(module)), pick):
            self._edit_source(module, without(self._source(module), name))

    @rule(module=MODULE)
    def break_the_source(self, module: str) -> None:
        block = f"def broken(:  # {self.hand.mark()}"
        self._edit_source(module, with_changed(self._source(module), "broken", block))

    @rule(module=MODULE)
    def change_a_docstring(self, module: str) -> None:
        text = self._source(module)
        if text.startswith('"""'):
            self._edit_source(module, with_docstring(text, self.hand.module(module).rstrip("\n")))

    @rule(module=MODULE, in_tests=st.booleans(), at=PICK)
    def write_a_comment(self, module: str, *, in_tests: bool, at: int) -> None:
        path = test_file(module) if in_tests else f"{module}.py"
        self.edit(path, with_block(self.here.read(path), self.hand.comment(), at=at))

    @rule(key=st.sampled_from(RUNNER_KEYS))
    def configure_the_runner(self, key: str) -> None:
        """Sets the key, or takes it out again."""
        before = self.here.read("pytest.ini")
        line = f"{key}\n"
        self.edit("pytest.ini", before.replace(line, "") if line in before else before + line)

    @rule(path=st.sampled_from(("tdd.yaml", "pytest.ini")))
    def comment_on_the_configuration(self, path: str) -> None:
        self.edit(path, f"{self.here.read(path)}{self.hand.comment()}\n")

    @rule()
    def write_a_page(self) -> None:
        self.edit("README.md", f"{self.here.read('README.md')}{self.hand.mark()}\n")

    def _tests(self, module: str) -> str:
        return self.here.read(test_file(module)) or self.hand.tests_of(module)

    def _edit_tests(self, module: str, text: str) -> None:
        self.edit(test_file(module), text)

    def _source(self, module: str) -> str:
        return self.here.read(f"{module}.py") or self.hand.module(module)

    def _edit_source(self, module: str, text: str) -> None:
        self.edit(f"{module}.py", text)

    @staticmethod
    def _picked(named: dict[str, int], pick: int) -> list[str]:
        names = sorted(named)
        return [names[pick % len(names)]] if names else []
