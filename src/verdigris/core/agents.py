"""The coding agents that are known: plain facts of each, by which its switches and its shell are protected.

An agent is protected here whether or not it has a client (`gates/clients/`), since several may be used in one
project. No other module names one.
"""

from __future__ import annotations

TYPE_CHECKING = False  # part of every shell call, where `typing` takes long to load
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


# Plain classes, not `value`: that loads `typing`, which a shell call does not wait for.
class AgentVariables:
    """The environment variables of an agent; an empty name where it has none."""

    __slots__ = ("homes", "in_commands", "in_hooks", "session", "temporary")

    def __init__(
        self,
        *,
        homes: tuple[str, ...] = (),
        temporary: tuple[str, ...] = (),
        session: str = "",
        in_commands: str = "",
        in_hooks: str = "",
    ) -> None:
        self.homes = homes
        """Say where else its settings lie."""
        self.temporary = temporary
        """Name a temporary folder of its own."""
        self.session = session
        """Names the session, in the environment of its hooks and commands."""
        self.in_commands = in_commands
        """Stands in the environment of its commands."""
        self.in_hooks = in_hooks
        """Stands in the environment of hooks, and not of an agent's commands."""


class AgentSockets:
    """The sockets of an agent's own; a line that comes there is a prompt to it."""

    __slots__ = ("folders", "secrets", "variables")

    def __init__(
        self,
        *,
        variables: tuple[str, ...] = (),
        folders: tuple[str, ...] = (),
        secrets: tuple[str, ...] = (),
    ) -> None:
        self.variables = variables
        """Variables that name one."""
        self.folders = folders
        """Where they lie, below temporary folders; `{}` is the user's number."""
        self.secrets = secrets
        """Variables that let one in there."""


_NO_VARIABLES, _NO_SOCKETS = AgentVariables(), AgentSockets()


class AgentFacts:
    __slots__ = ("caches", "in_home", "name", "settings", "sockets", "variables")

    def __init__(
        self,
        name: str,
        *,
        settings: tuple[str, ...],
        in_home: tuple[str, ...] = (),
        caches: tuple[str, ...] = (),
        variables: AgentVariables = _NO_VARIABLES,
        sockets: AgentSockets = _NO_SOCKETS,
    ) -> None:
        self.name = name
        """As in `tdd init --agent NAME`."""
        self.settings = settings
        """Regular expressions of files and folders that turn its hooks on and off, anywhere in a worktree;
        also of servers that it starts outside of any sandbox."""
        self.in_home = in_home
        """Its settings in the user's home."""
        self.caches = caches
        """Below the home; it runs what lies there."""
        self.variables = variables
        self.sockets = sockets


_ALL = (
    AgentFacts(
        "claude",
        settings=(
            r"\.claude/(?:settings[^/]*\.json|hooks|plugins|skills/tdd|agents/tdd-[^/]*\.md)",
            r"\.mcp\.json",
        ),
        in_home=(".claude", ".claude.json", ".claude/settings.json", ".claude/settings.local.json"),
        caches=(".cache/claude",),
        variables=AgentVariables(
            homes=("CLAUDE_CONFIG_DIR",),
            temporary=("CLAUDE_CODE_TMPDIR",),
            session="CLAUDE_CODE_SESSION_ID",
            in_commands="CLAUDECODE",
            in_hooks="CLAUDE_PROJECT_DIR",
        ),
        sockets=AgentSockets(
            variables=("CLAUDE_CODE_MESSAGING_SOCKET",),
            folders=("cc-socks", "cc-socks-{}", "cc-daemon-{}"),
            secrets=("CLAUDE_CODE_MESSAGING_TOKEN",),
        ),
    ),
    AgentFacts(
        "codex",
        settings=(r"\.codex",),
        in_home=(".codex", ".codex/config.toml"),
        caches=(".cache/codex",),
        variables=AgentVariables(homes=("CODEX_HOME",)),
    ),
    AgentFacts(
        "gemini",
        settings=(r"\.gemini/(?:settings\.json|hooks|extensions)",),
        in_home=(".gemini", ".gemini/settings.json"),
        caches=(".cache/gemini",),
    ),
    AgentFacts(
        "qwen",
        settings=(r"\.qwen/(?:settings\.json|hooks|extensions)",),
        caches=(".cache/qwen",),
    ),
    AgentFacts(
        "opencode",
        settings=(r"\.opencode/(?:plugins?|opencode\.jsonc?)", r"opencode\.jsonc?"),
        caches=(".cache/opencode",),
    ),
    AgentFacts("copilot", settings=(r"\.github/hooks",)),
    AgentFacts("cline", settings=(r"\.cline/(?:hooks|plugins)", r"\.clinerules/hooks")),
    AgentFacts("cursor", settings=(r"\.cursor/hooks(?:\.json)?",)),
    AgentFacts("windsurf", settings=(r"\.windsurf/hooks(?:\.json)?",)),
    AgentFacts("kiro", settings=(r"\.kiro/hooks",)),
    AgentFacts("amp", settings=(r"\.(?:amp|agents)/plugins",)),
)
AGENTS = {agent.name: agent for agent in _ALL}


INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md")
"""Files in which a repository tells agents how to work there; others than their own agent read them too."""
OWN_SESSION = "TDD_SESSION"
"""Names the session of `tdd code`, in the environment of its commands."""


def of_all(pick: Callable[[AgentFacts], Iterable[str]]) -> tuple[str, ...]:
    """What every agent that is known has of a kind."""
    return tuple(word for agent in _ALL for word in pick(agent))


def session_in(environment: Mapping[str, str]) -> str:
    """The session that a process belongs to; empty where no agent started it."""
    names = (OWN_SESSION, *(agent.variables.session for agent in _ALL if agent.variables.session))
    return next(filter(None, (environment.get(name, "") for name in names)), "")


def agent_in(environment: Mapping[str, str]) -> str:
    """The agent whose command a process is; empty where it is nobody's."""
    return next(
        (a.name for a in _ALL if a.variables.in_commands and a.variables.in_commands in environment), ""
    )


def caller_in(environment: Mapping[str, str], subagent: str) -> tuple[str, str]:
    """The client and the context that a command acts for; `subagent` is empty for the session itself."""
    return agent_in(environment) or environment.get("TDD_CLIENT", "shell"), subagent or session_in(
        environment
    )


def hook_in(environment: Mapping[str, str]) -> str:
    """The agent whose hook a process is; empty where it is none."""
    return next((a.name for a in _ALL if a.variables.in_hooks and a.variables.in_hooks in environment), "")
