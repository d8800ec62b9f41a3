"""The coding agents that are known: plain facts of each, by which its switches and its shell are protected.

An agent is protected here whether or not it has a client (`gates/clients/`), since several may be used in one
project. No other module names one.
"""

from __future__ import annotations

TYPE_CHECKING = False  # part of every shell call, where `typing` takes long to load
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


class AgentFacts:
    """A plain class: `value` loads `dataclasses`, which a shell call does not wait for."""

    __slots__ = (
        *("caches", "home_variables", "hook_variable", "in_home", "name", "secrets", "session_variable"),
        *("settings", "shell_variable", "socket_folders", "socket_variables", "temporary_variables"),
    )

    def __init__(  # noqa: PLR0913 - facts, each by its name
        self,
        name: str,
        *,
        settings: tuple[str, ...],
        in_home: tuple[str, ...] = (),
        home_variables: tuple[str, ...] = (),
        caches: tuple[str, ...] = (),
        temporary_variables: tuple[str, ...] = (),
        session_variable: str = "",
        shell_variable: str = "",
        hook_variable: str = "",
        socket_variables: tuple[str, ...] = (),
        socket_folders: tuple[str, ...] = (),
        secrets: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        """As in `tdd init --agent NAME`."""
        self.settings = settings
        """Regular expressions of files and folders that turn its hooks on and off, anywhere in a worktree;
        also of servers that it starts outside of any sandbox."""
        self.in_home = in_home
        """Its settings in the user's home."""
        self.home_variables = home_variables
        """Variables that say where else its settings lie."""
        self.caches = caches
        """Below the home; it runs what lies there."""
        self.temporary_variables = temporary_variables
        """Variables that name a temporary folder of its own."""
        self.session_variable = session_variable
        """Names the session, in the environment of its hooks and commands."""
        self.shell_variable = shell_variable
        """Stands in the environment of its commands."""
        self.hook_variable = hook_variable
        """Stands in the environment of hooks, and not of an agent's commands."""
        self.socket_variables = socket_variables
        """Variables that name a socket of the agent's own; a line that comes there is a prompt to it."""
        self.socket_folders = socket_folders
        """Where such sockets lie, below temporary folders; `{}` is the user's number."""
        self.secrets = secrets
        """Variables that let one in there."""


_ALL = (
    AgentFacts(
        "claude",
        settings=(
            r"\.claude/(?:settings[^/]*\.json|hooks|plugins|skills/tdd|agents/tdd-[^/]*\.md)",
            r"\.mcp\.json",
        ),
        in_home=(".claude", ".claude.json", ".claude/settings.json", ".claude/settings.local.json"),
        home_variables=("CLAUDE_CONFIG_DIR",),
        caches=(".cache/claude",),
        temporary_variables=("CLAUDE_CODE_TMPDIR",),
        session_variable="CLAUDE_CODE_SESSION_ID",
        shell_variable="CLAUDECODE",
        hook_variable="CLAUDE_PROJECT_DIR",
        socket_variables=("CLAUDE_CODE_MESSAGING_SOCKET",),
        socket_folders=("cc-socks", "cc-socks-{}", "cc-daemon-{}"),
        secrets=("CLAUDE_CODE_MESSAGING_TOKEN",),
    ),
    AgentFacts(
        "codex",
        settings=(r"\.codex",),
        in_home=(".codex", ".codex/config.toml"),
        home_variables=("CODEX_HOME",),
        caches=(".cache/codex",),
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


OWN_SESSION = "TDD_SESSION"
"""Names the session of `tdd code`, in the environment of its commands."""


def of_all(pick: Callable[[AgentFacts], Iterable[str]]) -> tuple[str, ...]:
    """What every agent that is known has of a kind."""
    return tuple(word for agent in _ALL for word in pick(agent))


def session_in(environment: Mapping[str, str]) -> str:
    """The session that a process belongs to; empty where no agent started it."""
    names = (OWN_SESSION, *(agent.session_variable for agent in _ALL if agent.session_variable))
    return next(filter(None, (environment.get(name, "") for name in names)), "")


def agent_in(environment: Mapping[str, str]) -> str:
    """The agent whose command a process is; empty where it is nobody's."""
    return next((a.name for a in _ALL if a.shell_variable and a.shell_variable in environment), "")


def caller_in(environment: Mapping[str, str], subagent: str) -> tuple[str, str]:
    """The client and the context that a command acts for; `subagent` is empty for the session itself."""
    return agent_in(environment) or environment.get("TDD_CLIENT", "shell"), subagent or session_in(
        environment
    )


def hook_in(environment: Mapping[str, str]) -> str:
    """The agent whose hook a process is; empty where it is none."""
    return next((a.name for a in _ALL if a.hook_variable and a.hook_variable in environment), "")
