"""The coding agents that are known, and the commands that an agent may run.

Of each agent: plain facts, by which its switches and its shell are protected, whether or not it has a client
(`gates/clients/`), since several may be used in one project. No other module names one. Of each command:
whether it is an agent's or a person's alone.
"""

from __future__ import annotations

from verdigris.core.value import value

TYPE_CHECKING = False  # part of every shell call, where `typing` takes long to load
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from verdigris.core.actions import Deny


@value
class AgentVariables:
    """The environment variables of an agent; an empty name where it has none."""

    homes: tuple[str, ...] = ()
    """Name other folders of its settings."""
    temporary: tuple[str, ...] = ()
    """Name a temporary folder of its own."""
    session: str = ""
    """Names the session, in the environment of its hooks and commands."""
    in_commands: str = ""
    """Is set in the environment of its commands."""
    in_hooks: str = ""
    """Is set in the environment of its hooks, and not of its commands."""
    process: str = ""
    """Names the client's process."""


@value
class AgentSockets:
    """The sockets on which an agent listens: a line that is sent there is a prompt to it."""

    variables: tuple[str, ...] = ()
    """Variables that name one."""
    folders: tuple[str, ...] = ()
    """Where they lie, below temporary folders; `{}` is the user's number."""
    secrets: tuple[str, ...] = ()
    """Variables with a token for them."""


@value
class AgentFacts:
    name: str
    """As in `tdd init --agent NAME`."""
    settings: tuple[str, ...]
    """Regular expressions of files and folders that turn its hooks on and off, anywhere in a worktree; also
    of servers that it starts outside of any sandbox."""
    extensions: tuple[str, ...] = ()
    """The same of what it loads beside them: agents, commands and skills may name servers and hooks."""
    in_home: tuple[str, ...] = ()
    """Its settings in the user's home."""
    caches: tuple[str, ...] = ()
    """Folders below the home with programs that it runs."""
    notes: tuple[str, ...] = ()
    """Regular expressions of files in its folder of the home that it has its agent write, by file tools."""
    variables: AgentVariables = AgentVariables()
    sockets: AgentSockets = AgentSockets()


_ALL = (
    AgentFacts(
        "claude",
        settings=(
            r"\.claude/(?:settings[^/]*\.json|hooks|plugins|skills/tdd|agents/tdd-[^/]*\.md)",
            r"\.mcp\.json",
        ),
        extensions=(
            r"\.claude/(?!(?:plans|todos|notes|docs|worktrees|agent-memory(?:-local)?)(?:/|\Z))[^/]+",
            *(r"\.claude-plugin", r"\.lsp\.json", r"\.worktreeinclude"),
        ),
        in_home=(".claude", ".claude.json", ".claude/settings.json", ".claude/settings.local.json"),
        caches=(".cache/claude",),
        notes=(r"plans/", r"todos/", r"projects/[^/]+/memory/", r"agent-memory/"),
        variables=AgentVariables(
            homes=("CLAUDE_CONFIG_DIR",),
            temporary=("CLAUDE_CODE_TMPDIR",),
            session="CLAUDE_CODE_SESSION_ID",
            in_commands="CLAUDECODE",
            in_hooks="CLAUDE_PROJECT_DIR",
            process="CLAUDE_PID",
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
    AgentFacts(
        "cursor",
        settings=(r"\.cursor/hooks(?:\.json)?",),
        extensions=(r"\.cursor/(?:mcp|environment)\.json",),
    ),
    AgentFacts("windsurf", settings=(r"\.windsurf/hooks(?:\.json)?",)),
    AgentFacts("kiro", settings=(r"\.kiro/hooks",), extensions=(r"\.kiro/settings",)),
    AgentFacts("amp", settings=(r"\.(?:amp|agents)/plugins",)),
)
AGENTS = {agent.name: agent for agent in _ALL}


INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md")
"""A repository's instructions to agents; each of them is also read by other agents than its own."""
ACTOR, CLIENT, CONTEXT, ROOT = "TDD_ACTOR", "TDD_CLIENT", "TDD_CONTEXT", "TDD_ROOT"
"""Set for a `tdd` that an agent calls: who acts, for which client and session, in which worktree. A person
who sets them only has fewer rights."""
BROKER = "TDD_BROKER"
"""Where the broker's socket is; set inside an agent's shell."""
OWN_SESSION = "TDD_SESSION"
"""Names the session of `tdd code`, in the environment of its commands."""


def of_all(pick: Callable[[AgentFacts], Iterable[str]]) -> tuple[str, ...]:
    """The words that `pick` takes from each known agent."""
    return tuple(word for agent in _ALL for word in pick(agent))


def session_in(environment: Mapping[str, str]) -> str:
    """The session that a process belongs to; empty if no agent started it."""
    names = (OWN_SESSION, *(agent.variables.session for agent in _ALL if agent.variables.session))
    return next(filter(None, (environment.get(name, "") for name in names)), "")


def agent_in(environment: Mapping[str, str]) -> str:
    """The agent that started a process as a command; empty if none did."""
    return next(
        (a.name for a in _ALL if a.variables.in_commands and a.variables.in_commands in environment), ""
    )


def process_in(environment: Mapping[str, str]) -> str:
    """The number of the client's process; empty if it is not known."""
    names = (agent.variables.process for agent in _ALL if agent.variables.process)
    return next((pid for name in names if (pid := environment.get(name, "")).isdigit()), "")


def caller_in(environment: Mapping[str, str], subagent: str) -> tuple[str, str]:
    """The client and the context of a command; `subagent` is empty for the session itself."""
    return agent_in(environment) or environment.get(CLIENT, "shell"), subagent or session_in(environment)


def hook_in(environment: Mapping[str, str]) -> str:
    """The agent that started a process as a hook; empty if none did."""
    return next((a.name for a in _ALL if a.variables.in_hooks and a.variables.in_hooks in environment), "")


AGENT_VERBS = frozenset(
    {"test", "stub", "claim", "settle", "refactor", "test-bug", "aside", "restore", "sync", "cycle"}
)
READING_VERBS = frozenset({"status", "log", "doctor", "displaced"})
PERSON_VERBS = frozenset(
    {"init", "uninit", "on", "off", "revise", "holdout", "run", "step", "code", "audit", "corpus", "fleet"}
)
LOCAL_VERBS = frozenset({"demo", "completion", "help", "shell", "spec", "loop"})
"""Commands that need no kernel outside the sandbox: they run where they are called."""

_PERSON_PARTS = {
    "cycle": ("abort", "run"),
    "log": ("repair",),
    "refactor": ("--uncovered",),
    "settle": ("--owe",),
    "doctor": ("--room", "--accept-weaker"),
    "spec": ("activate", "supersede"),
    "loop": ("new", "run", "daemon", "pause", "resume", "stop", "workflow"),
}
"""Parts of other verbs that only a person may use: they lift a law, say what is to be built, or run the
project's code unconfined."""


def is_local(argv: Sequence[str]) -> bool:
    """Whether a call needs no broker: help, the version, and commands on files of their own."""
    return not argv or argv[0].startswith("-") or (argv[0] in LOCAL_VERBS and not _persons_part(argv))


def _persons_part(argv: Sequence[str]) -> str:
    parts = _PERSON_PARTS.get(argv[0], ())
    words = {word.partition("=")[0] for word in argv[1:]}
    return next((part for part in parts if part in words), "")


def deny_persons_verb(verb: str) -> Deny:
    from verdigris.core.actions import Deny

    line = "tdd off WHY" if verb == "off" else f"tdd {verb} …"
    way = "to run it in a shell of their own"
    if not verb.startswith(("spec ", "loop ")):
        way = f"to write `{line}` as the first line of a prompt, or {way}"
    return Deny("persons-verb", f"Only a person may run `tdd {verb}`.", f"ask the person {way}")


def refuse_verb(argv: Sequence[str]) -> Deny | None:
    """Why the broker does not serve a call from an agent's shell; None if it does."""
    verb = argv[0] if argv else ""
    part = _persons_part(argv) if argv else ""
    if verb in AGENT_VERBS | READING_VERBS and not part:
        return None
    if verb in PERSON_VERBS:
        return deny_persons_verb(verb)
    if part:
        return deny_persons_verb(f"{verb} {part}")
    from verdigris.core.actions import Deny

    return Deny(
        "unknown-verb",
        f"`tdd {verb}` is not served inside an agent's shell.",
        "`tdd status` tells the next move; `tdd --help` lists the commands",
    )
