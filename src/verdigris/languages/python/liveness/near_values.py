"""Finds other plausible numbers and texts: near the asserted value, never equal to it."""

from __future__ import annotations

import ast
import cmath
import math
import re
import string
from collections import defaultdict
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from verdigris.languages.literals import Chance


T = TypeVar("T")
_ANY_SIZE = 0.4
"""From this relative tolerance on, no nearby number is certain to be rejected."""
_RELATIVE = 1e-6
"""The default tolerance of `approx`."""
_DIGITS = 6
"""Only this many digits count: a project's own number type may round the rest away."""
_CLASSES = (string.ascii_lowercase, string.ascii_uppercase, string.digits)


class ValueSource:
    """Draws other values: at random, and from the values that the suite expects."""

    def __init__(self, random: Chance) -> None:
        self.random = random
        self._values: dict[type, list[object]] = defaultdict(list)
        self._members: dict[str, list[str]] = defaultdict(list)

    def learn(self, nodes: Iterable[ast.expr]) -> None:
        """Collects the constants that tests expect, and the members of classes by the name of the class."""
        for node in nodes:
            for part in ast.walk(node):
                match part:
                    case ast.Constant(value=old) if old is not None and old is not ...:
                        known = self._values[type(old)]
                        if old not in known:
                            known.append(old)
                    case ast.Attribute(value=ast.Name(id=owner), attr=member) if _is_member(owner, member):
                        if member not in self._members[owner]:
                            self._members[owner].append(member)

    def values(self, kind: type) -> list[object]:
        """The collected values of exactly this type, in random order."""
        known = self._values.get(kind, [])
        return self.random.sample(known, len(known))

    def any_values(self) -> list[object]:
        """Collected values of different types, each once, in random order."""
        known = [value for kind in (int, str, float, bytes) for value in self._values.get(kind, ())]
        distinct = list({repr(value): value for value in known}.values())
        return self.random.sample(distinct, len(distinct))

    def members(self, owner: str, besides: str) -> list[str]:
        known = [member for member in self._members[owner] if member != besides]
        return self.random.sample(known, len(known))


def _other_values(old: object, draw: ValueSource, slack: float, apart: frozenset[str]) -> Iterator[object]:
    match old:
        case bool():
            yield not old
        case int() | float():
            near: list[object] = list(_near_numbers(old, slack, draw))
            known = [
                v
                for v in draw.values(type(old))
                if repr(v) not in apart and _is_outside_tolerance(v, old, slack)
            ]
            yield from _alternate(near, known, draw)
        case complex():
            yield old + draw.random.choice((1, -1, 1j, -1j))
        case None:
            yield from [*draw.values(str), *draw.values(int)] or [draw.random.randint(1, 9)]
        case _:
            yield None


def _is_outside_tolerance(new: object, old: float, slack: float) -> bool:
    return isinstance(new, int | float) and abs(new - old) > 2 * slack and not math.isclose(new, old)


def _near_numbers(old: float, slack: float, draw: ValueSource) -> Iterator[int | float]:
    """One number above and one below, outside of the tolerance; one with as many digits comes first."""
    if not cmath.isfinite(old):
        yield 0.0
        return
    whole = type(old) is int
    step = 1.0
    if not whole:
        step = 10.0 ** -min(_decimals(old), max(0, _DIGITS - len(str(int(abs(old))))))
    while step <= 2 * slack:
        step *= 10
    by = int(step) if whole else step
    new = [round(old + by, 12), round(old - by, 12)]
    draw.random.shuffle(new)
    new.sort(key=lambda n: (len(repr(n)) != len(repr(old)), (n < 0) != (old < 0)))
    yield from (n for n in new if n != old and (old or n > 0))


def _decimals(number: float) -> int:
    _, _, behind = repr(number).partition(".")
    return len(behind) if behind.isdigit() and behind != "0" else 0


def _other_texts(old: str | bytes, draw: ValueSource, apart: frozenset[str]) -> Iterator[str | bytes]:
    plain = old if isinstance(old, str) else old.decode("latin-1")
    near = [new if isinstance(old, str) else new.encode("latin-1") for new in _misspell(plain, draw)]
    same = [v for v in draw.values(type(old)) if isinstance(v, str | bytes)]
    known = [v for v in same if repr(v) not in apart and not _may_be_equal(v, old)]
    yield from _alternate(near, known, draw)
    if not near and not known:
        letter = draw.random.choice(string.ascii_lowercase)
        yield old + letter if isinstance(old, str) else old + letter.encode()


def _misspell(old: str, draw: ValueSource) -> Iterator[str]:
    """Swaps two letters, replaces one by another of its kind, and leaves one out."""
    ways: list[Callable[[str, ValueSource], str | None]] = [_swap_characters, _replace_character, _shorten]
    draw.random.shuffle(ways)
    made = (way(old, draw) for way in ways)
    yield from (new for new in made if new is not None and not _may_be_equal(new, old))


def _swap_characters(old: str, draw: ValueSource) -> str | None:
    places = [
        i
        for i in range(len(old) - 1)
        if old[i].isalnum() and old[i + 1].isalnum() and old[i].casefold() != old[i + 1].casefold()
    ]
    if not places:
        return None
    at = draw.random.choice(places)
    return old[:at] + old[at + 1] + old[at] + old[at + 2 :]


def _replace_character(old: str, draw: ValueSource) -> str | None:
    places = [i for i, c in enumerate(old) if any(c in alphabet for alphabet in _CLASSES)]
    if not places:
        return None
    at = draw.random.choice(places)
    alphabet = next(alphabet for alphabet in _CLASSES if old[at] in alphabet)
    own = sorted({c for c in old if c in alphabet and c.casefold() != old[at].casefold()})
    new = draw.random.choice(own or [c for c in alphabet if c != old[at]])
    return old[:at] + new + old[at + 1 :]


def _shorten(old: str, draw: ValueSource) -> str | None:
    places = [i for i, c in enumerate(old) if c.isalpha()]
    if len(old) < 3 or not places:  # noqa: PLR2004 - something recognisable is left
        return None
    at = draw.random.choice(places)
    return old[:at] + old[at + 1 :]


def _other_digit(old: str, draw: ValueSource) -> str:
    at = draw.random.choice([i for i, c in enumerate(old) if c.isdigit()])
    new = draw.random.choice([c for c in "123456789" if c != old[at]])
    return old[:at] + new + old[at + 1 :]


def _may_be_equal(one: object, other: object) -> bool:
    """Whether a project's own type may rightly treat both as equal: they differ in case, signs or zeros."""
    return _normalized_text(one) == _normalized_text(other)


def _normalized_text(text: object) -> str:
    plain = text.decode("latin-1") if isinstance(text, bytes) else str(text)
    return re.sub(r"[\W_0]+", "", plain.casefold()) or plain.strip()


def _alternate(near: Sequence[T], known: Sequence[T], draw: ValueSource) -> Iterator[T]:
    """Takes nearby values and expected ones in turn; which comes first is random."""
    pair = [near, known]
    draw.random.shuffle(pair)
    for number in range(max(len(near), len(known))):
        for kind in pair:
            yield from kind[number : number + 1]


def _is_member(owner: str, member: str) -> bool:
    """Whether a name is spelt like a member of an enumeration; constants of a module may be equal."""
    return owner[:1].isupper() and not owner.isupper() and member.isupper()
