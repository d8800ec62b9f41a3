from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPORTER = Path(__file__).parents[4] / "src/verdigris/runners/reporter"
PROGRAM = """
import json, os, sys
sys.path[:0] = [{reporter!r}, {installed!r}, {project!r}]
import pytest, _pytest.assertion.rewrite
from verdigris_reporter import preload
preload.INSTALLED = ({installed!r} + "/",)
before = dict(os.environ), list(sys.path), list(sys.meta_path)
try:
    said = preload.preload({names!r})
except Exception as error:
    said = type(error).__name__
assert before == (dict(os.environ), list(sys.path), list(sys.meta_path))
print(said, sorted(set(preload.installed()) - {{"pytest"}}))
"""


def preloaded(tmp_path: Path, *names: str, **modules: str) -> str:
    for folder in ("installed", "project"):
        (tmp_path / folder).mkdir()
    for name, text in modules.items():
        (tmp_path / "installed" / f"{name}.py").write_text(text)
    (tmp_path / "project/ours.py").write_text("")
    program = PROGRAM.format(
        reporter=str(REPORTER),
        installed=str(tmp_path / "installed"),
        project=str(tmp_path / "project"),
        names=list(names),
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_modules_of_the_environment_are_loaded_in_order(tmp_path: Path) -> None:
    told = preloaded(tmp_path, "one", "two", one="import two\n", two="")
    assert told == "1 ['one', 'two']"


THREAD = "import threading, time\nthreading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("starts", THREAD, "RuntimeError"),
        ("fails", "1 / 0\n", "ZeroDivisionError"),
        ("ours", "", "ModuleNotFoundError"),
        ("asks", "import os\nassert os.environ['OMP_NUM_THREADS'] == '1'\n", "1"),
    ],
)
def test_what_goes_otherwise_than_in_the_plain_run_is_told(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    modules = {} if name == "ours" else {name: text}
    assert preloaded(tmp_path, name, **modules).split()[0] == said


PROGRAM_OF_NAMES = """
import sys, datetime
sys.path.insert(0, {reporter!r})
import pytest, _pytest.logging, _pytest.python, _pytest.config
from verdigris_reporter import preload
plugins = [__import__(f"_pytest.{{name}}", fromlist="*") for name in _pytest.config.default_plugins]
before = {{module: set(dir(module)) for module in plugins}}
preload.shorten_lists_of_names()
for module in plugins:
    for name in before[module] - set(dir(module)):
        value = getattr(module, name)
        print(name.startswith("pytest_"), type(value).__name__)
print("datetime" in dir(_pytest.logging), _pytest.python.Function.__name__)
"""


def test_pytest_looks_through_its_own_modules_for_hooks_and_fixtures_alone() -> None:
    program = PROGRAM_OF_NAMES.format(reporter=str(REPORTER))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    *left_out, last = done.stdout.splitlines()
    assert last == "True Function", done.stderr
    assert len(left_out) > 500
    assert {line.split()[0] for line in left_out} == {"False"}
    assert "False FixtureFunctionDefinition" not in left_out


PROGRAM_OF_FILES = """
import inspect, sys
sys.path.insert(0, {reporter!r})
import pytest
from verdigris_reporter import preload
preload.load_plugins()
inspect.os.path.realpath = sys.exit
print(inspect.getmodule(compile("", "/elsewhere.py", "exec")))
late = type(sys)("late")
late.__file__ = "/late.py"
sys.modules["late"] = late
inspect.os.path.realpath = lambda path: path
print(inspect.getmodule(compile("", "/late.py", "exec")).__name__)
"""


def test_the_files_of_its_modules_are_resolved_before_the_first_failure() -> None:
    program = PROGRAM_OF_FILES.format(reporter=str(REPORTER))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["None", "late"], done.stderr


PROGRAM_OF_CONFIGURATIONS = """
import os, sys
sys.path.insert(0, {reporter!r})
import pytest
from _pytest import config
from verdigris_reporter import preload
made = []
init = config.Config.__init__
config.Config.__init__ = lambda self, *args, **named: (made.append(1), init(self, *args, **named))[1]
preload.load_plugins()
preload.prepare_configuration()
print(len(made))
os.chdir({project!r})

class Told:
    def pytest_configure(self, config):
        params = config.invocation_params
        known = config.pluginmanager.has_plugin("doctest"), config.pluginmanager.has_plugin("junitxml")
        print(len(made), params.dir.name, params.args[-1], config.rootpath.name, *known)

for words in {asked!r}:
    pytest.main(["-q", "--collect-only", *words], plugins=[Told()])
"""


def configurations(project: Path, *asked: list[str]) -> list[str]:
    (project / "tests").mkdir(parents=True)
    (project / "pytest.ini").write_text("[pytest]\n")
    program = PROGRAM_OF_CONFIGURATIONS.format(
        reporter=str(REPORTER), project=str(project), asked=list(asked)
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line[:1].isdigit()]


def test_the_first_run_takes_the_configuration_that_was_made_before(tmp_path: Path) -> None:
    told = configurations(tmp_path / "p", ["tests"], ["."])
    assert told == ["1", "1 p tests p True True", "2 p . p True True"]


def test_a_run_without_some_plugin_makes_its_own(tmp_path: Path) -> None:
    told = configurations(tmp_path / "p", ["-p", "no:doctest", "tests"], ["tests"])
    assert told == ["1", "2 p tests p False True", "2 p tests p True True"]
