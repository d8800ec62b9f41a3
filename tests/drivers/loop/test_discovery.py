"""Programs are found where people put them, and say why they do not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.turns import World, make_world
from verdigris.core.actions import Allow, Deny
from verdigris.core.confinement.protection import is_writable
from verdigris.core.errors import UserError
from verdigris.core.paths import PathClass
from verdigris.core.policy import is_measuring, is_within
from verdigris.core.state import Phase
from verdigris.drivers.loop.discovery import (
    STRATEGIES,
    FoundProgram,
    bind_project,
    bounds_of,
    evaluator_files,
    find_crossings,
    find_program,
    find_programs,
    lint_program,
    named_files,
    new_program,
    withheld_paths,
)
from verdigris.drivers.loop.program import read_program
from verdigris.execution.rooms import possible, room
from verdigris.execution.test_run import run_tool
from verdigris.gates.agent_shell.protection import regions
from verdigris.storage.project import Project
from verdigris.turns.rollback import place
from verdigris.turns.test import run_tests
from verdigris.turns.tripwire import TripwireMemory
from verdigris.turns.tripwire.strays import strays
from verdigris.turns.write import write

PROGRAM = """\
---
schedule: daily
---
## Goal
Port it.

## Target
- `src/`

Do NOT modify:
- `evaluate.py`

## Evaluation
```sh
python evaluate.py
```
"""
DOMAIN = "# Red\n\n## Domain knowledge\n\n- NaN is last.\n"


def lay_out(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def faults(root: Path, name: str = "port") -> list[str]:
    return [str(fault) for fault in lint_program(find_program(root, name), root)]


def ready(root: Path) -> None:
    lay_out(root, {".autoloop/programs/port/program.md": PROGRAM, "src/a.py": "", "evaluate.py": ""})


def test_folders_files_and_a_single_program_are_found(tmp_path: Path) -> None:
    lay_out(tmp_path, {".autoloop/programs/b.md": PROGRAM, ".autoloop/programs/a/program.md": PROGRAM})
    assert [one.name for one in find_programs(tmp_path)] == ["a", "b"]
    lay_out(tmp_path / "other", {"program.md": PROGRAM})
    assert [one.path for one in find_programs(tmp_path / "other")] == ["program.md"]


def test_a_program_with_a_strategy_folder_is_test_driven_and_another_is_a_ratchet(tmp_path: Path) -> None:
    ready(tmp_path)
    assert not find_program(tmp_path, "port").is_test_driven
    lay_out(tmp_path, {".autoloop/programs/port/strategy/strategy.md": "# x\n"})
    assert find_program(tmp_path, "port").is_test_driven


def test_a_program_as_found_in_the_wild_is_ready(tmp_path: Path) -> None:
    ready(tmp_path)
    assert faults(tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("Port it.", "<CUSTOMIZE: the goal>", "5: <CUSTOMIZE: the goal> is still there"),
        ("Port it.", "TODO", "5: the placeholder TODO is still there"),
        ("Port it.", "", "1: there is no goal"),
        ("```sh\npython evaluate.py\n```", "run it", "1: there is no evaluation command"),
        ("`src/`", "`lib/`", "8: lib/ does not exist"),
        ("`src/`", "`/etc/*`", "8: broken glob '/etc/*': it is absolute"),
        ("`src/`", "`../other`", "8: broken glob '../other': `..` leaves the folder"),
        (
            "## Goal",
            "<!-- AUTOLOOP:UNCONFIGURED -->\n## Goal",
            "4: the program says that it is not configured",
        ),
        ("## Evaluation", "## Strategy\nRead strategy/strategy.md\n\n## Evaluation", "which is not there"),
    ],
)
def test_what_keeps_a_program_from_running_is_said_with_its_line(
    tmp_path: Path, old: str, new: str, found: str
) -> None:
    ready(tmp_path)
    lay_out(tmp_path, {".autoloop/programs/port/program.md": PROGRAM.replace(old, new)})
    assert any(found in fault for fault in faults(tmp_path)), faults(tmp_path)


def test_domain_knowledge_that_differs_is_found(tmp_path: Path) -> None:
    ready(tmp_path)
    prompts = ".autoloop/programs/port/strategy/prompts"
    lay_out(tmp_path, {f"{prompts}/write-test.md": DOMAIN, f"{prompts}/make-green.md": DOMAIN})
    assert faults(tmp_path) == []
    lay_out(tmp_path, {f"{prompts}/write-test.md": DOMAIN.replace("last", "first")})
    assert any("domain knowledge differs" in fault for fault in faults(tmp_path))


def test_a_name_that_is_unknown_offers_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(UserError) as none:
        find_program(tmp_path, "port")
    assert none.value.hint == "`tdd loop new port` makes one"
    ready(tmp_path)
    with pytest.raises(UserError) as other:
        find_program(tmp_path, "prot")
    assert other.value.hint == "there are port"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_new_program_asks_to_be_filled_in_and_nothing_else(tmp_path: Path, strategy: str) -> None:
    written = new_program(tmp_path, "port", strategy)
    assert ".autoloop/programs/port/program.md" in written
    found = lint_program(find_program(tmp_path, "port"), tmp_path)
    assert found
    asked = [fault for fault in found if "CUSTOMIZE" not in fault.what]
    assert all("does not exist" in fault.what for fault in asked)
    with pytest.raises(UserError, match="already"):
        new_program(tmp_path, "port", strategy)


def test_a_strategy_that_somebody_changed_is_not_overwritten(tmp_path: Path) -> None:
    new_program(tmp_path, "one", "test-driven")
    shared = tmp_path / ".autoloop/strategies/test-driven/strategy.md"
    shared.write_text("ours\n")
    new_program(tmp_path, "two", "test-driven")
    assert shared.read_text() == "ours\n"


def test_held_out_inputs_need_a_command_and_what_measures_has_to_be_there(tmp_path: Path) -> None:
    ready(tmp_path)
    rules = "---\nevaluator: [bench/]\nheld-out: [src/a.py]\n"
    written = PROGRAM.replace("---\n", rules, 1) if PROGRAM.startswith("---") else f"{rules}---\n{PROGRAM}"
    lay_out(tmp_path, {".autoloop/programs/port/program.md": written})
    whats = [fault.partition(": ")[2] for fault in faults(tmp_path)]
    assert whats == ["bench/ does not exist", "no command measures the held-out inputs"]


# -- bounds --------------------------------------------------------------------------------------


BOUNDED = """\
---
evaluator: ["data/*.json"]
held-out: [secret/, "data/held-*.json"]
---
## Goal
Go.

## Target
- `calc.py`
- `new/`

Do NOT modify:
- `docs/**`
- `tests/conformance/`

## Evaluation
```sh
cd tools && python bench.py --data ../data/a.json
```
"""
FILES = {
    "tools/bench.py": "print(1)\n",
    "data/a.json": "1",
    "data/held-b.json": "2",
    "secret/c.txt": "3",
    "docs/spec.md": "spec\n",
    "helper.py": "X = 1\n",
    "tests/conformance/test_c.py": "def test_c():\n    assert True\n",
    ".autoloop/programs/port/program.md": BOUNDED,
    ".autoloop/programs/port/strategy/strategy.md": "Go.\n",
}


@pytest.fixture
def bound(tmp_path: Path) -> Project:
    world = make_world(tmp_path / "repo", **FILES)
    return _bind(world)


def _bind(world: World) -> Project:
    plain = world.project
    files = {entry.path for entry in plain.workspace.files(plain.workspace.snapshot())}
    return bind_project(plain, bounds_of(find_program(world.root, "port"), files))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python bench/run.py data/a.json", ["bench/run.py", "data/a.json"]),
        ("./run.sh | tail -1", ["run.sh"]),
        ("cd bench && python run.py", ["bench/run.py"]),
        ("python -m bench.run", ["bench/run.py"]),
        ("SEED=1 sh -c 'node run.js > data/out'", ["run.js"]),
        ("pytest tests/", []),
        ("./run.sh > data/a.json 2>> run.js", ["run.sh"]),
    ],
)
def test_files_that_a_command_names(command: str, expected: list[str]) -> None:
    files = {"bench/run.py", "data/a.json", "run.sh", "run.js", "tests/test_a.py"}
    assert list(named_files(command, files)) == expected


def test_a_target_that_the_command_runs_is_no_evaluator() -> None:
    text = "## Target\n- `train.py`\n\n## Evaluation\n```\npython train.py && python prepare.py\n```\n"
    found = FoundProgram(read_program("x", text), "program.md", text, {})
    assert evaluator_files(found, {"train.py", "prepare.py"}) == ("prepare.py",)


def test_a_target_below_the_folder_of_programs_may_be_written_and_nothing_else_there() -> None:
    command = "sh .autoloop/programs/x/run.sh"
    text = f"## Target\n- `.autoloop/programs/x/code/`\n\n## Evaluation\n```\n{command}\n```\n"
    found = FoundProgram(read_program("x", text), ".autoloop/programs/x/program.md", text, {})
    bounds = bounds_of(found, {".autoloop/programs/x/run.sh"})
    assert is_within(bounds, ".autoloop/programs/x/code/sort.py", PathClass.SOURCE)
    for name in ("run.sh", "program.md", "strategy/strategy.md"):
        assert is_measuring(bounds, f".autoloop/programs/x/{name}")


@pytest.mark.parametrize(
    ("path", "cls"),
    [
        ("tools/bench.py", PathClass.SWITCH),
        ("data/a.json", PathClass.SWITCH),
        ("data/not-yet.json", PathClass.SWITCH),
        ("secret/c.txt", PathClass.SWITCH),
        (".autoloop/programs/port/program.md", PathClass.SWITCH),
        (".autoloop/anything/else.py", PathClass.SWITCH),
        ("docs/spec.md", PathClass.SPEC),
        ("docs/deep/new.py", PathClass.SPEC),
        ("tests/conformance/test_c.py", PathClass.TEST),
        ("calc.py", PathClass.SOURCE),
        ("helper.py", PathClass.SOURCE),
    ],
)
def test_the_kernel_classifies_by_the_program(bound: Project, path: str, cls: PathClass) -> None:
    assert bound.classify(path) is cls


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("tools/bench.py", "program-measure"),
        ("data/not-yet.json", "program-measure"),
        (".autoloop/programs/port/strategy/strategy.md", "program-measure"),
        ("docs/spec.md", "program-closed"),
        ("tests/conformance/test_c.py", "program-closed"),
        ("helper.py", "outside-program"),
        ("README.md", "outside-program"),
    ],
)
def test_the_kernel_refuses_to_write_beyond_the_bounds(bound: Project, path: str, rule: str) -> None:
    decision = write(bound, {path: b"changed\n"}, cwd=bound.root)
    assert isinstance(decision, Deny)
    assert decision.rule == rule
    assert not (bound.root / path).exists() or (bound.root / path).read_bytes() != b"changed\n"


def test_a_test_may_be_written_and_a_target_once_it_is_claimed(bound: Project) -> None:
    test = b"import calc\n\n\ndef test_sub():\n    assert calc.sub(5, 3) == 2\n"
    assert isinstance(write(bound, {"tests/test_sub.py": test}, cwd=bound.root), Allow)
    run_tests(bound, ["tests/test_sub.py"], cwd=bound.root)
    both = {"calc.py": b"def sub(a, b):\n    return a - b\n", "helper.py": b"X = 2\n"}
    assert isinstance(write(bound, both, cwd=bound.root), Deny)
    assert isinstance(write(bound, {"calc.py": both["calc.py"]}, cwd=bound.root), Allow)
    assert bound.state().phase is Phase.GREEN


def test_what_a_tree_changes_beyond_the_bounds_is_told_whoever_wrote_it(bound: Project) -> None:
    start = bound.workspace.snapshot()
    for name in ("calc.py", "helper.py", "tools/bench.py", "tests/test_more.py"):
        (bound.root / name).write_text("X = 3\n")
    found = find_crossings(bound, start, bound.workspace.snapshot())
    assert [one.rule for one in found] == ["outside-program", "program-measure"]
    assert "helper.py" in found[0].reason


def test_no_shell_can_write_what_measures_in_any_phase(bound: Project) -> None:
    for phase in (Phase.RED, Phase.GREEN, Phase.REFACTOR):
        known = regions(bound, phase)
        assert not is_writable(f"{bound.root}/tools/bench.py", known), phase
        assert not is_writable(f"{bound.root}/secret/c.txt", known), phase
        assert is_writable(f"{bound.root}/calc.py", known), phase


def test_the_tripwire_sees_a_change_of_what_measures_in_red(bound: Project) -> None:
    start = bound.workspace.snapshot()
    (bound.root / "tools/bench.py").write_text("print(2)\n")
    memory = TripwireMemory(start, None, Phase.RED, place(bound))
    found = strays(bound, bound.state(), memory, bound.workspace.snapshot())
    assert [(one.cls, one.paths) for one in found] == [(PathClass.SWITCH, ("tools/bench.py",))]


def test_held_back_inputs_are_in_no_prompt(bound: Project) -> None:
    bounds = bound.settings.bounds
    assert bounds is not None
    assert withheld_paths(bounds, FILES) == {"secret/c.txt", "data/held-b.json"}


@pytest.fixture
def confined(bound: Project) -> None:
    if not possible(bound).ok:
        pytest.skip("no sandbox can be made here")


@pytest.mark.usefixtures("confined")
def test_no_room_shows_held_back_inputs(bound: Project) -> None:
    (bound.root / ".gitignore").write_text("secret/ignored.txt\n")
    (bound.root / "secret/ignored.txt").write_text("4")
    stack = bound.settings.stacks[0]
    told = run_tool(bound, stack, "check", "ls secret data; cat secret/* data/*")
    assert "c.txt" not in told.output
    assert "held-b" not in told.output
    assert "a.json" in told.output
    with room(bound) as made:
        assert made.wrote(bound.classify) == ()
    assert (bound.root / "secret/c.txt").read_text() == "3"


@pytest.mark.usefixtures("confined")
def test_no_test_reads_held_back_inputs(bound: Project) -> None:
    text = (
        "from pathlib import Path\n\n\ndef test_peek():\n    assert not Path('data/held-b.json').exists()\n"
    )
    (bound.root / "tests/test_peek.py").write_text(text)
    tested = run_tests(bound, ["tests/test_peek.py"], cwd=bound.root)
    assert [run.status for run in tested.tests] == ["pass"]
