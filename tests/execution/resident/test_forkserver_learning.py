"""What is loaded in advance, in an environment with packages that are hard to load in advance."""

from __future__ import annotations

import json
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.turns import World, make_world
from support.warming import Warmth, ended, folders, ready
from verdigris.core.report import Status
from verdigris.execution.resident import borrowed_child, resident
from verdigris.execution.resident.forkserver import own_names
from verdigris.execution.test_run import run_request
from verdigris.runners.protocol import TestRequest
from verdigris.sandbox import child

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.report import TestReport

pytestmark = pytest.mark.skipif(
    not borrowed_child.is_possible(child.available().way), reason="no room to walk into can be made here"
)

PACKAGES = {
    "plain/__init__.py": "import colorsys\nfrom plain import inner\nLOADED = object()\n",
    "plain/inner.py": "",
    "plain/later.py": "import chunky\n",
    "chunky.py": "VALUE = 1\n",
    "reader.py": "import os\nMODE = os.environ.get('MODE', 'usual')\n",
    "filters.py": "import warnings\nwarnings.filterwarnings('ignore', 'hush')\n",
    "warner.py": "import warnings\nwarnings.warn('old', DeprecationWarning)\n",
    "thready.py": "import threading as t\nt.Thread(target=t.Event().wait, daemon=True).start()\n",
    "homely.py": "import os\nHOME = os.path.expanduser('~')\n",
    "opener.py": "FILE = open(__file__)\n",
    "handler.py": "import signal\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\n",
    "on_handler.py": "import handler\n",
    "greedy.py": """
import sys
namespaces = sys.modules.get("verdigris_reporter.resident.namespaces")
if namespaces is not None:
    called = namespaces._call
    namespaces._call = lambda name, *words: None if name in {"capset", "prctl"} else called(name, *words)
""",
}
GOOD = "chunky filters plain reader"
BAD = {"warner", "thready", "homely", "opener", "handler", "on_handler"}
TEST = """
import os, pathlib, sys, warnings
import pytest

def test_not_loaded_before_it_is_asked_for():
    before = set(sys.modules)
    assert not before & {"plain", "plain.inner", "chunky", "colorsys"}
    import plain
    assert set(sys.modules) - before == {"plain", "plain.inner", "colorsys"}
    assert plain.__spec__.loader is plain.__loader__
    import plain.later
    assert plain.later.chunky.VALUE == sys.modules["chunky"].VALUE

def test_found_without_being_loaded():
    from importlib.util import find_spec
    sys.modules.pop("reader", None)
    assert pathlib.Path(find_spec("reader").origin).name == "reader.py"
    assert "reader" not in sys.modules

def test_filters():
    before = list(warnings.filters)
    import filters
    assert len(warnings.filters) == len(before) + 1
    warnings.warn("hush")

def test_home():
    import homely
    assert homely.HOME == os.environ["HOME"]

def test_warner():
    with pytest.warns(DeprecationWarning):
        import warner

def test_others():
    import opener, handler, on_handler, thready
    assert not opener.FILE.closed
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    env = tmp_path_factory.mktemp("env")
    venv.create(env, with_pip=False, symlinks=True)
    packages = next(env.glob("lib/python*/site-packages"))
    (packages / "pytests.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
    for name, text in PACKAGES.items():
        (packages / name).parent.mkdir(exist_ok=True)
        (packages / name).write_text(text)
    return env / "bin" / "python"


@pytest.fixture
def world(tmp_path: Path, python: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("VERDIGRIS_WARM", "1")
    made = make_world(tmp_path / "repo")
    config = made.read("tdd.yaml").rpartition("python: ")[0]
    made.write("tdd.yaml", f"{config}python: {json.dumps(str(python))}\n")
    with ended(made):
        yield made


@pytest.fixture
def warmth(monkeypatch: pytest.MonkeyPatch) -> Warmth:
    return Warmth(monkeypatch)


def called(world: World, text: str) -> TestReport:
    world.write("tests/test_it.py", text)
    project = world.project
    (stack,) = project.settings.stacks
    return run_request(project, stack, TestRequest(("tests/test_it.py",)))


def statuses(report: TestReport) -> dict[str, str]:
    return {
        r.native_id.partition("::")[2]: r.failure.message if r.failure else r.status for r in report.results
    }


def reading(mode: str) -> str:
    return f"import reader\n\n\ndef test_it():\n    assert reader.MODE == {mode!r}\n"


def test_only_what_leaves_no_marks_is_loaded_and_none_of_it_is_seen(world: World, warmth: Warmth) -> None:
    imports = "".join(f"import {name}\n" for name in [*GOOD.split(), "plain.later", *sorted(BAD)])
    called(
        world, f"import warnings\nwarnings.simplefilter('ignore')\n{imports}\n\ndef test_it():\n    pass\n"
    )
    ready(world)
    (folder,) = folders(world)
    refused = set(resident.read_note(str(folder))["refused"])
    assert refused & {*GOOD.split(), *BAD} == BAD
    assert set(statuses(called(world, TEST)).values()) == {Status.PASS}
    assert warmth.taken == [False, True]


def test_a_variable_that_a_module_read_and_that_is_other_now(world: World, warmth: Warmth) -> None:
    """It is made again cold; the next one is warm, without that module."""
    assert statuses(called(world, reading("usual"))) == {"test_it": Status.PASS}
    ready(world)
    other = "import os\nos.environ['MODE'] = 'other'\n" + reading("other")
    assert statuses(called(world, other)) == {"test_it": Status.PASS}
    ready(world)
    assert statuses(called(world, other + "\n")) == {"test_it": Status.PASS}
    assert warmth.taken == [False, True, True]


GREEDY = """
import greedy, pathlib, subprocess

def tried(*argv):
    return subprocess.run(argv, capture_output=True).returncode

def test_rights_that_were_kept():
    status = pathlib.Path("/proc/self/status").read_text()
    rights = int(status.partition("CapEff:")[2].split()[0], 16)
    assert not WARM or rights >> 21 & 1, "it has kept what lets one mount"
    root = str(pathlib.Path.cwd())
    for options, point in (("remount,bind,rw", "/"), ("remount,rw", "/"), ("remount,bind,rw", "/proc")):
        assert tried("mount", "-o", options, point) != 0
    for point in (root, f"{root}/.git/tdd", "/tmp", "/dev"):
        assert tried("umount", point) != 0
        assert tried("umount", "-l", point) != 0
    for path in ("/etc/verdigris-was-here", "/verdigris-was-here"):
        try:
            open(path, "w")
        except OSError:
            continue
        assert 0, path
"""


def test_a_module_that_keeps_the_rights_of_its_room_reaches_nothing_with_them(
    world: World, warmth: Warmth
) -> None:
    for warm in (False, True):
        text = f"WARM = {warm}\n{GREEDY}"
        assert statuses(called(world, text)) == {"test_rights_that_were_kept": Status.PASS}
        ready(world)
    assert warmth.taken == [False, True]


def test_a_module_of_the_same_name_that_comes_before_it_on_the_path(world: World, warmth: Warmth) -> None:
    assert statuses(called(world, reading("usual"))) == {"test_it": Status.PASS}
    ready(world)
    world.write("elsewhere/reader.py", "MODE = 'mine'\n")
    path = f"import sys\nsys.path.insert(0, {str(world.root / 'elsewhere')!r})\n"
    assert statuses(called(world, path + reading("mine"))) == {"test_it": Status.PASS}
    assert warmth.taken == [False, True]


def test_a_file_of_the_environment_that_has_changed(world: World, warmth: Warmth, python: Path) -> None:
    called(world, reading("usual"))
    ready(world)
    file = next(python.parents[1].glob("lib/python*/site-packages/reader.py"))
    kept = file.read_text()
    file.write_text("MODE = 'edited'\n")
    try:
        assert statuses(called(world, reading("edited"))) == {"test_it": Status.PASS}
        ready(world)
        assert statuses(called(world, reading("edited") + "\n")) == {"test_it": Status.PASS}
    finally:
        file.write_text(kept)
    assert warmth.taken == [False, False, True]


def test_the_projects_own_names(tmp_path: Path) -> None:
    for path in ("one.py", "two/__init__.py", "src/three/four.py", "lib/five.so", "code/six.py", "README"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    found = own_names(str(tmp_path), str(tmp_path), ("code",))
    assert {"one", "two", "three", "five", "six"} <= found
    assert "README" not in found
