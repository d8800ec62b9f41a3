"""The String Calculator in Python, from nothing to the last rule of the kata."""

from __future__ import annotations

from support.katas.script import Script

ADDING = "src/string_calculator/adding.py"
READING = "src/string_calculator/reading.py"
NUMBERS_IN = """\
def numbers_in(text: str) -> list[int]:
    separators, body = _parts_of(text)
    for separator in separators:
        body = body.replace(separator, ",")
    return [int(number) for number in body.replace("\\n", ",").split(",")] if body else []


def _parts_of(text: str) -> tuple[list[str], str]:
    if not text.startswith("//"):
        return [], text
"""
REFUSE_NEGATIVES = """\
def _refuse_negatives(numbers: list[int]) -> None:
    negatives = [str(number) for number in numbers if number < 0]
    if negatives:
        raise ValueError(f"negatives not allowed: {', '.join(negatives)}")
"""


def script() -> Script:
    play = Script(test_file="tests/test_adding.py")
    _first_sums(play)
    _separators(play)
    _negatives(play)
    _large_and_long(play)
    play.done("Every rule of the kata has a test that shows it.")
    return play


def _first_sums(play: Script) -> None:
    play.test(
        "show that an empty string is zero",
        "The empty string is the first rule and the simplest input there is.",
        "from string_calculator.adding import add\n"
        "\n\n"
        "def test_an_empty_string_is_zero():\n"
        '    assert add("") == 0\n',
        {ADDING: "def add(numbers: str) -> int:  # STUB:TDD\n    return -1\n"},
        points=(1,),
    )
    play.implement(
        "give zero for an empty string",
        "One test asks for one value, so the constant is all that is needed.",
        {ADDING: "def add(numbers: str) -> int:\n    return 0\n"},
    )
    play.nothing("A function of one line has no structure to improve yet.")
    play.test(
        "show that a single number is its own value",
        "The second rule; it makes the constant of the first one wrong.",
        '\n\ndef test_a_single_number_is_its_own_value():\n    assert add("7") == 7\n',
        points=(2,),
    )
    play.implement(
        "read a single number",
        "An empty string has no number to read, so it keeps its own answer.",
        {
            ADDING: "def add(numbers: str) -> int:\n"
            "    if not numbers:\n"
            "        return 0\n"
            "    return int(numbers)\n"
        },
    )
    play.nothing("Two cases, two returns: it reads as the kata does.")
    play.test(
        "show that two numbers are summed",
        "The third rule; two numbers are the smallest sum.",
        '\n\ndef test_numbers_with_a_comma_between_them_are_summed():\n    assert add("1,2") == 3\n',
        points=(3,),
    )
    play.implement(
        "sum the numbers between commas",
        "Splitting at the comma serves any amount of numbers, as the rule says, at no more cost than two.",
        {
            ADDING: "def add(numbers: str) -> int:\n"
            "    if not numbers:\n"
            "        return 0\n"
            '    return sum(int(number) for number in numbers.split(","))\n'
        },
    )
    play.refactor(
        "tell reading the numbers from adding them",
        "The sum is one thing and the form of the string another, and all further rules are about the form.",
        {
            ADDING: "def add(numbers: str) -> int:\n"
            "    return sum(_numbers_in(numbers))\n"
            "\n\n"
            "def _numbers_in(text: str) -> list[int]:\n"
            "    if not text:\n"
            "        return []\n"
            '    return [int(number) for number in text.split(",")]\n'
        },
    )


def _separators(play: Script) -> None:
    play.test(
        "show that a line break separates numbers too",
        "The fourth rule; the example of the kata mixes both separators.",
        '\n\ndef test_a_line_break_separates_numbers_too():\n    assert add("1\\n2,3") == 6\n',
        points=(4,),
    )
    play.implement(
        "take line breaks for commas",
        "With every line break made a comma, the rest stays as it is.",
        {
            ADDING: "def add(numbers: str) -> int:\n"
            "    return sum(_numbers_in(numbers))\n"
            "\n\n"
            "def _numbers_in(text: str) -> list[int]:\n"
            "    if not text:\n"
            "        return []\n"
            '    return [int(number) for number in text.replace("\\n", ",").split(",")]\n'
        },
    )
    play.nothing("One replacement in one place; the next separator will show what form it needs.")
    play.test(
        "show that a first line names another separator",
        "The fifth rule, with the example of the kata.",
        '\n\ndef test_a_first_line_names_another_separator():\n    assert add("//;\\n1;2") == 3\n',
        points=(5,),
    )
    play.implement(
        "read the separator from the first line",
        "The named separator becomes a comma as the line break does.",
        {
            ADDING: "def add(numbers: str) -> int:\n"
            "    return sum(_numbers_in(numbers))\n"
            "\n\n"
            "def _numbers_in(text: str) -> list[int]:\n"
            '    if text.startswith("//"):\n'
            '        first, _, rest = text.partition("\\n")\n'
            '        text = rest.replace(first[2:], ",")\n'
            "    if not text:\n"
            "        return []\n"
            '    return [int(number) for number in text.replace("\\n", ",").split(",")]\n'
        },
    )
    play.refactor(
        "move reading into a module of its own",
        "How a string is read has grown to more than the sum: it gets its own place.",
        {
            ADDING: "from string_calculator.reading import numbers_in\n"
            "\n\n"
            "def add(numbers: str) -> int:\n"
            "    return sum(numbers_in(numbers))\n",
            READING: NUMBERS_IN + '    first, _, body = text.partition("\\n")\n'
            "    return [first[2:]], body\n",
        },
    )


def _negatives(play: Script) -> None:
    imports = "import pytest\n\n"
    play.tests = imports + play.tests
    play.test(
        "show that a negative number is refused",
        "The sixth rule: what is refused, and the words that say so.",
        "\n\ndef test_a_negative_number_is_refused():\n"
        '    with pytest.raises(ValueError, match="^negatives not allowed: -2$"):\n'
        '        add("1,-2")\n',
        points=(6,),
    )
    play.implement(
        "refuse a negative number",
        "The first one that is met is named; the rule about several of them has no test yet.",
        {
            ADDING: "from string_calculator.reading import numbers_in\n"
            "\n\n"
            "def add(numbers: str) -> int:\n"
            "    found = numbers_in(numbers)\n"
            "    for number in found:\n"
            "        if number < 0:\n"
            '            raise ValueError(f"negatives not allowed: {number}")\n'
            "    return sum(found)\n"
        },
    )
    play.nothing("The next rule is about this very message; it would be too early to give it a form.")
    play.test(
        "show that all negative numbers are named",
        "The seventh rule: so far only the first one is.",
        "\n\ndef test_all_negative_numbers_are_named_in_their_order():\n"
        '    with pytest.raises(ValueError, match="^negatives not allowed: -1, -3$"):\n'
        '        add("-1,2,-3")\n',
        points=(7,),
    )
    play.implement(
        "name all negative numbers",
        "They are gathered first, and one message names them all.",
        {
            ADDING: "from string_calculator.reading import numbers_in\n"
            "\n\n"
            "def add(numbers: str) -> int:\n"
            "    found = numbers_in(numbers)\n"
            "    negatives = [str(number) for number in found if number < 0]\n"
            "    if negatives:\n"
            "        raise ValueError(f\"negatives not allowed: {', '.join(negatives)}\")\n"
            "    return sum(found)\n"
        },
    )
    play.refactor(
        "give the refusal a function of its own",
        "What may be added is a rule by itself, and `add` reads better when it only says that it is kept.",
        {
            ADDING: "from string_calculator.reading import numbers_in\n"
            "\n\n"
            "def add(numbers: str) -> int:\n"
            "    found = numbers_in(numbers)\n"
            "    _refuse_negatives(found)\n"
            "    return sum(found)\n"
            "\n\n" + REFUSE_NEGATIVES
        },
    )


def _large_and_long(play: Script) -> None:
    adding = (
        "from string_calculator.reading import numbers_in\n"
        "\nLARGEST = 1000\n"
        "\n\n"
        "def add(numbers: str) -> int:\n"
        "    found = numbers_in(numbers)\n"
        "    _refuse_negatives(found)\n"
        "    return sum(number for number in found if number <= LARGEST)\n"
        "\n\n" + REFUSE_NEGATIVES
    )
    play.test(
        "show that numbers above 1000 are left out",
        "The eighth rule, on both sides of its limit.",
        "\n\ndef test_numbers_above_1000_are_left_out():\n"
        '    assert add("2,1001") == 2\n'
        '    assert add("1000,1") == 1001\n',
        points=(8,),
    )
    play.implement(
        "leave out numbers above 1000", "One condition where the numbers are summed.", {ADDING: adding}
    )
    play.nothing("The limit has a name, and each rule its line.")
    play.test(
        "show that a separator in brackets may be long",
        "The ninth rule, with the example of the kata.",
        '\n\ndef test_a_separator_in_brackets_may_be_long():\n    assert add("//[***]\\n1***2***3") == 6\n',
        points=(9,),
    )
    head = NUMBERS_IN + '    first, _, body = text.partition("\\n")\n'
    play.implement(
        "read a separator in brackets",
        "The brackets around the separator are taken away; what they hold is replaced as before.",
        {READING: head + '    return [first[2:].removeprefix("[").removesuffix("]")], body\n'},
    )
    play.nothing("The last rule will ask for more than one pair of brackets; then their reading takes form.")
    play.test(
        "show that several separators may be named",
        "The tenth rule: the first of them short, the second long.",
        '\n\ndef test_several_separators_may_be_named():\n    assert add("//[*][%%]\\n1*2%%3") == 6\n',
        points=(10,),
    )
    play.implement(
        "read every separator in brackets",
        "Between the outer brackets the separators stand with `][` between them.",
        {
            READING: head
            + '    named = first[2:].removeprefix("[").removesuffix("]").split("][")\n'
            + "    return named, body\n"
        },
    )
    play.refactor(
        "let the reading of the first line stand alone",
        "Three things happen in one function: telling the first line apart, reading it, and the usual case.",
        {
            READING: NUMBERS_IN + '    first, _, body = text.removeprefix("//").partition("\\n")\n'
            "    return _named_in(first), body\n"
            "\n\n"
            "def _named_in(line: str) -> list[str]:\n"
            '    return line.removeprefix("[").removesuffix("]").split("][")\n'
        },
    )
