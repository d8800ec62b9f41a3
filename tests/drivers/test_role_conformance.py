"""What the roles of every driver have to keep, and that data in one folder is enough for new ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from verdigris.core.errors import HarnessError
from verdigris.core.paths import PathClass
from verdigris.core.roles import NAMES as OURS
from verdigris.core.roles import names_of
from verdigris.models.roles import Team, drivers, find_team, read_prompts
from verdigris.models.roles.answer import RefusedAnswer, RoleAnswer, RoleEdit, Say
from verdigris.models.roles.check import EditPlan, check
from verdigris.models.roles.context import Material
from verdigris.models.roles.prompt import Task, first_ask

TESTS = Path(__file__).resolve().parents[1]
NAMES = (*OURS, "duet")
CLASSES = {"a_test.py": PathClass.TEST, "a.py": PathClass.SOURCE, "spec.md": PathClass.SPEC}
MATERIAL = Material(
    kata="Build it.",
    files=dict.fromkeys(CLASSES, "x = 1\n"),
    classify=lambda path: CLASSES.get(path, PathClass.OTHER),
)


@pytest.fixture(autouse=True)
def duet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The made-up driver, as if a package of others were installed."""
    about = tmp_path / "site" / "duet-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: duet\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[verdigris.roles]\nduet = drivers.duet:TEAM\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(about.parent), str(TESTS)])


@pytest.fixture(params=NAMES)
def team(request: pytest.FixtureRequest, duet: None) -> Team:
    return find_team(request.param)


def test_every_registered_driver_is_tried_here() -> None:
    assert set(drivers()) == set(NAMES)


def test_each_role_is_one_of_its_driver_and_hands_over_to_another(team: Team) -> None:
    assert team.driver in NAMES
    assert len(set(team.names)) == len(team.names)
    for role in team.roles:
        assert role.driver == team.driver
        assert team.after(role) in team.roles
        assert str(role) == role.name


def test_by_handing_over_every_role_gets_its_turn(team: Team) -> None:
    seen, role = [], team.roles[0]
    for _ in team.roles:
        seen.append(role.name)
        role = team.after(role)
    assert set(seen) == set(team.names)


def test_each_role_is_told_what_it_is_and_how_to_stop(team: Team) -> None:
    for role in team.roles:
        assert role.guide
        assert role.commit_types
        assert role.stops, "a role that can only edit will edit what is right"
        assert Say.EDIT not in role.stops


def test_the_system_prompt_is_one_for_all_roles_and_holds_each_of_them(team: Team) -> None:
    asked = [first_ask(MATERIAL, Task(role, 1))[0] for role in team.roles]
    systems = {ask.messages[0].content for ask in asked}
    assert len(systems) == 1, "a provider keeps it in its cache"
    (system,) = systems
    for role, ask in zip(team.roles, asked, strict=True):
        assert role.guide in system
        assert f"You are the {role.name}, in step 1. {role.task}" in ask.messages[1].content


@pytest.mark.parametrize("driver", OURS)
def test_a_page_of_prompts_has_a_section_for_each_driver_with_the_role(driver: str) -> None:
    team = find_team(driver)
    assert team.names == names_of(driver)
    for kind, name in OURS[driver].items():
        section = read_prompts(kind)[driver]
        assert section.endswith(team.role(name).guide)
        assert f"THE {name.upper().replace('_', ' ')} " in section


def test_no_role_writes_specification(team: Team) -> None:
    for role in team.roles:
        assert "specification" in refusal(team, role.name, "spec.md")


def test_a_verdict_that_is_not_the_roles_is_refused_with_what_it_may_do(team: Team) -> None:
    for role in team.roles:
        for say in set(Say) - role.stops - {Say.EDIT}:
            found = check(RoleAnswer(say, "why", "why"), role, MATERIAL, frozenset())
            assert isinstance(found, RefusedAnswer)
            assert role.instead in found.reasons[0]


def test_a_name_that_no_driver_has_is_told() -> None:
    with pytest.raises(HarnessError, match="machine has no role soprano"):
        find_team("machine").role("soprano")
    with pytest.raises(HarnessError, match="there is no driver quartet here"):
        find_team("quartet")


def edited(team: Team, role: str, path: str) -> EditPlan | object:
    edit = RoleEdit(path, "upsert", "it", "x = 2\n")
    answer = RoleAnswer(Say.EDIT, "why", subject="do it", edits=(edit,))
    return check(answer, team.role(role), MATERIAL, frozenset(CLASSES))


def refusal(team: Team, role: str, path: str) -> str:
    found = edited(team, role, path)
    assert isinstance(found, RefusedAnswer)
    return found.reasons[0]


def test_a_made_up_role_may_write_what_its_data_says() -> None:
    team = find_team("duet")
    assert isinstance(edited(team, "bass", "a.py"), EditPlan)
    assert refusal(team, "bass", "a_test.py") == "a_test.py: the bass sings no tests."
    assert refusal(team, "treble", "a.py") == "a.py: the treble sings tests alone."
    assert isinstance(edited(team, "treble", "a_test.py"), EditPlan)
