from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.cli import Cli

SPEC = "# S\n### Requirement: Add\n#### Scenario: Two numbers\n- THEN the sum\n"


def test_show_lists_scenarios_by_the_ids_that_tests_cite(bare_cli: Cli) -> None:
    bare_cli.repo.write("openspec/specs/calc/spec.md", SPEC)

    done = bare_cli.ok("spec", "show", "openspec/specs/calc/spec.md")

    assert "calc (draft): 1 scenario" in done.out
    assert "calc#add/two-numbers" in done.out


def test_lint_of_a_change_is_compared_with_its_spec(bare_cli: Cli) -> None:
    bare_cli.repo.write("openspec/specs/calc/spec.md", SPEC)
    change = "openspec/changes/x/specs/calc/spec.md"
    bare_cli.repo.write(change, "## REMOVED Requirements\n### Requirement: Subtract\n")

    done = bare_cli.tdd("spec", "lint", change)

    assert done.code == 1
    assert f"{change}:2: error: openspec/specs/calc/spec.md has no requirement 'Subtract'" in done.out


def test_lint_says_which_lines_to_add_where_there_is_no_scenario(bare_cli: Cli) -> None:
    bare_cli.repo.write("SPEC-001.md", "---\nid: SPEC-001\n---\n# Summary\n")

    done = bare_cli.tdd("spec", "lint", "SPEC-001.md", "--json")
    (spec,) = json.loads(done.out)["specs"]

    assert (done.code, spec["spec_id"], spec["valid"]) == (1, "SPEC-001", False)
    assert "#### Scenario: NAME" in spec["faults"][0]["fix"]


def test_a_file_that_is_not_there_is_a_users_error(bare_cli: Cli) -> None:
    done = bare_cli.tdd("spec", "show", "none.md")

    assert done.code == 2
    assert "none.md" in done.err


def test_a_plan_is_checked_against_the_scenarios_of_its_spec(bare_cli: Cli) -> None:
    bare_cli.repo.write("openspec/specs/calc/spec.md", SPEC)
    bare_cli.repo.write("plan.md", "## calc#add/two-numbers\n- assert: the sum is shown\n")

    done = bare_cli.tdd("spec", "lint", "openspec/specs/calc/spec.md", "--plan", "plan.md")

    assert done.code == 1
    assert "plan.md:1: error: calc#add/two-numbers: no edge case" in done.out
