from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from support.turns import SUB_ID, TEST_SUB, World
from verdigris.core.report import Status
from verdigris.execution.resident import headstart
from verdigris.execution.rooms import terms_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verdigris.execution.resident.headstart import Early


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    headstart.cancel()


def begun(world: World) -> Early:
    headstart.begin(str(world.root / "tests"))
    (early,) = headstart._waiting.values()
    return early


def test_the_first_run_leaves_a_note_and_the_next_begins_by_it(world: World) -> None:
    headstart.begin(str(world.root))
    assert headstart._waiting == {}
    world.test()
    early = begun(world)
    world.write("tests/test_sub.py", TEST_SUB)
    tested = world.test(SUB_ID)
    assert [(r.test_id, r.red) for r in tested.tests] == [(SUB_ID, "valid")]
    assert early.started.child.returncode == 1, "the run was made by the process that had begun"
    assert headstart._waiting == {}


def test_nothing_of_the_project_runs_before_the_greeting(world: World, tmp_path: Path) -> None:
    world.test()
    trace = tmp_path / "ran"
    world.write("conftest.py", f"open({str(trace)!r}, 'w').close()\n")
    world.write("sitecustomize.py", f"open({str(trace)!r}, 'w').close()\n")
    early = begun(world)
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline and early.started.child.poll() is None:
        time.sleep(0.05)
    assert early.started.child.poll() is None
    assert not trace.exists()


def test_what_is_not_used_is_killed(world: World) -> None:
    world.test()
    early = begun(world)
    headstart.cancel()
    assert early.started.child.returncode is not None
    assert headstart._waiting == {}


def test_another_interpreter_or_folder_is_not_taken(world: World) -> None:
    world.test()
    begun(world)
    assert headstart.take(terms_of(world.project), ("/elsewhere/python", "x"), str(world.root)) is None


def test_one_that_died_meanwhile_is_not_taken(world: World) -> None:
    world.test()
    early = begun(world)
    os.kill(early.started.child.pid, 9)
    early.started.child.wait()
    assert world.test().passed


OWN_PPRINT = """\
ANSWER = 42


def pprint(value, **_):
    print(repr(value))


def pformat(value, **_):
    return repr(value)


class PrettyPrinter:
    pass
"""


def test_a_module_that_shadows_a_loaded_one_is_run_from_the_start(world: World) -> None:
    """The project's own `pprint.py` wins, as it does under `python -m pytest`."""
    world.test()
    world.write("pprint.py", OWN_PPRINT)
    world.write("tests/test_shadow.py", "import pprint\n\n\ndef test_it():\n    assert pprint.ANSWER == 42\n")
    begun(world)
    assert [r.status for r in world.test("tests/test_shadow.py").tests] == [Status.PASS]


@pytest.mark.parametrize("note", ["", "/", "/\0/nowhere/python", "/nowhere\0/bin/true", "\0\0\0"])
def test_a_broken_note_is_no_matter(world: World, note: str) -> None:
    (world.project.repo.private / headstart.NOTE).write_text(note)
    headstart.begin(str(world.root))
    assert headstart._waiting == {}
