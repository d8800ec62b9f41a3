"""Tools that write JUnit XML, configured: what `tdd.yaml` may name instead of spelling it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.runners.junit import JUnitTool

if TYPE_CHECKING:
    from collections.abc import Mapping

_JAVA_ERROR = (
    r"^(?:\[ERROR\] )?(?P<path>/.*\.(?:java|kt)):\[?(?P<line>\d+)(?:,\d+\]|:)(?: error:)? (?P<message>.*)$"
)

SUREFIRE = JUnitTool(
    command=("mvn", "-o", "-B", "-q", "test", "-Dtest={ids}", "-Dsurefire.failIfNoSpecifiedTests=false"),
    everything=("mvn", "-o", "-B", "-q", "test"),
    item="{classname}#{name}",
    reports=("target/surefire-reports/TEST-*.xml", "*/target/surefire-reports/TEST-*.xml"),
    path="src/test/java/{class}.java",
    source="src/main/java/{package}/{file}",
    build_error=_JAVA_ERROR,
)
PHPUNIT = JUnitTool(
    command=("phpunit", "--log-junit", "{report}/junit.xml", r"--filter=~(^|\\)({ids})$~"),
    item="{class}::{name}",
    join="|",
    escape=True,
)
RSPEC = JUnitTool(
    command=("rspec", "--format", "RspecJunitFormatter", "--out", "{report}/junit.xml", "{ids}", "{paths}"),
    item="--example-matches=^{name}$",
    escape=True,
)
PRESETS: Mapping[str, JUnitTool] = {"surefire": SUREFIRE, "phpunit": PHPUNIT, "rspec": RSPEC}
