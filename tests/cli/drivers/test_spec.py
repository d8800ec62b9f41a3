from __future__ import annotations

import json

import pytest

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


def test_a_new_spec_is_a_draft_that_cannot_be_activated_until_it_is_filled_in(bare_cli: Cli) -> None:
    done = bare_cli.ok("spec", "new", "Half price", "--id", "SPEC-001", "--parent", "PRD-001")
    refused = bare_cli.tdd("spec", "activate", "specs/half-price.md")

    assert "specs/half-price.md: a draft" in done.out
    assert refused.code == 1
    assert "SPEC-001 stays draft" in refused.out
    assert "an open question" in refused.out
    assert bare_cli.tdd("spec", "new", "Half price").code == 2


def test_the_format_is_the_one_whose_folder_is_there(bare_cli: Cli) -> None:
    bare_cli.repo.write(".forgeplan/specs/SPEC-004-a.md", "# A\n")

    assert ".forgeplan/specs/SPEC-005-half-price.md" in bare_cli.ok("spec", "new", "Half price").out
    assert "specs/half-price.feature" in bare_cli.ok("spec", "new", "Half price", "--format", "feature").out


def test_an_id_that_no_comment_could_cite_is_refused(bare_cli: Cli) -> None:
    assert bare_cli.tdd("spec", "new", "A", "--id", "a, b").code == 2


def test_a_person_activates_a_spec_and_the_log_says_so(cli: Cli) -> None:
    cli.repo.write("specs/calc.md", SPEC)

    done = cli.ok("spec", "activate", "specs/calc.md")
    again = cli.ok("spec", "activate", "specs/calc.md")
    events = json.loads(cli.ok("log", "--json").out)["events"]

    assert "calc is active" in done.out + again.out
    assert cli.repo.read("specs/calc.md").decode() == f"---\nstatus: active\n---\n{SPEC}"
    assert str(events).count("spec_status_set") == 2  # a second word confirms the text as it is now


def test_a_spec_outside_the_repository_is_no_spec_of_it(cli: Cli) -> None:
    (cli.root.parent / "calc.md").write_text(SPEC)

    done = cli.tdd("spec", "activate", "../calc.md")

    assert done.code == 2
    assert "outside the repository" in done.err


def test_a_link_and_a_mode_stay_when_the_status_is_set(cli: Cli) -> None:
    cli.repo.write("real.md", SPEC)
    (cli.root / "real.md").chmod(0o600)
    (cli.root / "link.md").symlink_to("real.md")

    cli.ok("spec", "activate", "link.md")

    assert (cli.root / "link.md").is_symlink()
    assert (cli.root / "real.md").stat().st_mode & 0o777 == 0o600
    assert "status: active" in cli.repo.read("real.md").decode()
    assert not (cli.root / ".real.md.new").exists()


def test_an_agent_activates_nothing(cli: Cli) -> None:
    cli.repo.write("specs/calc.md", SPEC)

    for verb in ("activate", "supersede"):
        done = cli.tdd("spec", verb, "specs/calc.md", env={"TDD_ACTOR": "agent"})
        assert done.code == 3
        assert f"Only a person may run `tdd spec {verb}`." in done.err
    assert cli.repo.read("specs/calc.md").decode() == SPEC


TEST = "# @scenario: calc#add/two-numbers\ndef test_add():\n    assert add(1, 2) == 3\n"


def test_a_superseded_spec_leaves_a_delta_and_names_what_is_stale(bare_cli: Cli) -> None:
    bare_cli.repo.write("specs/calc.md", f"---\nid: calc\nstatus: active\n---\n{SPEC}")
    bare_cli.repo.write("specs/new.md", f"---\nid: calc\n---\n{SPEC}".replace("the sum", "the sum, rounded"))
    bare_cli.repo.write("specs/shop.md", "---\nid: shop\nlinks:\n- target: calc\n---\n# Shop\n")
    bare_cli.repo.write("tests/test_calc.py", TEST)

    done = bare_cli.ok("spec", "supersede", "specs/calc.md", "--to", "specs/new.md", "--json")
    found = json.loads(done.out)

    assert (found["schema"], found["status"], found["delta"]) == (1, "superseded", "specs/calc.delta.md")
    assert found["stale"] == [
        {
            "id": "calc#add/two-numbers",
            "fate": "changed",
            "to": "calc#add/two-numbers",
            "tests": ["tests/test_calc.py::test_add"],
        }
    ]
    assert found["related"] == ["specs/shop.md"]
    assert "status: superseded" in bare_cli.repo.read("specs/calc.md").decode()
    assert bare_cli.ok("spec", "lint", "specs/calc.delta.md").code == 0
    assert bare_cli.tdd("spec", "activate", "specs/calc.md").code == 2


def test_a_delta_is_filled_in_looked_at_and_makes_the_new_version(bare_cli: Cli) -> None:
    bare_cli.repo.write("specs/calc.md", f"---\nid: calc\nstatus: active\n---\n{SPEC}")
    bare_cli.repo.write("tests/test_calc.py", TEST)

    first = bare_cli.ok("spec", "supersede", "specs/calc.md")
    delta = bare_cli.repo.read("specs/calc.delta.md").decode()
    before, _, after = delta.rpartition("THEN the sum")
    bare_cli.repo.write("specs/calc.delta.md", f"{before}THEN the sum, rounded{after}")
    second = bare_cli.ok("spec", "supersede", "specs/calc.md")
    bare_cli.ok(
        "spec", "supersede", "specs/calc.md", "--delta", "specs/calc.delta.md", "--to", "specs/two.md"
    )

    assert "fill it in" in first.out
    assert "changed: calc#add/two-numbers" not in first.out
    assert "changed: calc#add/two-numbers" in second.out
    assert "stale test: tests/test_calc.py::test_add (tests/test_calc.py:1)" in second.out
    made = bare_cli.repo.read("specs/two.md").decode()
    assert "status: draft" in made
    assert "THEN the sum, rounded" in made


@pytest.mark.parametrize(
    "words", [("--to", "specs/none.md"), ("--to", "specs/calc.md"), ("--delta", "no.md")]
)
def test_a_successor_that_is_not_there_or_says_the_same_leaves_the_old_one(
    bare_cli: Cli, words: tuple[str, ...]
) -> None:
    bare_cli.repo.write("specs/calc.md", SPEC)

    assert bare_cli.tdd("spec", "supersede", "specs/calc.md", *words).code == 2
    assert bare_cli.repo.read("specs/calc.md").decode() == SPEC


def test_a_delta_of_openspec_is_a_change_of_its_own(bare_cli: Cli) -> None:
    bare_cli.repo.write("openspec/specs/calc/spec.md", SPEC)

    done = bare_cli.ok("spec", "supersede", "openspec/specs/calc/spec.md")

    assert "openspec/changes/supersede-calc/specs/calc/spec.md" in done.out
