"""A runner that another package brings by an entry point: one module, and `tdd` runs and settles with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import made_up_runner
from support.gitrepo import make_repo
from support.turns import World
from verdigris.core.errors import ConfigError
from verdigris.core.records import Actor
from verdigris.core.report import Status
from verdigris.runners import registry
from verdigris.setup.initialisation import initialise

CONFIG = """\
stacks:
  - {root: ., language: elixir, runner: lines, test: ["test/**"], source: ["lib/**"]}
"""
SUBS = "test/sub_test.exs::subtracts"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What an installation of the other package leaves: its module, and the record of its entry point."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "lines_runner.py").write_text(Path(made_up_runner.__file__).read_text("utf-8"), "utf-8")
    _record(site, "lines = lines_runner:KIND")
    monkeypatch.syspath_prepend(str(site))
    registry._find_installed.cache_clear()
    yield site
    registry._find_installed.cache_clear()


def _record(site: Path, line: str) -> None:
    info = site / "lines_runner-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lines-runner\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{line}\n", "utf-8")


def make_world(root: Path) -> World:
    repo = make_repo(root)
    repo.write("tdd.yaml", CONFIG)
    repo.write("lib/signs.ex", "+\n")
    repo.write("test/add_test.exs", "adds: 1 + 2 = 3\n")
    repo.commit("a calculator")
    initialise(repo.root, Actor(client="test"))
    return World(repo)


@pytest.mark.usefixtures("site")
def test_its_tests_are_run_claimed_and_settled(tmp_path: Path) -> None:
    world = make_world(tmp_path / "demo")
    tested = world.test()
    assert tested.report is not None
    assert {r.id: r.status for r in tested.report.results} == {"test/add_test.exs::adds": Status.PASS}
    world.write("test/sub_test.exs", "subtracts: 3 - 2 = 1\n")
    world.claimed(SUBS, "lib/signs.ex")
    assert not world.settle().verdict.accepted
    world.write("lib/signs.ex", "+ -\n")
    done = world.settle()
    assert done.verdict.accepted, done.verdict
    assert done.accepted == (SUBS,)


@pytest.mark.usefixtures("site")
def test_a_regression_in_its_tests_is_refused(tmp_path: Path) -> None:
    world = make_world(tmp_path / "demo")
    world.test()
    world.write("test/sub_test.exs", "subtracts: 3 - 2 = 1\n")
    world.claimed(SUBS, "lib/signs.ex")
    world.write("lib/signs.ex", "-\n")
    done = world.settle()
    assert done.verdict.kind == "regressed", done.verdict


def test_without_the_package_its_name_is_refused_with_those_that_fit(tmp_path: Path) -> None:
    registry._find_installed.cache_clear()
    with pytest.raises(ConfigError) as error:
        make_world(tmp_path / "demo")
    assert "'lines' is not supported" in error.value.message
    assert "junit" in (error.value.hint or "")


@pytest.mark.usefixtures("site")
def test_a_language_that_it_does_not_run_is_refused(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "demo")
    repo.write("tdd.yaml", CONFIG.replace("elixir", "ruby"))
    with pytest.raises(ConfigError, match="lines does not run ruby"):
        initialise(repo.root, Actor(client="test"))


def test_an_entry_point_that_gives_no_runner_is_said(site: Path) -> None:
    _record(site, "lines = lines_runner:LineRunner")
    with pytest.raises(ConfigError, match="no runner of that name"):
        registry.kind_of("lines")
