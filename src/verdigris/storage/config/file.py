"""Parses YAML to plain values, with the line of each."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import ConfigError
from verdigris.core.value import value

if TYPE_CHECKING:
    import yaml


NAME = "tdd.yaml"
DOCS = "`tdd help configuration` lists every key"
MOVED = {"code.prices": "llm.prices"}
"""Keys that had another place in an earlier version, where they are still read."""

Places = dict[str, int]
"""Path of a key, as `stacks[0].root`, to its line; the empty path is the file."""


def parse(data: bytes) -> tuple[dict[Any, Any], Places]:
    """The mapping at the top, empty for an empty file."""
    from copy import deepcopy

    content, places = _parse(data)
    return deepcopy(content), dict(places)


@lru_cache(32)
def _parse(data: bytes) -> tuple[dict[Any, Any], Places]:
    """Cached: each driver reads its own section of the same file, at each of its steps."""
    import yaml

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{NAME}:{line}: it is not UTF-8 text", hint="save the file as UTF-8") from None
    places: Places = {"": 1}
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return {}, places
        _note(node, "", places, ())
        content = loader.construct_document(node)
    except yaml.YAMLError as error:
        raise _broken_yaml(error) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{NAME}:1: a value cannot be read: {error}", hint="quote it: 'text'") from None
    if not isinstance(content, dict):
        if content is None:
            return {}, places
        raise At(places).wrong("a mapping of keys is expected at the top", "write `key: value` lines")
    return content, places


@value
class At:
    """A place in the file: a key, or an item of a list."""

    places: Places
    path: str = ""

    def __truediv__(self, below: object) -> At:
        if isinstance(below, int):
            return At(self.places, f"{self.path}[{below}]")
        return At(self.places, f"{self.path}.{below}" if self.path else str(below))

    def wrong(self, what: str, hint: str = DOCS) -> ConfigError:
        """An error here; its line is that of the nearest key around it that has one."""
        near = path = self._as_written()
        while near not in self.places:
            near = near[: max(near.rfind("."), near.rfind("["), 0)]
        where = f" {path}:" if path else ""
        return ConfigError(f"{NAME}:{self.places[near]}:{where} {what}", hint=hint)

    def _as_written(self) -> str:
        """A key that moved may stand in its old place."""
        for old, new in MOVED.items():
            if self.path not in self.places and f"{self.path}.".startswith(f"{new}.") and old in self.places:
                return f"{old}{self.path.removeprefix(new)}"
        return self.path


def _note(node: yaml.Node, at: str, places: Places, above: tuple[yaml.Node, ...]) -> None:
    import yaml

    if node in above:
        return
    match node:
        case yaml.MappingNode():
            seen: dict[str, int] = {}
            for key, said in node.value:
                line = key.start_mark.line + 1
                name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
                if name in seen:
                    what = f"`{name}` is given twice, first on line {seen[name]}"
                    raise At({"": line}).wrong(what, "keep one of the two")
                seen[name] = line
                path = f"{at}.{name}" if at else name
                places[path] = line
                _note(said, path, places, (*above, node))
        case yaml.SequenceNode():
            for index, item in enumerate(node.value):
                places[f"{at}[{index}]"] = item.start_mark.line + 1
                _note(item, f"{at}[{index}]", places, (*above, node))


def _broken_yaml(error: yaml.YAMLError) -> ConfigError:
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 1 if mark is not None else 1
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    what = problem.replace("'\\t'", "a tab")
    return ConfigError(
        f"{NAME}:{line}: broken YAML: {what}", hint="indent with spaces; quote text with : # [ { * & !"
    )
