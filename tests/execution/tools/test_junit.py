"""A preset, and what the configuration says instead."""

from __future__ import annotations

import pytest

from verdigris.core.errors import ConfigError
from verdigris.core.settings import JUnit
from verdigris.execution.tools.junit import junit_tool
from verdigris.runners.junit import SUREFIRE


def test_a_preset_as_it_is() -> None:
    assert junit_tool(JUnit(preset="surefire")) == SUREFIRE


def test_what_is_said_wins() -> None:
    tool = junit_tool(JUnit(preset="surefire", path="src/it/java/{class}.java", errors="setup", escape=True))
    assert (tool.path, tool.errors, tool.escape) == ("src/it/java/{class}.java", "setup", True)
    assert (tool.command, tool.reports) == (SUREFIRE.command, SUREFIRE.reports)


def test_a_command_of_ones_own_is_also_that_for_all() -> None:
    tool = junit_tool(JUnit(preset="surefire", command=("./mvnw", "test", "-Dtest={ids}")))
    assert (tool.command[0], tool.everything) == ("./mvnw", ())


def test_without_a_preset_a_command_is_needed() -> None:
    assert junit_tool(JUnit(command=("ctest",), item="")).command == ("ctest",)
    with pytest.raises(ConfigError):
        junit_tool(JUnit())
    with pytest.raises(ConfigError):
        junit_tool(None)
