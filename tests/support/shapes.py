"""Small honest projects as data: what stood there, the failing tests, the edit that makes them pass."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.cli import CONFIG, Cli, Ran
from support.gitrepo import make_repo

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SEPARATOR = "--- "


@dataclass(frozen=True, slots=True)
class Shape:
    """Texts of several files, each opened by a line `--- PATH`."""

    name: str
    claim: str
    before: str
    red: str
    """The failing tests, with stubs where they need them."""
    edit: str
    env: Mapping[str, str] = field(default_factory=dict)
    config: str = ""


def files(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in ("\n" + textwrap.dedent(text).lstrip("\n")).split("\n" + SEPARATOR)[1:]:
        path, _, content = part.partition("\n")
        found[path.strip()] = content.rstrip("\n") + "\n" if content.strip() else ""
    return found


def write(cli: Cli, text: str) -> None:
    for path, content in files(text).items():
        cli.repo.write(path, content)


def start(root: Path, before: str, config: str = "") -> Cli:
    """A committed project that is set up."""
    cli = Cli(make_repo(root))
    cli.repo.write("tdd.yaml", CONFIG + config)
    write(cli, before)
    cli.repo.commit()
    cli.ok("init", "--yes")
    return cli


def reds(cli: Cli, env: Mapping[str, str] | None = None) -> list[str]:
    """The valid reds of the whole suite; a test that is red for a wrong reason fails ours."""
    tests = cli.tdd("test", "--json", env=env).json["tests"]
    wrong = [test for test in tests if test["red"] not in {None, "valid"}]
    assert not wrong, wrong
    return [test["id"] for test in tests if test["red"] == "valid"]


def claim(cli: Cli, target: str, env: Mapping[str, str] | None = None) -> list[str]:
    """All reds are claimed."""
    found = reds(cli, env)
    assert found
    for test_id in found:
        claimed = cli.tdd("claim", test_id, *target.split(), env=env)
        assert claimed.code == 0, claimed
    return found


def settled(ran: Ran) -> dict[str, object]:
    """The document of a settlement or a refactor's end, which accepts at the first time of asking."""
    found: dict[str, object] = ran.json
    assert found.get("verdict") == "accepted", found
    assert ran.code == 0
    return found


def whole(cli: Cli) -> bool:
    return bool(cli.ok("log", "verify", "--json").json["whole"])
