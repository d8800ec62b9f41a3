"""An honest project as data: the files before, the failing tests, and the edit that makes them pass.

`shapes/*.txt` hold them: `=== NAME`, then a field of `Shape` a line, as JSON, then `== before`, `== red` and
`== edit`, each with files that begin with `--- PATH`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.cli import Cli, Ran
from support.gitrepo import make_repo
from support.pages import files_in, sections


@dataclass(frozen=True, slots=True)
class Shape:
    """`before`, `red` and `edit` hold several files; each begins with a line `--- PATH`."""

    name: str
    claim: str
    before: str
    red: str
    """The failing tests, with stubs where they need them."""
    edit: str
    env: Mapping[str, str] = field(default_factory=dict)
    stacks: Sequence[str] = (".",)
    concerns: Sequence[str] = ()
    """Concerns that a settlement may note: each concern contains one of these words, and each word occurs."""
    beside_others: bool = False
    """Its configuration does not affect the tests of other shapes in the same project."""

    @property
    def is_plain(self) -> bool:
        """Whether other shapes can be in the same project: nothing in it is about the whole project."""
        names = {path.rpartition("/")[2] for path in self.files}
        whole = {"pyproject.toml", "pytest.ini", "conftest.py"} & names or "tests/__init__.py" in self.files
        return self.stacks == (".",) and (self.beside_others or not whole)

    @property
    def files(self) -> frozenset[str]:
        return frozenset(path for text in (self.before, self.red, self.edit) for path in files_in(text))


def read_shapes(name: str) -> tuple[Shape, ...]:
    """The shapes of one file of the folder `shapes`."""
    text = Path(__file__).with_name("shapes").joinpath(f"{name}.txt").read_text()
    return tuple(_read_shape(name, body) for name, body in sections(text, "==="))


def _read_shape(name: str, body: str) -> Shape:
    lines = body.partition("\n== ")[0].splitlines()
    fields: dict[str, Any] = {
        key: json.loads(text) for key, _, text in (line.partition(": ") for line in lines)
    }
    return Shape(name, **fields | dict(sections(body, "==")))


def write(cli: Cli, text: str) -> None:
    for path, content in files_in(text).items():
        cli.repo.write(path, content)


def group(shapes: Sequence[Shape], most: int) -> list[tuple[Shape, ...]]:
    """Plain shapes share a project with others if they have no file in common."""
    groups: list[list[Shape]] = []
    for shape in shapes:
        fitting = (one for one in groups if len(one) < most and all(_fit(shape, other) for other in one))
        place = next(fitting, None)
        if place is None:
            groups.append([shape])
        else:
            place.append(shape)
    return [tuple(one) for one in groups]


def _fit(one: Shape, other: Shape) -> bool:
    """At most one of two shapes in a project has concerns, so no concern can be taken for another's."""
    plain = one.is_plain and other.is_plain and not (one.concerns and other.concerns)
    return plain and one.env == other.env and not one.files & other.files


def start(
    root: Path,
    before: str,
    stacks: Sequence[str] = (".",),
    env: Mapping[str, str] | None = None,
    *,
    python: str = sys.executable,
    network: str = "loopback",
) -> Cli:
    """A committed project that is set up; its tests get the variables that `env` names."""
    cli = Cli(make_repo(root))
    named = [{"root": stack, "python": python} for stack in stacks]
    room = {"env": list(env or ()), "network": network}
    cli.repo.write("tdd.yaml", json.dumps({"stacks": named, "room": room}))
    write(cli, before)
    cli.repo.commit()
    cli.ok("init", "--yes")
    return cli


def reds(cli: Cli, env: Mapping[str, str] | None = None) -> list[str]:
    """The valid reds of the whole suite; a test that is red for a wrong reason fails our test."""
    tests = cli.tdd("test", "--json", env=env).json["tests"]
    wrong = [test for test in tests if test["red"] not in {None, "valid"}]
    assert not wrong, wrong
    return [test["id"] for test in tests if test["red"] == "valid"]


def claim(cli: Cli, target: str, env: Mapping[str, str] | None = None) -> list[str]:
    """Claim all reds, for the same targets."""
    found = reds(cli, env)
    claim_these(cli, found, target, env)
    return found


def claim_these(cli: Cli, ids: Sequence[str], target: str, env: Mapping[str, str] | None = None) -> None:
    assert ids
    claimed = cli.tdd("claim", *ids, *target.split(), env=env)
    assert claimed.code == 0, claimed


def accepted(ran: Ran) -> list[str]:
    """The concerns of a settlement or of a refactor's end, which must be accepted at the first attempt."""
    found = ran.json
    assert found.get("verdict") == "accepted", found
    assert ran.code == 0
    concerns: list[str] = found["concerns"]
    return concerns


def whole(cli: Cli) -> bool:
    return bool(cli.ok("log", "verify", "--json").json["whole"])
