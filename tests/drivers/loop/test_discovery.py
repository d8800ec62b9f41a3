"""Programs are found where people put them, and say why they do not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from verdigris.core.errors import UserError
from verdigris.drivers.loop.discovery import (
    STRATEGIES,
    find_program,
    find_programs,
    lint_program,
    new_program,
)

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


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def faults(root: Path, name: str = "port") -> list[str]:
    return [str(fault) for fault in lint_program(find_program(root, name), root)]


def ready(root: Path) -> None:
    write(root, {".autoloop/programs/port/program.md": PROGRAM, "src/a.py": "", "evaluate.py": ""})


def test_folders_files_and_a_single_program_are_found(tmp_path: Path) -> None:
    write(tmp_path, {".autoloop/programs/b.md": PROGRAM, ".autoloop/programs/a/program.md": PROGRAM})
    assert [one.name for one in find_programs(tmp_path)] == ["a", "b"]
    write(tmp_path / "other", {"program.md": PROGRAM})
    assert [one.path for one in find_programs(tmp_path / "other")] == ["program.md"]


def test_a_program_with_a_strategy_folder_is_test_driven_and_another_is_a_ratchet(tmp_path: Path) -> None:
    ready(tmp_path)
    assert not find_program(tmp_path, "port").is_test_driven
    write(tmp_path, {".autoloop/programs/port/strategy/strategy.md": "# x\n"})
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
    write(tmp_path, {".autoloop/programs/port/program.md": PROGRAM.replace(old, new)})
    assert any(found in fault for fault in faults(tmp_path)), faults(tmp_path)


def test_domain_knowledge_that_differs_is_found(tmp_path: Path) -> None:
    ready(tmp_path)
    prompts = ".autoloop/programs/port/strategy/prompts"
    write(tmp_path, {f"{prompts}/write-test.md": DOMAIN, f"{prompts}/make-green.md": DOMAIN})
    assert faults(tmp_path) == []
    write(tmp_path, {f"{prompts}/write-test.md": DOMAIN.replace("last", "first")})
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
    write(tmp_path, {".autoloop/programs/port/program.md": written})
    whats = [fault.partition(": ")[2] for fault in faults(tmp_path)]
    assert whats == ["bench/ does not exist", "no command measures the held-out inputs"]
