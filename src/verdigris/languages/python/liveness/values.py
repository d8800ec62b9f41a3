"""Finds plausible other values for a literal: of its type, near it, never equal to it."""

from __future__ import annotations

import ast
import cmath
import contextlib
import math
import re
import string
from collections import defaultdict
from typing import TYPE_CHECKING, TypeVar

from verdigris.languages.python.stubs.forms import last_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from verdigris.languages.literals import Chance
    from verdigris.languages.python.syntax import Source, TextEdit

T = TypeVar("T")
DRAWS = 3
"""How many other values are offered for one literal."""
_ANY_SIZE = 0.4
"""A relative tolerance from which on nothing near a number is surely outside of it."""
_RELATIVE = 1e-6
"""That of `approx` where none is given."""
_DIGITS = 6
"""As many of a number's digits are taken to matter: own types may round the rest away."""
_SETS = frozenset({"set", "frozenset"})
_NUMBERS = frozenset({"Decimal", "Fraction"})
_MAKERS = frozenset({"approx", "list", "tuple", "dict", "bytearray", "deque", "OrderedDict", "array"})
"""Calls that are equal exactly when their arguments are; of any other call we cannot know."""
_CLASSES = (string.ascii_lowercase, string.ascii_uppercase, string.digits)


class ValueSource:
    """Where other values come from: chance, and what else the suite expects."""

    def __init__(self, random: Chance) -> None:
        self.random = random
        self._values: dict[type, list[object]] = defaultdict(list)
        self._members: dict[str, list[str]] = defaultdict(list)

    def learn(self, nodes: Iterable[ast.expr]) -> None:
        """What tests expect; and members of classes, by the name of the class."""
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
        """Other values of this very type, in random order."""
        known = self._values.get(kind, [])
        return self.random.sample(known, len(known))

    def anything(self) -> list[object]:
        """Values of any type that are not equal to each other, in random order."""
        known = [value for kind in (int, str, float, bytes) for value in self._values.get(kind, ())]
        distinct = list({repr(value): value for value in known}.values())
        return self.random.sample(distinct, len(distinct))

    def members(self, owner: str, besides: str) -> list[str]:
        known = [member for member in self._members[owner] if member != besides]
        return self.random.sample(known, len(known))


def others(
    node: ast.expr, source: Source, draw: ValueSource, slack: float = 0, apart: Iterable[object] = ()
) -> list[TextEdit]:
    """Several edits, each of which makes another value; none where no literal decides what the node equals.

    `slack`: how near may count as equal. `apart`: values that one object may rightly equal besides this one.
    """
    new = list(_texts(node, source, draw, slack, frozenset(map(repr, apart))))
    kept = dict.fromkeys(text for text in new if text != source.segment(node))
    return [source.replaced(node, text) for text in list(kept)[:DRAWS]]


def _texts(
    node: ast.expr, source: Source, draw: ValueSource, slack: float, apart: frozenset[str]
) -> Iterator[str]:
    match node:
        case ast.Constant(value=str() | bytes() as old):
            yield from (_respelt(old, new, source.segment(node)) for new in _other_texts(old, draw, apart))
        case ast.Constant(value=old):
            yield from map(repr, _other_values(old, draw, slack, apart))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as old)):
            yield from map(repr, _other_values(-old, draw, slack, apart))
        case ast.JoinedStr():
            letter = draw.random.choice(string.ascii_lowercase)
            yield f"({source.segment(node)} {letter!r})"
        case ast.Attribute(value=ast.Name(id=owner), attr=member) if _is_member(owner, member):
            yield from (f"{owner}.{other}" for other in draw.members(owner, member))
        case ast.BinOp() if not slack and _reckons(node):
            yield from (f"({source.segment(node)} {sign} 1)" for sign in draw.random.sample(["+", "-"], 2))
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            yield from _other_items(node, parts, source, draw, slack)
        case ast.Dict(keys=keys, values=values):
            yield from _other_entries(node, keys, values, source, draw, slack)
        case ast.Call(func=func, args=args, keywords=keywords):
            yield from _other_made(node, last_name(func), args, keywords, source, draw)


def _reckons(node: ast.BinOp) -> bool:
    """Whether it is made of whole numbers, as far as it is written: one more is then another value."""
    within = [part for part in ast.walk(node) if isinstance(part, ast.BinOp)]
    sides = [side for part in within for side in (part.left, part.right)]
    written = [side.value for side in sides if isinstance(side, ast.Constant)]
    made = any(isinstance(side, ast.List | ast.Tuple | ast.JoinedStr | ast.Set | ast.Dict) for side in sides)
    whole = all(isinstance(part.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod) for part in within)
    return whole and not made and bool(written) and all(type(value) is int for value in written)


def _other_items(
    node: ast.expr, parts: Sequence[ast.expr], source: Source, draw: ValueSource, slack: float
) -> Iterator[str]:
    if not parts:
        opening, closing = source.segment(node)[0], source.segment(node)[-1]
        item = repr((draw.anything() or [draw.random.randint(1, 9)])[0])
        yield f"{opening}{item}{',' if opening == '(' else ''}{closing}"
        return
    known = {source.segment(part) for part in parts}
    yield from _within(node, parts, source, draw, slack, known)
    spellings = [source.segment(part) for part in parts]
    # Of what is made by calls, one may rightly equal another.
    known_items = all(map(_is_literal, parts))
    droppable = [n for n, spelt in enumerate(spellings) if known_items and spellings.count(spelt) == 1]
    if len(parts) > 1 and droppable:
        yield _without(node, parts, draw.random.choice(droppable), source)


def _other_entries(
    node: ast.expr,
    keys: Sequence[ast.expr | None],
    values: Sequence[ast.expr],
    source: Source,
    draw: ValueSource,
    slack: float,
) -> Iterator[str]:
    """No entry is dropped: one of no weight may rightly be missing (a counter's zero)."""
    if not values:
        yield "{" + repr((draw.values(str) or ["a"])[0]) + ": " + repr(draw.random.randint(1, 9)) + "}"
        return
    made = list(_within(node, values, source, draw, slack, set()))
    known = {source.segment(key) for key in keys if key is not None}
    made += _within(node, [key for key in keys if key is not None], source, draw, 0, known)
    yield from made


def _within(
    node: ast.expr,
    parts: Sequence[ast.expr],
    source: Source,
    draw: ValueSource,
    slack: float,
    known: set[str],
) -> Iterator[str]:
    """The node with one of its parts changed, into none of the `known` ones."""
    base, _ = _span(node, source)
    text = source.segment(node)
    found: list[list[str]] = []
    for part in draw.random.sample(list(parts), len(parts)):
        edits = [edit for edit in others(part, source, draw, slack) if edit.new.strip() not in known]
        found.append([text[: e.start - base] + e.new + text[e.end - base :] for e in edits])
    for number in range(DRAWS):
        yield from (texts[number] for texts in found if number < len(texts))


def _without(node: ast.expr, parts: Sequence[ast.expr], number: int, source: Source) -> str:
    """With what stands between this part and the next, or the one before."""
    base, _ = _span(node, source)
    text = source.segment(node)
    if number + 1 < len(parts):
        start, end = _span(parts[number], source)[0], _span(parts[number + 1], source)[0]
    else:
        start, end = _span(parts[number - 1], source)[1], _span(parts[number], source)[1]
    kept = text[: start - base] + text[end - base :]
    return kept if not isinstance(node, ast.Tuple) or len(parts) > 2 else _as_tuple(kept)  # noqa: PLR2004


def _as_tuple(text: str) -> str:
    inner = text.strip().removeprefix("(").removesuffix(")").strip().rstrip(",")
    return f"({inner},)"


def _other_made(
    node: ast.Call,
    maker: str,
    args: list[ast.expr],
    keywords: list[ast.keyword],
    source: Source,
    draw: ValueSource,
) -> Iterator[str]:
    if maker == "set" and not args:
        yield f"{{{draw.random.randint(1, 9)}}}"
        return
    base, _ = _span(node, source)
    text = source.segment(node)
    for edit in _made_edits(maker, args, keywords, source, draw):
        yield text[: edit.start - base] + edit.new + text[edit.end - base :]


def _made_edits(
    maker: str, args: list[ast.expr], keywords: list[ast.keyword], source: Source, draw: ValueSource
) -> list[TextEdit]:
    if maker == "approx":
        slack = _slack(args, keywords)
        return [] if slack is None else others(args[0], source, draw, slack) if args else []
    if maker in _SETS | _MAKERS:
        parts = [*args[:1], *(keyword.value for keyword in keywords)]
        return [edit for part in parts for edit in others(part, source, draw)]
    if maker in _NUMBERS and len(args) == 1 and not keywords:
        match args[0]:
            case ast.Constant(value=str(old)) if re.fullmatch(r"-?\d+(\.\d+)?", old):
                return [source.replaced(args[0], repr(_other_digit(old, draw)))]
            case ast.Constant(value=int()):
                return others(args[0], source, draw)
    return []


def _slack(args: list[ast.expr], keywords: list[ast.keyword]) -> float | None:
    """How far around the number is equal; None where that is not written, or has no far side."""
    given = dict(zip(("rel", "abs"), args[1:], strict=False)) | {k.arg: k.value for k in keywords if k.arg}
    relative, absolute = (_size(given.get(name)) for name in ("rel", "abs"))
    if relative is None or absolute is None or relative >= _ANY_SIZE:
        return None
    constants = (n.value for a in args[:1] for n in ast.walk(a) if isinstance(n, ast.Constant))
    largest = max((abs(n) for n in constants if isinstance(n, int | float)), default=0.0)
    return max(absolute, (relative or _RELATIVE) * float(largest) * 2)


def _size(node: ast.expr | None) -> float | None:
    match node:
        case None | ast.Constant(value=None):
            return 0.0
        case ast.Constant(value=int() | float() as size):
            return size
        case _:
            return None


def _other_values(old: object, draw: ValueSource, slack: float, apart: frozenset[str]) -> Iterator[object]:
    match old:
        case bool():
            yield not old
        case int() | float():
            near: list[object] = list(_near(old, slack, draw))
            known = [v for v in draw.values(type(old)) if repr(v) not in apart and _far(v, old, slack)]
            yield from _alternating(near, known, draw)
        case complex():
            yield old + draw.random.choice((1, -1, 1j, -1j))
        case None:
            yield from [*draw.values(str), *draw.values(int)] or [draw.random.randint(1, 9)]
        case _:
            yield None


def _far(new: object, old: float, slack: float) -> bool:
    return isinstance(new, int | float) and abs(new - old) > 2 * slack and not math.isclose(new, old)


def _near(old: float, slack: float, draw: ValueSource) -> Iterator[int | float]:
    """One more and one less, as many digits long where that can be, and outside of the slack."""
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
    near = [new if isinstance(old, str) else new.encode("latin-1") for new in _misspelt(plain, draw)]
    same = [v for v in draw.values(type(old)) if isinstance(v, str | bytes)]
    known = [v for v in same if repr(v) not in apart and not _alike(v, old)]
    yield from _alternating(near, known, draw)
    if not near and not known:
        letter = draw.random.choice(string.ascii_lowercase)
        yield old + letter if isinstance(old, str) else old + letter.encode()


def _misspelt(old: str, draw: ValueSource) -> Iterator[str]:
    """Two letters swapped, one letter another of its kind, one letter less."""
    ways: list[Callable[[str, ValueSource], str | None]] = [_swap_characters, _replace_character, _shorten]
    draw.random.shuffle(ways)
    made = (way(old, draw) for way in ways)
    yield from (new for new in made if new is not None and not _alike(new, old))


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


def _alike(one: object, other: object) -> bool:
    """Whether types of their own may rightly take the two for one: case, punctuation, zeros."""
    return _bare(one) == _bare(other)


def _bare(text: object) -> str:
    plain = text.decode("latin-1") if isinstance(text, bytes) else str(text)
    return re.sub(r"[\W_0]+", "", plain.casefold()) or plain.strip()


def _alternating(near: Sequence[T], known: Sequence[T], draw: ValueSource) -> Iterator[T]:
    """What is near, and what else is expected; either may come first."""
    pair = [near, known]
    draw.random.shuffle(pair)
    for number in range(max(len(near), len(known))):
        for kind in pair:
            yield from kind[number : number + 1]


def _respelt(old: str | bytes, new: str | bytes, written: str) -> str:
    """In the quotes that it has, where it is one literal that needs no escapes."""
    plain, other = (text if isinstance(text, str) else text.decode("latin-1") for text in (old, new))
    if plain and written.count(plain) == 1:
        spelt = written.replace(plain, other)
        with contextlib.suppress(SyntaxError, ValueError):
            if ast.literal_eval(spelt) == new:
                return spelt
    return ascii(new)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return False
    return True


def _is_member(owner: str, member: str) -> bool:
    """As members of an enumeration are written; a module's constants may be equal."""
    return owner[:1].isupper() and not owner.isupper() and member.isupper()


def _span(node: ast.expr, source: Source) -> tuple[int, int]:
    edit = source.replaced(node, "")
    return edit.start, edit.end
