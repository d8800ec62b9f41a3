"""What replaced a call: tests that pass before and after cannot tell the two apart.

Where both say the same by the tables below, nothing is told. Where what was called protects something that no
result shows, or what is called now does more than the old one, it is unsafe.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.languages.findings import Swap
from verdigris.languages.grammar.bindings import bound_names
from verdigris.languages.grammar.conditions import COMPARING, IDENTIFIERS, operator_of
from verdigris.languages.grammar.trees import (
    line_of,
    on_one_line,
    part,
    parts,
    short,
    text_of_node,
    walk,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Sequence

    from tree_sitter import Node

    from verdigris.languages.grammar.definitions import Definition
    from verdigris.languages.grammar.things import Thing
    from verdigris.languages.literals import RenamedWords

_WORDS = tuple(
    frozenset(line.split())
    for line in """
list list_comprehension list append extend copy tolist sorted map filter slice of_a_value array from
dict dictionary_comprehension dictionary copy update setdefault fromkeys object assign fromEntries of_a_value
set set_comprehension set add update frozenset
tuple tuple generator_expression list_comprehension
iter generator_expression next for_statement yield list_comprehension map filter range enumerate zip xrange
reversed range slice for_statement
format % string + str repr join template_string interpolation Sprintf concatenated_string
join / Path joinpath PurePath string normpath
exists isfile isdir is_file is_dir lexists stat
open read write read_text read_bytes write_text write_bytes close readlines ReadFile ReadAll
dirname parent basename name splitext suffix stem with_suffix split
abspath resolve absolute realpath fspath str
listdir iterdir glob scandir rglob walk makedirs mkdir remove unlink rmtree
get subscript in setdefault pop has_key getattr hasattr subscript_expression index_expression
has includes indexOf in get
keys values items iter iterkeys iteritems itervalues viewitems entries for_statement in
isinstance issubclass type callable match_statement hasattr is
len count size length filled filter subscript
any all for_statement in some every includes
min max conditional_expression sorted sort clamp
append extend add update push concat insert += list_comprehension yield spread_element | +
startswith endswith match fullmatch == in removeprefix removesuffix hasPrefix startsWith endsWith
split partition rpartition rsplit splitlines subscript
encode bytes decode str to_bytes text_type unicode binary_type string
super __init__ __new__ __post_init__ __attrs_post_init__ dataclass define attrs
then await catch async
forEach for_in_statement for_of_statement map reduce
hasOwnProperty hasOwn in call
require import
Sprintf + Itoa FormatInt Sprint
Slice Sort SliceStable SortFunc sort
Errorf New Wrap
unwrap expect try_expression
to_string to_owned String from into format clone
int float number Number parseInt parseFloat
run call check_call check_output Popen communicate
object type super
""".strip().splitlines()
)
"""Names of calls and kinds of expressions, of which one may stand for another."""
_PACKAGES = tuple(
    frozenset(line.split())
    for line in """
os pathlib shutil glob
time datetime
urllib urllib2 urlparse urllib3 requests httpx http httplib
json simplejson ujson orjson
mock unittest
re regex
typing typing_extensions collections
optparse argparse
imp importlib pkg_resources importlib_metadata importlib_resources
six builtins future
fs path
io ioutil os
sort slices
inspect typing
""".strip().splitlines()
)
"""Packages, of which one may stand for another."""
_PROTECTING = re.compile(
    r"(?:^|:)(?:compare_digest|timingSafeEqual|ConstantTimeCompare|constant_time_compare|ct_eq|safe_str_cmp"
    r"|(?:html_?|shell_?|u?r?l_?)?(?:escape|quote)\w*|Escape\w*|\w+Escape|encodeURIComponent|sanitize\w*|bleach\w*"
    r"|safe_load|safe_join|secure_filename|literal_eval|normalize|realpath|mkstemp|mkdtemp|NamedTemporaryFile"
    r"|randomBytes|randomUUID|getRandomValues|SystemRandom|urandom|deepcopy|structuredClone|Lock|RLock|Mutex)$"
    r"|^(?:secrets|hmac|bcrypt|argon2|nacl|cryptography|crypto|shlex|bleach|defusedxml):"
)
"""What protects something that no result shows."""
_DOING_MORE = re.compile(
    r"(?:^|:)(?:eval|exec|literal_eval|compile|system|popen|Function|unsafe_load|__import__|mktemp|from_utf8_unchecked"
    r"|get_unchecked|transmute)$|^(?:pickle|marshal|dill|shelve|jsonpickle):|^yaml:(?:load|full_load)$"
)
"""What takes, or runs, more than what it replaces."""
_ANYTHING = frozenset({"Exception", "BaseException"})
_STRUCTURE = frozenset(
    {
        *(
            "object",
            "ABC",
            "ABCMeta",
            "Protocol",
            "Generic",
            "NamedTuple",
            "TypedDict",
            "Enum",
            "IntEnum",
            "StrEnum",
        ),
        *(
            "Flag",
            "IntFlag",
            "Exception",
            "metaclass=",
            "total=",
            "dataclass",
            "define",
            "frozen",
            "attrs",
            "s",
        ),
        *(
            "property",
            "staticmethod",
            "classmethod",
            "setter",
            "getter",
            "wraps",
            "contextmanager",
            "abstractmethod",
        ),
        *(
            "asynccontextmanager",
            "fixture",
            "total_ordering",
            "unique",
            "final",
            "override",
            "runtime_checkable",
        ),
        *(
            "dataclass_transform",
            "singledispatch",
            "register",
            "type_check_only",
            "no_type_check",
            "deprecated",
        ),
    }
)
"""Bases and decorators that shape a class or a function, and whose effect tests of it see."""
_FUNCTION_VALUES = frozenset({"lambda", "arrow_function"})
_WORD = re.compile(r"\w+")
_OPERATORS = frozenset({"binary_expression", "binary_operator", "comparison_operator", "boolean_operator"})


def says_the_same(thing: Thing, fresh: Iterable[str], marks: Counter[str]) -> bool:
    """Whether something new may stand for what is gone. `marks`: new kinds of expressions and operators."""
    word = thing.name.rpartition(":")[2].rpartition(".")[2].replace(" ", "_")
    packages = {key.partition(" ")[2].partition(":")[0] for key in fresh if ":" in key}
    package = thing.name.partition(":")[0]
    if any(package in group and not packages.isdisjoint(group - {package}) for group in _PACKAGES):
        return True
    calls = {key.partition(" ")[2].rpartition(":")[2].replace(" ", "_") for key in fresh} - {word}
    return any(word in family and not family.isdisjoint({*calls, *marks}) for family in _WORDS)


def find_swaps(
    old: Definition, new: Definition, gone: Sequence[Thing], renamed: RenamedWords
) -> Iterator[Swap]:
    """What came in the place of what is gone, and the bases and decorators that are new."""
    arrived = [thing for thing in new.content.things if thing.key not in old.keys]
    yield from _swapped_calls(new, [thing for thing in gone if thing.kind == "call"], arrived)
    yield from _swapped_functions(old, new, renamed)
    wider = [thing for thing in arrived if thing.kind == "handler" and thing.name in _ANYTHING]
    for caught in (thing for thing in gone if thing.kind == "handler" and thing.name not in _ANYTHING):
        for other in wider[:1]:
            yield Swap(
                new.path, line_of(other.node), f"except {caught.name}", f"except {other.name}", unsafe=True
            )
    for thing in arrived:
        if thing.kind in {"base", "decorator"} and thing.outside and _last(thing) not in _STRUCTURE:
            was = next((f"{t.kind} {t.name}" for t in gone if t.kind == thing.kind), "")
            text = f"{thing.kind} {short(on_one_line(thing.node))}"
            yield Swap(new.path, line_of(thing.node), was, text, unsafe=thing.kind == "base")


def _swapped_calls(new: Definition, lost: Sequence[Thing], arrived: Sequence[Thing]) -> Iterator[Swap]:
    """Calls outside the project that another one, or an operator, replaced in the same place."""
    operators = [node for node in walk(new.node) if node.type in _OPERATORS] if lost else []
    calls = [thing for thing in arrived if thing.kind == "call" and thing.outside]
    for thing in (one for one in lost if one.outside or _PROTECTING.search(one.name) is not None):
        for other in calls:
            if _same_place(thing.node, other.node) or (thing.operands and thing.operands == other.operands):
                yield _swap(new.path, thing, other.node, other.name)
                break
        else:
            for node in operators:
                sides = tuple(map(on_one_line, parts(node)))
                if sides == thing.operands and operator_of(node) in COMPARING:
                    yield _swap(new.path, thing, node, operator_of(node))
                    break


def _swapped_functions(old: Definition, new: Definition, renamed: RenamedWords) -> Iterator[Swap]:
    """Functions that are passed by name or written in place, such as the key of a sort."""
    before, after = ({t.key: t for t in one.content.things if _passes_function(one, t)} for one in (old, new))
    for key in before.keys() & after.keys():
        words, others = (_WORD.findall(" ".join(one[key].operands)) for one in (before, after))
        is_same = len(words) == len(others) and all(map(renamed.has, words, others))
        if not is_same:
            was, now = (on_one_line(one[key].node) for one in (before, after))
            yield Swap(new.path, line_of(after[key].node), short(was), short(now))


def _passes_function(definition: Definition, thing: Thing) -> bool:
    held = part(thing.node, "value") or thing.node
    if thing.kind != "argument" or (held.type not in _FUNCTION_VALUES and not thing.name.endswith(" key=")):
        return False
    return held.type not in IDENTIFIERS or text_of_node(held) not in bound_names(definition.node)


def _last(thing: Thing) -> str:
    return thing.name.rpartition(":")[2].rpartition(".")[2]


def _swap(path: str, gone: Thing, node: Node, name: str) -> Swap:
    unsafe = _PROTECTING.search(gone.name) is not None or _DOING_MORE.search(name) is not None
    was, now = _written(gone.node), name if node.type in _OPERATORS else _written(node)
    if was == now:
        was, now = gone.name.replace(":", "."), name.replace(":", ".")
    return Swap(path, line_of(node), was, now, unsafe)


def _written(node: Node) -> str:
    return short(on_one_line(part(node, "function") or part(node, "constructor") or node), 40)


def _same_place(old: Node, new: Node) -> bool:
    """Whether the same is done with the result: it is returned, or assigned to the same name."""
    return _role(old) == _role(new) != ""


def _role(node: Node) -> str:
    above = node.parent
    while above is not None and above.type in {
        "await",
        "parenthesized_expression",
        "attribute",
        "call",
        "expression_list",
    }:
        above = above.parent
    match above.type if above is not None else "":
        case "return_statement":
            return "return"
        case "assignment" | "variable_declarator" | "short_var_declaration" | "let_declaration":
            return f"to {on_one_line(part(above, 'left') or part(above, 'name') or part(above, 'pattern'))}"
        case _:
            return ""
