"""What the section of every driver keeps, and that one declaration is all that a new one takes."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from verdigris.core.errors import ConfigError
from verdigris.core.roles import NAMES as TEAMS
from verdigris.core.settings import DriverSettings, MachineSettings, Player, Prices, Settings, keys_of
from verdigris.models.roles import find_team
from verdigris.storage.config import decode, load_driver, load_machine, render
from verdigris.storage.config.drivers import SECTIONS as SEAM
from verdigris.storage.config.drivers import AnySection, built_in_sections
from verdigris.storage.config.file import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    Read = Callable[[str], MachineSettings]


TESTS = Path(__file__).resolve().parents[2]
SECTIONS = built_in_sections()


@pytest.fixture(params=SECTIONS, ids=lambda section: section.driver)
def section(request: pytest.FixtureRequest) -> AnySection:
    found: AnySection = request.param
    return found


PAGE = (TESTS.parent / "docs" / "configuration.md").read_text()


def test_a_section_is_registered_by_its_name_and_takes_no_key_of_ours(section: AnySection) -> None:
    assert section.driver in SEAM.ours
    assert section.driver not in {key.name for key in keys_of(Settings).values()}


def test_no_role_has_two_drivers() -> None:
    roles = [role for section in SECTIONS for role in section.roles]
    assert len(roles) == len(set(roles))


def test_a_section_has_a_player_for_each_role_of_its_drivers_team(section: AnySection) -> None:
    if section.driver in TEAMS:
        assert tuple(section.roles) == find_team(section.driver).names


def test_each_key_has_a_default(section: AnySection) -> None:
    assert isinstance(section.settings(), DriverSettings)
    assert all(key.default is not ... for key in keys_of(section.settings).values())


def test_the_examples_of_the_documentation_are_good_as_they_stand() -> None:
    examples = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    for text in examples:
        decode(text.encode())
    shown = {key for text in examples for key in parse(text.encode())[0]}
    assert {"llm", "commit", "budget", "roles", *(section.driver for section in SECTIONS)} <= shown


def test_a_section_has_what_all_drivers_share(tmp_path: Path, section: AnySection) -> None:
    role = next(iter(section.roles))
    shared = "llm: {timeout: 9}\ncommit: {author_name: Ada}\nbudget: {tokens: 7}\n"
    (tmp_path / "tdd.yaml").write_text(f"roles: {{{role}: {{model: human}}}}\n{shared}")
    found = load_driver(tmp_path, section)
    assert isinstance(found, DriverSettings)
    assert found.player(role).human
    assert (found.llm.timeout, found.author_name, found.tokens) == (9, "Ada", 7)


def test_a_role_has_the_prices_of_its_own_model_or_those_of_all(tmp_path: Path, section: AnySection) -> None:
    role, *others = section.roles
    own = "{input: 2, cached: 0.2, output: 8}"
    (tmp_path / "tdd.yaml").write_text(
        f"roles: {{{role}: {{model: 'ollama:x', prices: {own}}}}}\nllm: {{prices: {{input: 1, output: 4}}}}\n"
    )
    found = load_driver(tmp_path, section)
    assert found.prices == {role: Prices(2, 8, 0.2), **dict.fromkeys(others, Prices(1, 4))}
    assert found.unpriced_roles == ()


def test_prices_of_a_session_as_they_were_written_first_are_read_by_every_driver(
    tmp_path: Path, section: AnySection
) -> None:
    (tmp_path / "tdd.yaml").write_text("code: {repairs: 2, prices: {input: 1, output: 4}}\n")
    found = load_driver(tmp_path, section)
    assert set(found.prices.values()) == {Prices(1, 4)}
    with pytest.raises(ConfigError, match=r"tdd\.yaml:3: code\.prices\.input: "):
        decode(b"code:\n  prices:\n    input: -1\n    output: 2\n")


def test_a_key_that_a_section_does_not_have_is_told_with_its_line(section: AnySection) -> None:
    with pytest.raises(ConfigError, match=rf"tdd\.yaml:2: {section.driver}: unknown key `no_such_key`"):
        decode(f"{section.driver}:\n  no_such_key: 1\n".encode())


def test_a_kata_of_another_name_is_said_and_nothing_else() -> None:
    value, _ = parse(render(Settings(), "docs/a: b.md").encode())
    assert value["machine"] == {"kata_description": "docs/a: b.md"}
    value, _ = parse(render(Settings()).encode())
    assert list(value) == ["stacks"]


class TestOfAnotherPackage:
    @pytest.fixture(autouse=True)
    def duet(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        about = tmp_path / "site" / "duet-1.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: duet\nVersion: 1\n")
        (about / "entry_points.txt").write_text("[verdigris.drivers]\nduet = drivers.duet:SECTION\n")
        monkeypatch.setattr(sys, "path", [*sys.path, str(about.parent), str(TESTS)])

    def test_its_section_and_its_roles_are_read(self, tmp_path: Path) -> None:
        from drivers.duet import SECTION

        (tmp_path / "tdd.yaml").write_text("duet: {bars: 3}\nroles: {treble: {model: human}}\n")
        found = load_driver(tmp_path, SECTION)
        assert (found.bars, found.player("treble").human) == (3, True)

    def test_what_it_refuses_is_told_with_its_place(self) -> None:
        with pytest.raises(ConfigError, match=r"tdd\.yaml:1: duet\.bars: .*>= 1"):
            decode(b"duet: {bars: 0}\n")

    def test_its_roles_alone_are_enough_to_find_it(self) -> None:
        decode(b"roles: {bass: {model: human}}\n")
        with pytest.raises(ConfigError, match="unknown key `soprano`"):
            decode(b"roles: {soprano: {model: human}}\n")


def test_it_is_unknown_where_it_is_not_installed() -> None:
    with pytest.raises(ConfigError, match="unknown key `duet`"):
        decode(b"duet: {bars: 3}\n")


SECRET = "sk-proj-abcdefgh12345678"


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def written(text: str) -> MachineSettings:
        (tmp_path / "tdd.yaml").write_text(text)
        return load_machine(tmp_path)

    return written


def test_nothing_said_is_the_defaults(read: Read) -> None:
    assert read("").kata == "kata.md"
    assert read("").sandbox
    assert read("").player("tester").model == ""


def test_everything_said(read: Read) -> None:
    found = read(
        """
        machine: {kata_description: docs/kata.md, steps: 3, max_attempts_per_agent: 2, sandbox: false,
                  refactor_files: 2, refactor_lines: 9, coverage_guard: false, share: [.env]}
        roles:
          tester: {model: "openai:gpt-4.1-mini", temperature: 0.4}
          implementor: {model: "deepseek:v2", base_url: "http://localhost/v1", api_key_env: A, timeout: 9}
          refactorer: {model: "replay:talk.jsonl"}
        llm: {base_url: "http://localhost:11434/v1", api_key_env: LLM_API_KEY}
        commit: {author_name: Bot, author_email: bot@example.org}
        budget: {tokens: 1000}
        """
    )
    assert (found.kata, found.steps, found.attempts, found.sandbox) == ("docs/kata.md", 3, 2, False)
    assert found.player("tester").served.temperature == 0.4
    assert found.player("implementor").served.timeout == 9
    assert found.player("refactorer").replayed == "talk.jsonl"
    assert (found.author_name, found.tokens) == ("Bot", 1000)


def test_a_person_works_in_the_tree_that_they_see(read: Read) -> None:
    assert not read("roles: {tester: {model: human}}").sandbox
    with pytest.raises(ConfigError, match="person"):
        read("machine: {sandbox: true}\nroles: {tester: {model: human}}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kata_description: kata.md", "machine.kata_description"),
        ("steps: 3", "machine.steps"),
        ("ci: {test_cmd: x}", "`test_command`"),
        ("llm: {api_key: x}", "api_key_env"),
        ("roles: {cook: {model: x}}", "unknown key `cook`"),
        ("machine: {attempts: 1}", "unknown key `attempts`"),
        ("machine: {kata_description: ../kata.md}", "no path below"),
        ("machine: {steps: 0}", ">= 1"),
        ("llm: {base_url: 'localhost:11434'}", "address"),
        ("commit: {author_email: 'a b'}", "author"),
    ],
)
def test_what_is_wrong_is_told_with_the_way_out(read: Read, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert told in f"{caught.value.message} {caught.value.hint}"
    assert "tdd.yaml:1" in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        f"llm: {{api_key_env: {SECRET}}}",
        f"roles: {{tester: {{model: {SECRET}}}}}",
        "llm: {api_key_env: abcdefghijk1234567890}",
        f"llm: {{base_url: 'https://user:{SECRET}@host/v1'}}",
        f"llm: {{base_url: 'https://host/v1?key={SECRET}'}}",
    ],
)
def test_a_secret_in_the_file_is_refused_and_not_repeated(read: Read, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert "variable" in (caught.value.hint or "")
    assert SECRET not in f"{caught.value.message} {caught.value.hint}"


def test_a_tree_without_configuration_has_the_defaults(tmp_path: Path) -> None:
    found = load_machine(tmp_path)
    assert set(found.roles.values()) == {Player()}
    assert replace(found, roles={}) == MachineSettings()
