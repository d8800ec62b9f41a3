"""The conversations of a machine's run on the String Calculator, without the run itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from verdigris.core.paths import PathClass
from verdigris.drivers.machine import history
from verdigris.drivers.machine.history import TESTER
from verdigris.models.protocol import Ask, ModelReply
from verdigris.models.roles.context import Material
from verdigris.models.roles.conversation import begin, edit, say
from verdigris.models.roles.prompt import Task
from verdigris.models.roles.teams import MACHINE

KATA = """\
# String Calculator

Write a function `add(numbers: str) -> int`.

1. An empty string gives 0; one number gives that number; two numbers, separated by a comma, give their sum.
2. Any amount of numbers may be given.
3. New lines between numbers are separators as well: `1\\n2,3` gives 6. `1,\\n` is not valid input.
4. A first line `//;` changes the separator: `//;\\n1;2` gives 3. The first line is optional.
5. A negative number raises an error: "negatives not allowed", with all negative numbers in the message.
6. Numbers above 1000 are ignored: adding 2 and 1001 gives 2.
7. Separators may be of any length: `//[***]\\n1***2***3` gives 6.
8. Several separators are allowed: `//[*][%]\\n1*2%3` gives 6.
"""
PYPROJECT = (
    '[project]\nname = "calculator"\nversion = "0.1.0"\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n'
)
TEST = "tests/test_calculator.py"
SOURCE = "src/calculator.py"


def classify(path: str) -> PathClass:
    if path == "tdd.yaml":
        return PathClass.SWITCH
    if path.startswith("tests/"):
        return PathClass.TEST
    return PathClass.SOURCE if path.startswith("src/") else PathClass.OTHER


def start(budget: int = 24_000) -> Material:
    ground = {
        "pyproject.toml": PYPROJECT,
        "kata.md": KATA,
        "tdd.yaml": "stacks: []\n",
        "tests/__init__.py": "",
    }
    return Material(KATA, classify, runner="pytest", kata_path="kata.md", files=ground, budget=budget)


def test_text(cases: int) -> str:
    head = "import pytest\n\nfrom calculator import add\n"
    return head + "".join(
        f'\n\ndef test_case_{n}_adds_what_the_kata_says():\n    assert add("{n},{n}\\n{n}") == {3 * n}\n'
        for n in range(1, cases + 1)
    )


def source_text(lines: int) -> str:
    head = '"""Adds the numbers of a string."""\n\n\ndef add(numbers: str) -> int:\n    separators = [","]\n'
    taken = "        separators.append(numbers[{n}:-{n}])\n"
    body = (f'    if numbers.startswith("//{n}"):\n{taken.format(n=n)}' for n in range(lines))
    return f"{head}{''.join(body)}    return 0\n"


@dataclass
class Canned:
    """Answers each question with a function."""

    answer: Callable[[Ask], str]
    name: str = "canned"
    asks: list[Ask] = field(default_factory=list)

    def ask(self, ask: Ask) -> ModelReply:
        self.asks.append(ask)
        return ModelReply(self.answer(ask))


_WHY = (
    "The next case is the smallest one that is missing: it goes into the existing file, beside the others,"
    " and needs no other change; after it the function has to tell apart two separators."
)
PLANNED = f'{{"verdict": "edit", "rationale": "{_WHY}", "read": [], "edits": []}}'
FAILED = "Not accepted [still-red].\n\n- test_case_1: AssertionError: 0 != 1\n"


def after(material: Material, subject: str, texts: dict[str, str]) -> Material:
    """The state after one more commit."""
    number = len(material.history) + 1
    return replace(
        material,
        files={**material.files, **texts},
        ages={**material.ages, **dict.fromkeys(texts, number)},
        history=(*material.history, subject),
    )


def run(steps: int = 20, *, budget: int = 24_000, retry_every: int = 4) -> list[Ask]:
    """Every question of a run in which each role commits, and sometimes needs a second attempt."""
    material, asks = start(budget), list[Ask]()
    role, cases, lines = TESTER, 0, 0
    for step in range(1, steps + 1):
        match role:
            case history.TESTER:
                cases += 1
                texts = {TEST: test_text(cases)} | ({SOURCE: source_text(0)} if cases == 1 else {})
            case _:
                lines += 1
                texts = {SOURCE: source_text(lines)}
        model = Canned(lambda _: "{}")
        talk, _ = edit(model, begin(material, Task(role, step)))
        if step % retry_every == 0:
            talk, _ = edit(model, say(talk, FAILED))
        asks += model.asks
        material = after(material, f"{role.commit_types[0]}: the case number {cases}", texts)
        role = MACHINE.after(role)
    return asks
