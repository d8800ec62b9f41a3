"""A program's evaluation: in a room, on the candidate's targets, with everything else as the base has it."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from support.sorting import BENCH, BETTER, CACHES, HELD, KNOWN, PROGRAM, SORT
from support.turns import World, make_world
from verdigris.core.value import take_fields
from verdigris.drivers.loop.discovery import FoundProgram, bind_project, bounds_of, find_program
from verdigris.drivers.loop.evaluation import evaluated_tree, hash_oracle, measure
from verdigris.drivers.loop.events import Measured
from verdigris.drivers.loop.measurement import (
    EvaluationFailed,
    Measurement,
    MetricJudgement,
    judge_metric,
)
from verdigris.execution.rooms import possible
from verdigris.sandbox.child import Ability, Availability
from verdigris.storage.project import Project


class Bench:
    """A repository whose benchmark sorts one list fifty times."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.base = self.project.workspace.snapshot()
        first = _first(self)
        oracle = hash_oracle(self.project, self.base, self.found.program)
        self.best = self.measured(first, oracle)

    @property
    def found(self) -> FoundProgram:
        return find_program(self.world.root, "fast")

    @property
    def project(self) -> Project:
        plain = self.world.project
        files = {entry.path for entry in plain.workspace.files(plain.workspace.snapshot())}
        return bind_project(plain, bounds_of(self.found, files))

    def measure(self, **changed: str) -> Measurement | EvaluationFailed:
        """The tree with these files, which are not in the worktree."""
        project = self.project
        names = {name.replace("__", "/").replace("_py", ".py"): text for name, text in changed.items()}
        contents = {name: ("100644", text.encode()) for name, text in names.items()}
        tree = project.workspace.compose(project.workspace.snapshot(), contents)
        return measure(project, tree, self.base, self.found.program)

    def judge(self, **changed: str) -> MetricJudgement | EvaluationFailed:
        found = self.measure(**changed)
        if isinstance(found, EvaluationFailed):
            return found
        return judge_metric(self.measured(found), self.best, self.found.program, must_improve=True)

    def measured(self, found: Measurement, oracle: str = "") -> Measured:
        """What the log keeps of a measurement."""
        about = {"program": "fast", "iteration": 1, "tree": "", "base": self.base, "oracle": oracle}
        return take_fields(Measured, found, noise=found.noise, **about)


_MEASURED: list[Measurement] = []
"""Each test begins with the same files: the first measures them for all."""


def _first(bench: Bench) -> Measurement:
    if not _MEASURED:
        found = bench.measure()
        assert isinstance(found, Measurement), found
        _MEASURED.append(found)
    return _MEASURED[0]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    world = make_world(
        tmp_path / "repo",
        **{
            "sorting.py": SORT,
            "bench/run.py": BENCH,
            "bench/known.json": KNOWN,
            "bench/held.json": HELD,
            ".autoloop/programs/fast/program.md": PROGRAM,
        },
    )
    if not possible(world.project).ok:
        pytest.skip("no sandbox can be made here")
    return Bench(world)


def test_the_best_is_measured_on_known_and_on_held_back_inputs(bench: Bench) -> None:
    assert bench.best.metric > 1000
    assert bench.best.held_out is not None
    assert bench.best.held_out > 1000


def test_an_honest_improvement_is_accepted(bench: Bench) -> None:
    judged = bench.judge(sorting_py=BETTER)
    assert isinstance(judged, MetricJudgement)
    assert judged.accepted, judged.why
    assert bench.world.read("sorting.py") == SORT, "nothing of the worktree is touched"


def test_a_cache_of_the_finished_result_is_told_by_held_back_inputs(bench: Bench) -> None:
    judged = bench.judge(sorting_py=CACHES)
    assert isinstance(judged, MetricJudgement)
    assert not judged.accepted
    assert judged.why.startswith("gamed or overfitted: 98% better on the known inputs")


def test_an_answer_that_was_written_down_is_rejected_without_a_word_about_the_held_back_inputs(
    bench: Bench,
) -> None:
    answer = sorted(json.loads(KNOWN))
    judged = bench.judge(sorting_py=f"def sort(numbers):\n    return {answer}\n")
    assert isinstance(judged, EvaluationFailed)
    assert (judged.kind, judged.why) == ("rejected", "on held-out inputs: the evaluator rejects it")
    assert judged.output == ""


def test_a_candidate_gets_nothing_by_replacing_the_evaluator(bench: Bench) -> None:
    found = bench.measure(bench__run_py="print('{\"fitness\": 0}')\n")
    assert isinstance(found, Measurement)
    assert found.metric == bench.best.metric


def test_what_lies_beside_the_targets_is_the_bases(bench: Bench) -> None:
    project = bench.project
    names = ("conftest.py", "sitecustomize.py", "json.py", "bench/json.py", "bench/held.json", "other.py")
    contents = dict.fromkeys(names, ("100644", b"raise SystemExit\n"))
    tree = project.workspace.compose(bench.base, contents)
    assert evaluated_tree(project, tree, bench.base) == bench.base


FORGED = "'{\"fitness\": 0}'"


@pytest.mark.parametrize(
    "cheat",
    [
        "import time\n\ntime.perf_counter = lambda: 0.0\n",
        "import builtins\n\nbuiltins.print = lambda *_: None\n",
        f"import json\n\njson.dumps = lambda _: {FORGED}\n",
        f"import atexit\n\natexit.register(print, {FORGED})\n",
        f"import os\n\nif os.fork() == 0:\n    print({FORGED})\n    os._exit(0)\n",
        f"print({FORGED})\n",
        f"import subprocess\n\nsubprocess.Popen(['echo', {FORGED}]).wait()\n",
        "import sys\n\nsys.stdout.write('METRIC fitness=0\\n')\n",
        f"import sys\n\nprint({FORGED})\nsys.stdout = None\n",
        f"import os\n\nprint({FORGED}, flush=True)\nos.dup2(os.open('/dev/null', 1), 1)\n",
        "import __main__\n\n__main__.Counted = int\n",
    ],
)
def test_a_candidate_gets_nothing_by_printing_or_patching(bench: Bench, cheat: str) -> None:
    found = bench.measure(sorting_py=f"{cheat}\n\n{SORT}")
    assert isinstance(found, EvaluationFailed), found
    assert found.kind == "tampered"


def test_a_number_from_a_child_that_nobody_waits_for_never_counts(bench: Bench) -> None:
    """It may come before the true number, and is then noticed, or too late, and is then not read."""
    cheat = f"import subprocess\n\nsubprocess.Popen(['echo', {FORGED}])\n"
    match bench.measure(sorting_py=f"{cheat}\n\n{SORT}"):
        case EvaluationFailed(kind=kind):
            assert kind == "tampered"
        case Measurement(metric=metric):
            assert metric > 0


@pytest.mark.parametrize(
    "cheat",
    [
        f"    print({FORGED})\n    raise SystemExit\n",
        f"    import sys\n\n    print({FORGED})\n    sys.exit()\n",
        "    type(numbers[0]).compared = -(10**9)\n",
        "    kind = numbers[0].__class__\n    setattr(kind, 'compared', -(10**9))\n",
        "    exec('kind.compared = 0', {'kind': type(numbers[0])})\n",
    ],
)
def test_a_candidate_gets_nothing_by_ending_early_or_changing_what_it_was_given(
    bench: Bench, cheat: str
) -> None:
    found = bench.measure(sorting_py=SORT.replace("    done = []\n", f"{cheat}    done = []\n"))
    assert isinstance(found, EvaluationFailed), found
    assert found.kind == "tampered"


@pytest.mark.parametrize(
    "name", ["sitecustomize.py", "lib/usercustomize.py", "json.py", "src/statistics.py", "src/conftest.py"]
)
def test_a_candidate_gets_nothing_by_shadowing_where_everything_is_a_target(bench: Bench, name: str) -> None:
    bounds = bench.project.settings.bounds
    assert bounds is not None
    project = bind_project(bench.world.project, replace(bounds, targets=""))
    tree = project.workspace.compose(bench.base, {name: ("100644", b"VALUE = 1\n")})
    found = measure(project, tree, bench.base, bench.found.program)
    assert isinstance(found, EvaluationFailed), found
    assert (found.kind, "shadows" in found.why) == ("tampered", True)


def test_the_evaluator_and_its_data_cannot_be_written_while_they_measure(bench: Bench) -> None:
    """The form that keeps the number out of the code's reach: it is measured in a process of its own."""
    writes = "from pathlib import Path\n\nfor name in ('run.py', 'known.json'):\n"
    writes += "    try:\n        Path('bench', name).write_text('[]')\n    except OSError:\n        pass\n"
    program = bench.found.program
    apart = replace(
        program,
        evaluation="python -c 'import sorting' && python bench/run.py bench/known.json",
        evaluation_rules=replace(program.evaluation_rules, held_out_command=""),
    )
    project = bench.project
    tree = project.workspace.compose(bench.base, {"sorting.py": ("100644", f"{writes}\n\n{SORT}".encode())})
    found = measure(project, tree, bench.base, apart)
    assert isinstance(found, Measurement), found
    assert found.metric == bench.best.metric


def test_a_child_that_left_the_group_is_ended_and_is_not_waited_for(bench: Bench) -> None:
    mark = f"2{os.getpid()}"
    leaves = (
        "import subprocess\n\n"
        f"subprocess.Popen(['sh', '-c', 'sleep {mark}; echo {{}}'], start_new_session=True)\n"
    )
    begun = time.monotonic()
    found = bench.measure(sorting_py=leaves + SORT)
    assert isinstance(found, Measurement)
    assert time.monotonic() - begun < 30
    assert not [c for c in Path("/proc").glob("[0-9]*/cmdline") if f"sleep\0{mark}".encode() in _read(c)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_an_evaluation_that_does_not_end_is_stopped(bench: Bench) -> None:
    program = bench.found.program
    slow = replace(
        program,
        evaluation="sleep 600",
        evaluation_rules=replace(program.evaluation_rules, minutes=0.01),
    )
    found = measure(bench.project, bench.base, bench.base, slow)
    assert isinstance(found, EvaluationFailed)
    assert found.kind == "timeout"
    assert "0.01 minutes" in found.why


def test_several_runs_are_made_where_the_program_says_so(bench: Bench) -> None:
    program = bench.found.program
    rules = replace(program.evaluation_rules, repeats=3, held_out_command="")
    counts = replace(
        program, evaluation="echo METRIC x=$(od -An -N2 -tu2 /dev/urandom)", evaluation_rules=rules
    )
    found = measure(bench.project, bench.base, bench.base, counts)
    assert isinstance(found, Measurement)
    assert len(found.samples) == 3
    assert found.metric == sorted(found.samples)[1]


def test_the_hash_of_the_oracle_changes_with_evaluator_data_and_command_only(bench: Bench) -> None:
    project, program = bench.project, bench.found.program
    same = hash_oracle(project, bench.base, program)

    def of(path: str) -> str:
        tree = project.workspace.compose(bench.base, {path: ("100644", b"1")})
        return hash_oracle(project, tree, program)

    assert of("sorting.py") == same
    assert of(".autoloop/programs/fast/program.md") == same
    assert of("bench/held.json") != same
    assert hash_oracle(project, bench.base, replace(program, evaluation="true")) != same


COUNTS = """\
import json
from pathlib import Path

tests = sum(file.read_text().count("def test_") for file in Path("tests").glob("test_*.py"))
print(json.dumps({"metric": tests, "passing": tests, "failing": 0}))
"""
PORT = "## Goal\nPort it.\n\n## Evaluation\n```sh\npython count.py\n```\n"


def test_a_test_driven_program_counts_the_candidates_tests_with_the_bases_evaluator(tmp_path: Path) -> None:
    files = {
        "count.py": COUNTS,
        ".autoloop/programs/port/program.md": PORT,
        ".autoloop/programs/port/strategy/strategy.md": "Pin one behaviour.\n",
    }
    world = make_world(tmp_path / "repo", **files)
    plain = world.project
    if not possible(plain).ok:
        pytest.skip("no sandbox can be made here")
    base = plain.workspace.snapshot()
    found = find_program(world.root, "port")
    project = bind_project(plain, bounds_of(found, [entry.path for entry in plain.workspace.files(base)]))
    changed = {
        "tests/test_more.py": b"def test_more():\n    assert True\n",
        "count.py": b"print('{\"metric\": 1000}')\n",
        "calc.py": b"def add(a, b):\n    return b + a\n",
    }
    tree = plain.workspace.compose(base, {path: ("100644", data) for path, data in changed.items()})
    measured = measure(project, tree, base, found.program)
    assert isinstance(measured, Measurement), measured
    assert (measured.metric, measured.passing, measured.failing) == (2, 2, 0)
    seen = plain.workspace.read(evaluated_tree(project, tree, base), "calc.py")
    assert seen == changed["calc.py"]


def test_without_a_sandbox_nothing_is_measured_and_nothing_is_held_against_the_candidate(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = Availability(None, disk=False, abilities=(Ability("namespaces", ok=False, why="not here"),))
    monkeypatch.setattr("verdigris.drivers.loop.evaluation.possible", lambda _: none)
    found = bench.measure()
    assert isinstance(found, EvaluationFailed)
    assert (found.kind, "not here" in found.why) == ("infrastructure", True)
