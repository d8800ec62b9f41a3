"""The tool that `runner: junit` stands for: a preset, and what `tdd.yaml` says instead."""

from __future__ import annotations

from dataclasses import fields, replace

from verdigris.core.errors import ConfigError
from verdigris.core.settings import JUnit
from verdigris.runners.junit import JUnitTool
from verdigris.runners.junit_presets import PRESETS


def junit_tool(said: JUnit | None) -> JUnitTool:
    """What is unsaid stays as the preset has it; a command of one's own does not go with its `everything`."""
    said = said or JUnit()
    base = PRESETS.get(said.preset)
    if base is None and not said.command:
        raise ConfigError(
            "`runner: junit` needs to know the tool",
            hint=f"give `junit: {{preset: NAME}}` ({', '.join(PRESETS)}), or `junit.command`",
        )
    given = {name: value for name in _NAMES if (value := getattr(said, name)) not in {None, ()}}
    if base is None:
        return JUnitTool(**given)
    if said.command and not said.everything:
        base = replace(base, everything=())
    return replace(base, **given)


_NAMES = tuple(one.name for one in fields(JUnit) if one.name != "preset")
