"""Reads the values of `tdd.yaml` as the fields that declare its keys say (`core/settings.py`)."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from verdigris.core.errors import ConfigError
from verdigris.core.paths import compile_glob
from verdigris.core.settings import Key, Prices, keys_of
from verdigris.core.value import is_value
from verdigris.storage.config.file import DOCS, MOVED, At

_ELSEWHERE = {
    "kata_description": "it is `machine.kata_description`",
    "steps": "it is `machine.steps`",
    "max_attempts_per_agent": "it is `machine.max_attempts_per_agent`",
    "language": "it is `language` of an entry of `stacks`",
    "ci": "an entry of `stacks` has `test_command`, `check` and `format`",
    "test_cmd": "it is `test_command` of an entry of `stacks`",
    "check_cmd": "it is `check` of an entry of `stacks`",
    "fmt_cmd": "it is `format` of an entry of `stacks`",
    "api_key": "a key never stands in a file: `api_key_env` names the variable that holds it",
}
_QUOTE = "quote it: 'text'"
_NAMES = {type(None): "null", list: "array", dict: "object"}
"""What people call a type that they write; others have Python's name."""


def read(kind: type, given: Any, at: At) -> dict[str, Any]:
    """The fields of a kind of settings that a mapping gives; the first that is wrong is an error."""
    given = expect(given, at, dict)
    keys = keys_of(kind)
    check_known(given, [key.name for key in keys.values()], at)
    if missing := [key.name for key in keys.values() if key.default is ... and key.name not in given]:
        raise at.wrong(f"object missing required field `{missing[0]}`")
    return fields_given(kind, given, at)


def fields_given(kind: type, document: Mapping[str, Any], at: At) -> dict[str, Any]:
    """The same from a document that has more keys than those of this kind, all of them known."""
    types = get_type_hints(kind)
    fields = {}
    for field, key in keys_of(kind).items():
        section, _, name = key.name.rpartition(".")
        around = expect(document.get(section, {}), at / section, dict) if section else document
        if name in around:
            fields[field] = _convert(around[name], types[field], key, at / key.name)
    return fields


def _convert(given: Any, kind: Any, key: Key, at: At) -> Any:
    if key.of in READERS:
        return READERS[key.of](given, at)
    optional = [type(None)] if type(None) in get_args(kind) else []
    kind = get_args(kind)[0] if optional else kind
    if given is None and optional:
        return None
    if is_value(kind):
        return kind(**read(kind, expect(given, at, dict, *optional), at))
    if get_origin(kind) is Literal:
        return _choose(given, get_args(kind), at, *optional)
    if get_origin(kind) is tuple:
        item, *_ = get_args(kind)
        if get_origin(item) is not Literal:
            return texts(given, at, *optional)
        chosen = enumerate(expect(given, at, list))
        return tuple(_choose(one, get_args(item), at / index) for index, one in chosen)
    return expect(given, at, kind, *optional, least=key.least)


def expect(given: Any, at: At, *kinds: type, least: float | None = None, note: str = "") -> Any:
    """The value, if it is of one of the kinds, and no smaller or shorter than `least`."""
    number = float in kinds and type(given) is int
    if type(given) not in kinds and not number:
        wanted = " | ".join(_NAMES.get(kind, kind.__name__) for kind in kinds)
        got = _NAMES.get(type(given), type(given).__name__)
        quoted = kinds[0] is str and got in {"int", "float", "bool", "date", "datetime"}
        raise at.wrong(f"expected `{wanted}`, got `{got}`{note}", _QUOTE if quoted else DOCS)
    if least is not None and given is not None:
        size, of = (given, "") if isinstance(given, int | float) else (len(given), " of length")
        if size < least:
            name = _NAMES.get(kinds[0], kinds[0].__name__)
            raise at.wrong(f"expected `{name}`{of} >= {float(least) if float in kinds else least}")
    return float(given) if number else given


def _choose(given: Any, choices: tuple[str, ...], at: At, *optional: type) -> str:
    note = f"; expected one of {', '.join(choices)}"
    chosen: str = expect(given, at, str, *optional, note=note)
    if chosen not in choices:
        raise at.wrong(f"invalid enum value {chosen!r}{note}")
    return chosen


def texts(given: Any, at: At, *optional: type) -> tuple[str, ...]:
    return tuple(
        expect(item, at / index, str) for index, item in enumerate(expect(given, at, list, *optional))
    )


def check_known(given: Mapping[Any, Any], names: Collection[str], at: At) -> None:
    """Refuses the first unknown key, here or in a section below."""
    below: dict[str, list[str]] = {}
    for name in names:
        top, dot, rest = name.partition(".")
        below.setdefault(top, []).extend([rest] if dot else [])
    for key in given:
        if key not in below:
            raise _unknown(key, tuple(below), at)
    for key, inner in below.items():
        if inner and key in given:
            check_known(expect(given[key], at / key, dict), inner, at / key)


def _unknown(key: Any, known: tuple[str, ...], at: At) -> ConfigError:
    line = {"": at.places.get((at / str(key)).path, at.places.get(at.path, 1))}
    near = difflib.get_close_matches(str(key), known, n=1)
    guess = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(f'`{k}`' for k in known)}"
    where = f"{at.path}: " if at.path else ""
    return type(at)(line).wrong(f"{where}unknown key `{key}`; {_ELSEWHERE.get(str(key), guess)}")


def move_old_keys(document: dict[Any, Any]) -> dict[Any, Any]:
    """Moves values from old places of keys; a value in the new place wins."""
    for (old, key), (new, name) in ((a.split("."), b.split(".")) for a, b in MOVED.items()):
        around, there = document.get(old), document.get(new, {})
        if isinstance(around, dict) and key in around and isinstance(there, dict):
            rest = {one: said for one, said in around.items() if one != key}
            document = {**document, old: rest, new: {name: around[key], **there}}
    return document


def check_glob(glob: str, at: At) -> None:
    try:
        compile_glob(glob)
    except ConfigError as error:
        raise at.wrong(error.message, error.hint or DOCS) from None


def _globs(given: Any, at: At) -> tuple[str, ...]:
    globs = texts(given, at)
    for index, glob in enumerate(globs):
        check_glob(glob, at / index)
    return globs


def words(given: Any, at: At) -> tuple[str, ...]:
    if isinstance(given, list):
        return texts(given, at)
    try:
        return tuple(shlex.split(expect(given, at, str, list)))
    except ValueError as error:
        raise at.wrong(str(error).lower(), "close the quotation, or write a list of words") from None


_NEEDED = "write `{args}` for the runner's own arguments, or `{report}` for a folder that takes JUnit XML"


def _commands(given: Any, at: At) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(
        _command(pattern, said, at / str(pattern)) for pattern, said in expect(given, at, dict).items()
    )


def _command(pattern: Any, command: Any, at: At) -> tuple[str, tuple[str, ...]]:
    if not isinstance(pattern, str):
        raise at.wrong(f"{str(pattern)!r} is no test id and no glob", _QUOTE)
    if "::" not in pattern:
        check_glob(pattern, at)
    if not isinstance(command, str) and not (
        isinstance(command, list) and all(isinstance(word, str) for word in command)
    ):
        raise at.wrong("its command is no text and no list of words", _QUOTE)
    split = words(command, at)
    if not any("{args}" in word or "{report}" in word for word in split):
        raise at.wrong("an exit code alone proves no test", _NEEDED)
    return pattern, split


def _regex(given: Any, at: At) -> str | None:
    try:
        re.compile(expect(given, at, str, type(None)) or "")
    except re.error as error:
        raise at.wrong(f"broken regular expression: {error}", "correct it; quote it with '…'") from None
    return given  # type: ignore[no-any-return]  # it was read as a text, or none


_FORMS = "write NAME to hand it on, or NAME=VALUE"
_WORD = re.compile(r"[^\s\0=]+")


def _variables(given: Any, at: At) -> tuple[str, ...]:
    """The entries `NAME` and `NAME=VALUE`; in a mapping, a name without a value means `NAME`."""
    if isinstance(expect(given, at, dict, list), dict):
        return tuple(_pair(name, said, at / str(name)) for name, said in given.items())
    return tuple(_variable(entry, at / index) for index, entry in enumerate(given))


def _pair(name: Any, said: Any, at: At) -> str:
    if not isinstance(name, str):
        raise at.wrong(f"{str(name)!r} is not the name of a variable", _QUOTE)
    match said:
        case None:
            return _variable(name, at)
        case bool() | float():
            raise at.wrong("its value is not text", _QUOTE)
        case str() | int():
            _check_name(name, at)
            return _variable(f"{name}={said}", at)
        case _:
            raise at.wrong("its value is not text", _FORMS)


def _variable(entry: Any, at: At) -> str:
    if not isinstance(entry, str):
        raise at.wrong("it is not text", _FORMS)
    if "\0" in entry:
        raise at.wrong("no variable can hold a zero byte", "leave it out")
    _check_name(entry.partition("=")[0], at)
    return entry


def _check_name(name: str, at: At) -> None:
    if not name:
        raise at.wrong("it has no name", _FORMS)
    if not _WORD.fullmatch(name):
        raise at.wrong(f"{name!r} is not the name of a variable", _FORMS)


def _plugins(given: Any, at: At) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = texts(given, at, type(None))
    for index, name in enumerate(names):
        if not _WORD.fullmatch(name):
            raise (at / index).wrong(f"{name!r} is not the name of a plugin", "write what `pytest -p` takes")
    return names


def _writable_paths(given: Any, at: At) -> tuple[str, ...]:
    """Paths that an agent's shell may write."""
    paths = texts(given, at)
    for index, path in enumerate(paths):
        if not path.startswith(("/", "~/")) or "\0" in path:
            raise (at / index).wrong(f"{path!r} is no absolute path", "begin it with / or ~/")
        if {".", ".."} & set(path.split("/")) or not path.strip("~/"):
            raise (at / index).wrong(
                f"{path!r} is too much, or not plain", "name one folder or file outright"
            )
    return paths


def _path(given: Any, at: At) -> str:
    path: str = expect(given, at, str)
    if path.startswith("/") or ".." in path.split("/") or not path.strip():
        raise at.wrong(f"{path!r} is no path below the worktree's root", "name one from the root")
    return path.rstrip("/")


def _paths(given: Any, at: At) -> tuple[str, ...]:
    return tuple(_path(path, at / index) for index, path in enumerate(expect(given, at, list)))


_KEY_OUTSIDE = (
    "put the key into an environment variable and write that variable's name: `api_key_env: LLM_API_KEY`"
)
LIKE_A_KEY = re.compile(
    r"(?<![\w-])(?:(?:sk|pk|rk)-(?=[\w-]*\d)[\w-]{12,}|gh[pousr]_\w{20,}|AIza[\w-]{20,}|xox[a-z]-\S{10,}"
    r"|eyJ[\w-]{20,}\.\S+)"
)
_LONG = 20


def no_secret(given: Any, at: At) -> str:
    text: str = expect(given, at, str)
    if LIKE_A_KEY.search(text):
        raise at.wrong("this looks like a secret key", _KEY_OUTSIDE)
    return text


def _key_variable(given: Any, at: At) -> str:
    name = no_secret(given, at)
    secret = len(name) >= _LONG and any(c.islower() for c in name) and any(c.isdigit() for c in name)
    if name and (secret or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)):
        raise at.wrong("this is not the name of an environment variable", _KEY_OUTSIDE)
    return name


def _address(given: Any, at: At) -> str:
    url = no_secret(given, at)
    try:
        parts = urlsplit(url)
        plain = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        plain = False
    if url and not plain:
        raise at.wrong("a server's address is expected", "write it as http://localhost:11434/v1")
    if url and (parts.username or parts.password or parts.query):
        raise at.wrong("an address must not carry a password or a key", _KEY_OUTSIDE)
    return url


def _warmth(given: Any, at: At) -> float | None:
    number: float | None = expect(given, at, float, type(None), least=0)
    if number is not None and number > 2:  # noqa: PLR2004 - the protocol's own limit
        raise at.wrong("expected `float` <= 2.0")
    return number


def _duration(given: Any, at: At) -> float | None:
    seconds: float | None = expect(given, at, float, type(None))
    if seconds is not None and seconds <= 0:
        raise at.wrong("expected `float` > 0.0")
    return seconds


def _prices(given: Any, at: At) -> Prices | None:
    if expect(given, at, dict, type(None)) is None:
        return None
    prices = read(Prices, given, at)
    for name, price in prices.items():
        expect(price, at / name, float, type(None), least=0)
    return Prices(**prices)


READERS: Mapping[str, Callable[[Any, At], Any]] = {
    "list of globs": _globs,
    "list of folders or globs": _globs,
    "list, or one line of words": words,
    "mapping of test id or glob → command": _commands,
    "regular expression": _regex,
    "list of `NAME` or `NAME=VALUE`, or a mapping": _variables,
    "list of names": _plugins,
    "list of paths, absolute or from `~/`": _writable_paths,
    "path": _path,
    "list of paths": _paths,
    "address": _address,
    "name of a variable": _key_variable,
    "number from 0 to 2": _warmth,
    "seconds above 0": _duration,
    "mapping of `input`, `output`, `cached`": _prices,
}
"""Readers of the types that annotations cannot say, by the words in which the declarations name them."""
