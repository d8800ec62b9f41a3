"""Writes the commented `tdd.yaml` of `tdd init`, and sets one key of a driver's section in its text."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from verdigris.core.agents import AGENTS
from verdigris.core.errors import ConfigError
from verdigris.core.settings import DriverSettings, JUnit, MachineSettings, Settings, Stack
from verdigris.languages.registry import language_named
from verdigris.runners.junit import PRESETS
from verdigris.runners.registry import kind_of
from verdigris.storage.config.drivers import built_in_sections
from verdigris.storage.config.file import NAME, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.storage.config.drivers import AnySection
    from verdigris.storage.config.file import Places


_USUAL = DriverSettings()

_ROLES = "# roles:  # a model is provider:name, a name that llm.base_url serves, human, or replay:FILE"
_SERVER = """\
# llm:  # for roles that do not say it
#   base_url: "http://localhost:11434/v1"
#   api_key_env: LLM_API_KEY
#   prices: {input: 0.5, cached: 0.05, output: 2.0}  # of a million tokens; `roles` may have their own"""


def driver_lines(said: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """The sections of the drivers, and what they share; `said`: YAML of keys that are not commented out."""
    sections = built_in_sections()
    for section in sections:
        yield from _section_lines(section, said.get(section.driver, {}))
    yield _ROLES
    for section in sections:
        yield from (f"#   {role}: {example}" for role, example in section.roles.items())
    yield _SERVER
    yield "# commit:"
    yield f"#   author_name: {_USUAL.author_name}  # of a driver's commits"
    yield f"#   author_email: {_USUAL.author_email}"
    yield "#   squash: step  # a commit a step; `cycle`: one green commit of red, green and refactor"
    yield f"# budget: {{tokens: {_USUAL.tokens}}}  # that one run may use; 0: no limit"


def _section_lines(section: AnySection, said: Mapping[str, str]) -> Iterator[str]:
    yield f"# {section.title}"
    yield f"{section.driver}:" if said else f"# {section.driver}:"
    for line in section.examples:
        if line.key in said:
            yield f"  {line.key}: {said[line.key]}  # {line.meaning}"
    for line in section.examples:
        if line.key not in said:
            yield f"#   {line.key}: {line.example}  # {line.meaning}"


Value = str | bool | int | tuple[str, ...] | None

_HEAD = """\
# Verdigris: what is test, what is source, and how strict the laws are.
# A line that is commented out shows a default or an example. Every key: `tdd help configuration`
"""
_WIDE = 10**9
_ROOM_EXAMPLE: Mapping[str, Value] = {
    "timeout": 600,
    "test_timeout": 60,
    "env": ("DATABASE_URL", "MODE=test"),
    "network": "loopback",
}


def render(settings: Settings, kata: str = MachineSettings().kata) -> str:
    lines = ["stacks:"]
    shown: set[str] = set()
    for stack in settings.stacks:
        lines += _stack_lines(stack, examples=stack.language not in shown)
        shown.add(stack.language)
    said = {} if kata == MachineSettings().kata else {"machine": {"kata_description": _text(kata)}}
    return "\n".join([_HEAD, *lines, "", *_top_lines(settings), "", *driver_lines(said), ""])


def _stack_lines(stack: Stack, *, examples: bool) -> Iterator[str]:
    yield f"  - root: {_yaml(stack.root)}"
    yield f"    language: {_yaml(stack.language)}"
    yield f"    runner: {_yaml(stack.runner)}"
    for key, value, example, meaning in _stack_keys(stack):
        if value or (examples and example):
            yield "    " + _line(key, value or None, example, meaning)


def _stack_keys(stack: Stack) -> Iterator[tuple[str, Value, Value, str]]:
    usual = language_named(stack.language).examples
    junit = _Raw(f"{{preset: {next(iter(PRESETS))}}}") if kind_of(stack.runner).has_templates else None
    yield "python", stack.python, usual.interpreter, "the interpreter; found when not given"
    yield "junit", _junit(stack.junit), junit, "the tool that writes JUnit XML"
    yield "test", stack.test, ("checks/**",), "tests, helpers and data besides the usual ones"
    yield "source", stack.source, ("src",), "source roots or globs; found when not given"
    yield "generated", stack.generated, usual.generated, "files that nobody protects"
    yield "suite", stack.suite, usual.suite, f"{usual.selection} that acceptance runs; all when not given"
    yield "test_command", stack.test_command, usual.test_command, "more arguments for the runner"
    for_some = dict(stack.test_command_for)
    example = _flow({"e2e/**": "make e2e REPORTS={report}"})
    yield (
        "test_command_for",
        _flow(for_some) if for_some else None,
        example,
        "another command for some tests, by id or glob",
    )
    yield "check", stack.check, usual.check, "linter that a settlement must pass"
    yield "verify", stack.verify, "make check", "what `tdd refactor end` runs besides the suite"
    yield "format", stack.format, usual.format, "formatter for the source files of a turn"


def _junit(junit: JUnit | None) -> _Raw | None:
    if junit is None:
        return None
    unsaid = JUnit()
    said = {field.name: getattr(junit, field.name) for field in fields(junit)}
    return _flow({key: value for key, value in said.items() if value != getattr(unsaid, key)})


_PLAIN_KEYS = {
    "red": "what counts as red: behaviour, or assertion alone",
    "claims": "an edit outside the targets joins (implied), or not (strict)",
    "strikes": "failed settlements before the edits are set aside",
}


def _top_lines(settings: Settings) -> Iterator[str]:
    default = Settings()
    for key, meaning in _PLAIN_KEYS.items():
        value, usual = getattr(settings, key), getattr(default, key)
        yield _line(key, None if value == usual else value, usual, meaning)
    yield _line("spec", settings.spec or None, ("specs/",), "globs of specification files")
    oracle = {"include": settings.oracle_include, "exclude": settings.oracle_exclude}
    said: dict[str, Value] = {key: globs for key, globs in oracle.items() if globs}
    yield _line(
        "oracle",
        _flow(said) if said else None,
        _flow({"include": ("src/pkg/rules/*.json",)}),
        "data in the source tree that the tests read: frozen with them",
    )
    yield _line(
        "room", _room(settings), _flow(_ROOM_EXAMPLE), "what a test run gets: seconds, environment, network"
    )
    written = settings.sandbox_write
    yield _line(
        "sandbox",
        _flow({"write": written}) if written else None,
        _flow({"write": ("~/.config/some-tool",)}),
        "what an agent's shell may write beside the worktree, temporary folders and caches",
    )
    yield from _rules(settings, default)
    alive = {"enabled": settings.liveness, "seconds": settings.liveness_seconds}
    usual_alive = {"enabled": default.liveness, "seconds": default.liveness_seconds}
    yield _line(
        "liveness",
        None if alive == usual_alive else _flow(alive),
        _flow(usual_alive),
        "whether a settlement changes the claimed assertions to see them fail, and for how long",
    )
    warm = None if settings.warm else settings.warm
    yield _line("warm", warm, default.warm, "whether test tools stay loaded between runs of `tdd test`")
    usual_agent = (next(iter(AGENTS)),)
    yield _line("agents", settings.agents or None, usual_agent, "coding agents whose hooks are set up")


def _rules(settings: Settings, default: Settings) -> Iterator[str]:
    for key, value, usual, meaning in (
        ("concerns", settings.concerns, default.concerns, "a concern about the source"),
        ("uncovered", settings.uncovered, default.uncovered, "a changed line that no claimed test executes"),
    ):
        written = None if value == usual else value
        yield _line(key, written, usual, f"{meaning} is recorded, or refuses the settlement (block)")


def _room(settings: Settings) -> _Raw | None:
    default = Settings()
    said: dict[str, Value] = {}
    if settings.timeout != default.timeout:
        said["timeout"] = settings.timeout
    if settings.test_timeout != default.test_timeout:
        said["test_timeout"] = settings.test_timeout
    if settings.room_env:
        said["env"] = settings.room_env
    if settings.room_network != default.room_network:
        said["network"] = settings.room_network
    if settings.room_git:
        said["git"] = settings.room_git
    if settings.room_plugins is not None:
        said["plugins"] = settings.room_plugins
    return _flow(said) if said else None


class _Raw(str):
    """Text that is YAML already."""

    __slots__ = ()


def _flow(pairs: Mapping[str, Value]) -> _Raw:
    return _Raw(f"{{{', '.join(f'{_text(key)}: {_yaml(value)}' for key, value in pairs.items())}}}")


def _line(key: str, value: Value, example: Value, meaning: str) -> str:
    if value is None:
        return f"# {key}: {_yaml(example)}  # {meaning}"
    return f"{key}: {_yaml(value)}  # {meaning}"


def _yaml(value: Value) -> str:
    match value:
        case _Raw():
            return value
        case str():
            return _text(value)
        case bool():
            return str(value).lower()
        case tuple():
            return f"[{', '.join(map(_text, value))}]"
        case _:
            return str(value)


def _text(value: str) -> str:
    import yaml

    if re.fullmatch(r"[A-Za-z][\w./ -]*[\w/]", value, re.ASCII) and yaml.safe_load(value) == value:
        return value
    return yaml.safe_dump(value, default_style='"', allow_unicode=True, width=_WIDE).rstrip("\n")


def with_key(text: str, section: str, key: str, given: str) -> str:
    """The text with the key set; unchanged if the section has the key already: a person wrote it."""
    before, places = parse(text.encode())
    found = before.get(section)
    if found is not None and (not isinstance(found, dict) or key in found):
        return text
    made = _within(text, section, f"{key}: {given}", places) if section in before else ""
    made = made or _uncomment_key(text, section, key, given)
    if _read(made) != {**before, section: {**(found or {}), key: given}}:
        hint = f"write it yourself: `{section}: {{{key}: {given}}}`, then try again"
        raise ConfigError(f"{NAME}: {key} cannot be added to {section} as it is written", hint=hint)
    return made


def _read(text: str) -> dict[Any, Any]:
    try:
        return parse(text.encode())[0]
    except ConfigError:
        return {}


def _within(text: str, section: str, said: str, places: Places) -> str:
    """Writes the first key of a section that is there, in the style that it has."""
    lines = text.splitlines(keepends=True)
    at = places[section] - 1
    name, _, rest = lines[at].partition(":")
    if rest.lstrip().startswith("{"):
        inner = rest.partition("{")[2]
        end = "" if inner.lstrip().startswith("}") else ", "
        lines[at] = f"{name}: {{{said}{end}{inner}"
        return "".join(lines)
    first = min((line for path, line in places.items() if path.startswith(f"{section}.")), default=0)
    indent = re.match(r"\s*", lines[first - 1])[0] if first else "  "  # type: ignore[index]  # it always matches
    return "".join((*lines[: at + 1], f"{indent}{said}{_line_end(text)}", *lines[at + 1 :]))


def _uncomment_key(text: str, section: str, key: str, given: str) -> str:
    """Uncomments the line that `tdd init` left, or writes one at the file's end."""
    shown = re.compile(
        rf"^# {section}:(?P<end>\r?\n(?:#.*\r?\n)*?)#   {key}: *(?:[^#\r\n]*?)(?P<why> +#.*)?$", re.MULTILINE
    )
    if found := shown.search(text):
        opened = f"{section}:{found['end']}  {key}: {given}{found['why'] or ''}"
        return text[: found.start()] + opened + text[found.end() :]
    end = _line_end(text)
    gap = "" if not text or text.endswith("\n") else end
    return f"{text}{gap}{section}:{end}  {key}: {given}{end}"


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
