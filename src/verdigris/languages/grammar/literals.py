"""Draws plausible other literals for an assertion, and gives tests other inputs.

Code that equals anything that looks like an answer, or that reads its answers from the tests, passes with the
other literal as well; honest code does not.
"""

from __future__ import annotations

import re
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.grammar.conditions import NUMBERS, TEXTS, is_interpolated
from verdigris.languages.grammar.trees import COMMENTS, line_of, part, parts, text_of_node, tree_of
from verdigris.languages.literals import Replaced, other_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from random import Random

    from tree_sitter import Node

    from verdigris.languages.findings import WrittenTest
    from verdigris.languages.literals import Chance


_TRUTHS = {"true": "false", "false": "true", "True": "False", "False": "True"}
_NUMBER = re.compile(
    r"(?P<lead>(?:0[xXbBoO])?)(?P<whole>(?<=[xX])[\da-fA-F_]+?|\d[\d_]*)"
    r"(?P<rest>(?:\.\d[\d_]*)?(?:(?<![xX])[eE][+-]?\d+)?)(?P<kind>(?:[iuf]\d+|[iu]size|n)?)\Z"
)
_LARGEST = (127, 255, 32_767, 65_535, 2**31 - 1, 2**32 - 1, 2**53 - 1, 2**63 - 1, 2**64 - 1)
_QUOTED = re.compile(
    r"""(?P<open>(?:b|c|r|br|cr|rb|u)?\#*["'`])(?P<inside>.*)(?P<close>["'`]\#*)\Z""", re.DOTALL
)
_JOINED = re.compile(
    r"""(?P<first>[bru]{0,2}(?P<quote>["'])(?!(?P=quote))(?:\\.|(?!(?P=quote)).)*(?P=quote))"""
    r"""(?P<gap>(?:\s|\\\n)*)(?P<rest>[bru]{0,2}["'].*)\Z""",
    re.DOTALL,
)
"""Texts that stand one after the other, and are one value."""
_UNIT = re.compile(
    r"\\(?:u\{[^}]*\}|N\{[^}]*\}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[0-7]{3}|.)|.", re.DOTALL
)
_CLASSES: tuple[Callable[[str], bool], ...] = (str.isdigit, str.isupper, str.islower)
_SPARE = ("0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


@value
class Pool:
    """The expected values of a suite, as its files write them."""

    literals: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()
    """Members of enumerations, with the name of the enumeration."""
    any_size: bool = False
    """True if an expected value may have any size: no type of the language limits it."""

    def other_members(self, member: str) -> list[str]:
        """Other members of the same enumeration."""
        owner = re.split(r"\w+\Z", member)[0]
        return sorted(one for one in self.members if one != member and re.split(r"\w+\Z", one)[0] == owner)


def other_literals(text: str, pool: Pool, dice: Random, apart: Collection[str] = ()) -> list[str]:
    """Other literals in random order; each kind of change comes once before any kind comes again.

    A value that the suite expects elsewhere, if there is one, is among the first two.
    `apart`: other values that one honest object may equal, too.
    """
    if text in _TRUTHS:
        return [_TRUTHS[text]]
    if joined := _JOINED.match(text):
        first, gap, rest = joined["first"], joined["gap"], joined["rest"]
        others = other_literals(first, pool, dice, apart)
        return [f"{one}{gap}{rest}" for one in others] or [
            f"{first}{gap}{one}" for one in other_literals(rest, pool, dice, apart)
        ]
    if text[:1].isdigit():
        near, known = _numbers(text, pool)
    elif quoted := _QUOTED.match(text):
        near, known = _change_quoted(quoted, pool, dice)
    else:
        return []
    kinds = [_shuffle({one for one in kind if _is_other(one, text)}, dice) for kind in near]
    dice.shuffle(kinds)
    fitting = {one for one in known if one not in apart and _is_other(one, text, any_size=pool.any_size)}
    kinds.insert(dice.randrange(2), _shuffle(fitting, dice))
    taken = (one for one in chain.from_iterable(zip_longest(*kinds)) if one is not None)
    return list(dict.fromkeys(taken))


def _is_other(new: str, old: str, *, any_size: bool = False) -> bool:
    """Whether honest code that answers the old value never equals the new one."""
    is_text = not old[:1].isdigit()
    return (
        new != old
        and (any_size or _size(new) == _size(old))
        and not (is_text and _normalized(new) == _normalized(old))
    )


def _normalized(text: str) -> str:
    """The text without what a project's own type may rightly ignore: case, signs and zeros."""
    return re.sub(r"[\W_0]+", "", text.casefold()) or text


def far_numbers(text: str, dice: Random, slack: float = 0) -> list[str]:
    """Numbers one unit away, or farther than twice the tolerance; honest code fails with each of them."""
    found = _NUMBER.match(text)
    if found is None or found["lead"] or "e" in found["rest"].lower():
        return []
    step = 1
    while step <= 2 * slack:
        step *= 10
    steps = [f"{one}{found['rest']}{found['kind']}" for one in _neighbours(found["whole"], 10, step)]
    return _shuffle({one for one in steps if one != text}, dice)


def is_plain(text: str) -> bool:
    """Whether the text is a literal for which others can be drawn."""
    return text in _TRUTHS or text[:1].isdigit() or _QUOTED.match(text) is not None


# -- numbers -------------------------------------------------------------------------------------------------


def _numbers(text: str, pool: Pool) -> tuple[list[list[str]], list[str]]:
    """Near numbers by the kind of change, and those of the suite."""
    found = _NUMBER.match(text)
    if found is None:
        return [], []
    lead, whole, rest, kind = found.groups()
    base = {"0x": 16, "0b": 2, "0o": 8}.get(lead.lower(), 10)
    near = [f"{lead}{one}{rest}{kind}" for one in _neighbours(whole, base)]
    same = [
        one
        for one in pool.literals
        if (like := _NUMBER.match(one)) and like["lead"] == lead and like["kind"] == kind
        if bool(like["rest"]) == bool(rest) and _fits_type(like["whole"], whole, base)
    ]
    if rest:  # the last digits of a fraction may be rounded away; the first one is not
        return [near, [f"{lead}{whole}{one}{kind}" for one in _fractions(rest)]], same
    swapped = [f"{lead}{one}{kind}" for one in _swap_digits(whole) if _fits_type(one, whole, base)]
    return [near, swapped], same


def _neighbours(whole: str, base: int, step: int = 1) -> list[str]:
    """The next and the previous number, if they have as many digits; `_` between digits stays in place.

    With a larger step, numbers may have any digits.
    """
    digits = whole.replace("_", "")
    was = int(digits, base)
    if step > 1:
        return [str(number) for number in (was + step, was - step) if number >= 0]
    made = []
    for number in (was + 1, was - 1):
        if number < 0 or (number > was and was in _LARGEST):
            continue
        text = format(number, {16: "x", 2: "b", 8: "o"}.get(base, "d")).rjust(len(digits), "0")
        if digits.upper() == digits:
            text = text.upper()
        if len(text) == len(digits) and (digits[0] == "0" or text[0] != "0" or len(text) == 1):
            left = iter(text)
            made.append("".join(mark if mark == "_" else next(left) for mark in whole))
    return made


def _fractions(rest: str) -> list[str]:
    if not rest.startswith("."):
        return []
    first = int(rest[1])
    return [f".{digit}{rest[2:]}" for digit in (first + 1, first - 1) if 0 <= digit <= 9]  # noqa: PLR2004


def _swap_digits(digits: str) -> list[str]:
    return [
        f"{digits[:i]}{digits[j]}{digits[i + 1 : j]}{digits[i]}{digits[j + 1 :]}"
        for i in range(len(digits))
        for j in range(i + 1, len(digits))
        if digits[i] != digits[j] and "_" not in digits[i] + digits[j] and (i or digits[j] != "0")
    ]


def _fits_type(other: str, whole: str, base: int) -> bool:
    """Whether the other number fits the smallest type that holds the old one; if not, it may not compile."""
    was, now = (int(text.replace("_", ""), base) for text in (whole, other))
    return now <= next((bound for bound in _LARGEST if was <= bound), was)


# -- texts ---------------------------------------------------------------------------------------------------


def _change_quoted(found: re.Match[str], pool: Pool, dice: Random) -> tuple[list[list[str]], list[str]]:
    """Near texts by the kind of change, and those of the suite."""
    before, inside, after = found.groups()
    if before.endswith("`") and "${" in inside:
        return [], []
    raw = before.rstrip("#\"'`").endswith("r") or (before == "`" and "\\" not in inside)
    units = list(inside) if raw else _UNIT.findall(inside)
    plain = [at for at, unit in enumerate(units) if _is_plain(unit)]
    same = [one for one in _quoted_texts(pool) if _may_replace(one, before, inside)]
    known = [one for one in same if pool.any_size or before != "'" or len(one) == 1 or len(units) > 1]
    kinds = [_exchange_letters(units, plain, dice), _replace_letter(units, plain, "".join(same)), known]
    if not units and pool.any_size:
        kinds[0] = [dice.choice(_SPARE[-1])]
    *near, known = ([f"{before}{one}{after}" for one in kind if "${" not in one] for kind in kinds)
    return near, known


def _may_replace(text: str, quotes: str, old: str) -> bool:
    """Whether a text of the suite is valid there, and plausible: a number becomes no word."""
    is_number = bool(old) and not any(map(str.isalpha, old))
    return (text.isascii() or "b" not in quotes) and not (is_number and any(map(str.isalpha, text)))


def _quoted_texts(pool: Pool) -> list[str]:
    """The suite's texts that can stand between quotes of any kind."""
    insides = (found["inside"] for one in pool.literals if (found := _QUOTED.match(one)))
    return sorted({text for text in insides if text and not set("\\\"'`\n\r") & set(text)})


def _is_plain(unit: str) -> bool:
    return len(unit) == 1 and unit not in "\\\"'`${}" and not unit.isspace()


def _exchange_letters(units: Sequence[str], plain: Sequence[int], dice: Random) -> list[str]:
    """Swaps two different letters or digits; other characters only if there are too few of these."""
    letters = [at for at in plain if units[at].isalnum()]
    if len({units[at] for at in letters}) < 2:  # noqa: PLR2004
        letters = list(plain)
    made = []
    for _ in range(8):
        pair = dice.sample(letters, 2) if len(letters) > 1 else []
        if pair and units[pair[0]] != units[pair[1]]:
            text = list(units)
            text[pair[0]], text[pair[1]] = text[pair[1]], text[pair[0]]
            made.append("".join(text))
    return made


def _replace_letter(units: Sequence[str], plain: Sequence[int], suite: str) -> list[str]:
    """Replaces a letter with one of its class: from the literal itself, else the suite, else the alphabet."""
    letters = [at for at in plain if units[at].isalnum()] or list(plain)
    made = []
    for at in letters:
        for alphabet in ("".join(units[i] for i in plain), suite, *_SPARE):
            fit = {
                one for one in alphabet if one != units[at] and _letter_class(one) == _letter_class(units[at])
            }
            if fit:
                made += ["".join([*units[:at], one, *units[at + 1 :]]) for one in fit]
                break
    return made


def _letter_class(letter: str) -> int:
    return next((number for number, is_of in enumerate(_CLASSES) if is_of(letter)), -1 - letter.isalnum())


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _shuffle(texts: Iterable[str], dice: Random) -> list[str]:
    found = sorted(texts)
    dice.shuffle(found)
    return found


_GIVING = frozenset({"arguments", "argument_list", "literal_value"})
_TELLING = re.compile(
    r"\w+\.(Error|Errorf|Fatal|Fatalf|Log|Logf|Skip|Skipf|Run)|(describe|it|test|suite|context)(\.\w+)*"
)
"""Calls whose literals are names and messages. Changed messages may also fail `go vet`, and so the build."""
_PLAIN_NUMBER = re.compile(r"(0|[1-9]\d*)((?:\.\d+)?)")
_MESSAGE = re.compile(r"match\s*=[^=]")
"""The argument that says which message an error has."""
_TABLE = re.compile(r"@(?:\w+\.)*parametrize\(")
_BODIES = frozenset({"statement_block", "block"})


def replace_by_grammar(
    path: str, data: bytes, tests: Iterable[WrittenTest], lot: Chance, tried: Collection[int]
) -> tuple[Replaced, ...]:
    """Replaces one literal of every test, chosen at random."""
    root, fault = tree_of(path, data)
    if fault is not None:
        return ()
    inputs = list(_inputs(root))
    found: dict[int, Replaced] = {}
    for test in tests:
        mine = [node for node in inputs if test.first <= line_of(node) <= test.last]
        fresh = [node for node in mine if node.start_byte not in tried] or mine
        if fresh and (one := _replace_literal(lot.choice(fresh), lot)) is not None:
            found[one.start] = one
    return tuple(found.values())


def _inputs(root: Node) -> Iterator[Node]:
    """Literals in a body that are passed to a call, and the rows of a table above it.

    In a Rust macro, those in an inner pair of brackets.
    """
    stack: list[tuple[Node, int, bool]] = [(root, 0, False)]
    while stack:
        node, depth, given = stack.pop()
        if node.type in COMMENTS or node.type == "template_string" or _MESSAGE.match(text_of_node(node)):
            continue
        if node.type in NUMBERS | TEXTS:
            if given and not is_interpolated(node):
                yield node
            continue
        if node.type == "decorator":
            given_rows = parts(part(parts(node)[0], "arguments")) if _TABLE.match(text_of_node(node)) else []
            stack += ((row, depth, True) for row in given_rows[1:2])
            continue
        if node.type in _BODIES:
            depth, given = depth + 1, False
        elif node.type in _GIVING:
            called = part(node.parent, "function") if node.parent is not None else None
            given = depth > 0 and _TELLING.fullmatch(text_of_node(called)) is None
        elif node.type == "token_tree":
            given = node.parent is not None and node.parent.type == "token_tree"
        stack += ((child, depth, given) for child in reversed(node.children))


def _replace_literal(node: Node, lot: Chance) -> Replaced | None:
    text = text_of_node(node)
    if node.type in NUMBERS:
        found = _PLAIN_NUMBER.fullmatch(text)
        if found is None:
            return None
        # A negative number does not compile for an unsigned type.
        now = f"{other_value(int(found[1]), lot)}{found[2]}" if int(found[1]) > 0 else f"1{found[2]}"
    else:
        inner = text[1:-1]
        if text[:1] not in "\"'" or text[:1] in inner or not inner.isprintable():
            return None
        drawn = f"{inner}x" if "\\" in inner else str(other_value(inner, lot))
        now = f"{text[0]}{drawn}{text[0]}"
    return Replaced(node.start_byte, node.end_byte, now, line_of(node), text)
