"""No name of a coding agent stands outside its folder, the registry of clients, and the facts of agents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import verdigris
from verdigris.core.agents import AGENTS, agent_in, hook_in, of_all, session_in
from verdigris.gates.clients.claude import quick
from verdigris.gates.clients.registry import BUILT_IN

ROOT = Path(verdigris.__file__).parent
OWN = re.compile(rf"gates/clients/(?:{'|'.join(BUILT_IN)})/|gates/clients/registry\.py|core/agents\.py")
MODULES = sorted(
    name
    for path in ROOT.rglob("*")
    if path.suffix in {".py", ".cjs", ".mjs", ".js", ".sh"}
    and not OWN.match(name := path.relative_to(ROOT).as_posix())
)
FACTS = {
    *of_all(lambda agent: agent.variables.homes),
    *of_all(lambda agent: agent.variables.temporary),
    *of_all(lambda agent: agent.sockets.variables),
    *of_all(lambda agent: agent.sockets.secrets),
    *of_all(lambda agent: agent.in_home),
    *of_all(lambda agent: agent.caches),
    *of_all(lambda agent: (agent.variables.session, agent.variables.in_commands, agent.variables.in_hooks)),
} - {""}


@pytest.mark.parametrize("module", MODULES)
def test_no_module_names_an_agent_or_what_is_its_own(module: str) -> None:
    text = (ROOT / module).read_text("utf-8")
    assert not re.findall(rf"(?i)\b(?:{'|'.join(BUILT_IN)})", text)
    assert not {word for word in FACTS if re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", text)}


def test_a_client_that_comes_with_verdigris_has_its_facts() -> None:
    assert set(BUILT_IN) <= set(AGENTS)
    facts = AGENTS[quick.NAME]
    assert facts.variables.in_hooks == quick.PROJECT
    assert set(quick.HOMES) - {"HOME"} <= set(facts.variables.homes)
    assert any(re.fullmatch(regex, quick.LOCAL) for regex in facts.settings)


@pytest.mark.parametrize("name", AGENTS)
def test_each_agent_says_what_turns_its_hooks_on_and_off(name: str) -> None:
    facts = AGENTS[name]
    assert facts.settings
    for regex in facts.settings:
        re.compile(regex)
    for path in (*facts.in_home, *facts.caches):
        assert not path.startswith("/"), "from the home"


def test_a_process_is_told_by_its_environment() -> None:
    facts = AGENTS[quick.NAME]
    assert (agent_in({}), hook_in({}), session_in({})) == ("", "", "")
    assert agent_in({facts.variables.in_commands: "1"}) == quick.NAME
    assert hook_in({facts.variables.in_hooks: "/w"}) == quick.NAME
    assert hook_in({facts.variables.in_commands: "1"}) == ""
    assert session_in({facts.variables.session: "s1"}) == "s1"
