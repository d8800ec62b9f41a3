"""The workflow for GitHub Actions says when, one at a time, with which rights, and what tokens can do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from verdigris.core.errors import UserError
from verdigris.drivers.loop.ci.workflow import (
    WorkflowNeeds,
    cron_of,
    find_needs,
    render_workflow,
    write_workflow,
)
from verdigris.drivers.loop.program import Schedule


def read(text: str) -> dict[str, Any]:
    found = yaml.safe_load(text)
    assert isinstance(found, dict)
    return {str(key): said for key, said in found.items()}  # `on` is a yes to YAML


TEXT = render_workflow("port", Schedule("every 6h"), WorkflowNeeds(("LLM_API_KEY",)))


def test_it_runs_by_schedule_and_by_hand_one_at_a_time() -> None:
    found = read(TEXT)
    assert found["True"]["schedule"] == [{"cron": cron_of(Schedule("every 6h"), "port").line}]
    assert "iterations" in found["True"]["workflow_dispatch"]["inputs"]
    assert found["concurrency"] == {"group": "autoloop-port", "cancel-in-progress": False}
    assert (found["permissions"]["contents"], found["permissions"]["pull-requests"]) == ("write", "write")


def test_its_steps_install_by_name_and_run_the_program_with_its_keys() -> None:
    steps = read(TEXT)["jobs"]["iterate"]["steps"]
    runs = [step["run"] for step in steps if "run" in step]
    assert runs[0] == "pip install verdigris"
    assert runs[-1].startswith('tdd loop run port --iterations "$ITERATIONS"')
    env = steps[-1]["env"]
    assert env["LLM_API_KEY"] == "${{ secrets.LLM_API_KEY }}"
    assert env["GH_TOKEN"] == "${{ secrets.AUTOLOOP_TOKEN || github.token }}"
    assert steps[0]["with"] == {"fetch-depth": 0, "token": "${{ secrets.AUTOLOOP_TOKEN || github.token }}"}


def test_it_tells_what_a_token_cannot_do() -> None:
    comments = " ".join(line.lstrip("# ") for line in TEXT.splitlines() if line.startswith("#"))
    assert "A push with the job's own token starts no other workflow" in comments
    assert "60 days" in comments


def test_an_input_of_the_dispatch_never_stands_in_the_shell() -> None:
    steps = read(TEXT)["jobs"]["iterate"]["steps"]
    assert not any("${{" in step.get("run", "") for step in steps)


@pytest.mark.parametrize(
    ("written", "pattern", "noted"),
    [
        ("every 6h", "M */6 * * *", False),
        ("every 1h", "M * * * *", False),
        ("every 5h", "M */6 * * *", True),
        ("every 13h", "M H * * *", True),
        ("every 30m", "*/30 * * * *", False),
        ("every 2m", "*/5 * * * *", True),
        ("every 45m", "M * * * *", True),
        ("daily", "M H * * *", False),
        ("weekly", "M H * * D", False),
        ("every 48h", "M H */2 * *", True),
        ("whenever", "M * * * *", True),
    ],
)
def test_a_schedule_becomes_a_line_of_cron(written: str, pattern: str, *, noted: bool) -> None:
    found = cron_of(Schedule(written), "port")
    for said, wanted in zip(found.line.split(), pattern.split(), strict=True):
        assert said.isdigit() if wanted in {"M", "H", "D"} else said == wanted
    assert bool(found.note) is noted
    assert read(render_workflow("port", Schedule(written), WorkflowNeeds()))["jobs"]


def test_two_programs_do_not_begin_at_the_same_minute() -> None:
    assert cron_of(Schedule("daily"), "port") != cron_of(Schedule("daily"), "sort")


def test_the_keys_are_those_of_the_roles_models(tmp_path: Path) -> None:
    assert find_needs(tmp_path) == WorkflowNeeds()
    (tmp_path / "tdd.yaml").write_text(
        "stacks: [{root: ., language: python, runner: pytest}]\n"
        "roles:\n  test_writer: {model: 'openai:x'}\n  code_writer: {model: 'glm:y', api_key_env: MY_KEY}\n"
        "  refactorer: {model: human}\nloop: {memory: memory/ours}\n"
    )
    assert find_needs(tmp_path) == WorkflowNeeds(("MY_KEY", "OPENAI_API_KEY"), "memory/ours")


def test_what_a_person_changed_stays_unless_they_say_otherwise(tmp_path: Path) -> None:
    path = write_workflow(tmp_path, "port", TEXT, force=False)
    assert path == ".github/workflows/autoloop-port.yml"
    assert write_workflow(tmp_path, "port", TEXT, force=False) == path
    (tmp_path / path).write_text("mine\n")
    with pytest.raises(UserError, match="says something else"):
        write_workflow(tmp_path, "port", TEXT, force=False)
    write_workflow(tmp_path, "port", TEXT, force=True)
    assert (tmp_path / path).read_text() == TEXT


def test_a_name_that_yaml_or_a_shell_would_read_otherwise_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no name"):
        write_workflow(tmp_path, 'a"; rm', TEXT, force=True)
