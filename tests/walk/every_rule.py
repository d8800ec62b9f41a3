"""All rules of a walk together."""

from __future__ import annotations

from walk.agent_calls import AgentCalls
from walk.git_moves import GitMoves
from walk.person_edits import Edits
from walk.verbs import Verbs


class Walk(Edits, GitMoves, Verbs, AgentCalls):
    pass
