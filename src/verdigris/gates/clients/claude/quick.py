"""Claude Code's words for the quick entry, which loads this module and nothing else of the folder.

`dialect.py` reads every call and takes its tables from here, so that there is one of each. `read_plainly`
reads only a call that is plainly what it seems; at any doubt it raises, and the slow entry reads the call.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in storage/log/light.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

NAME = "claude"
PROJECT = "CLAUDE_PROJECT_DIR"
"""Says where the project is. Stands in the environment of hooks, and not of an agent's commands."""
PREFIX, PROCESS = "CLAUDE_CODE_SHELL_PREFIX", "CLAUDE_PID"
LOCAL = ".claude/settings.local.json"
HOMES = ("HOME", "CLAUDE_CONFIG_DIR")
"""Variables that say where the client's own switches lie."""
BEFORE, AFTER, FAILED = "PreToolUse", "PostToolUse", "PostToolUseFailure"

WRITERS = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
"""Tools that write a file → the argument that names it."""
READERS = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead", "LSP"})
SHELLS = frozenset({"Bash", "Monitor"})
"""Tried: both hand their command to the shell prefix."""
OWN = frozenset(
    {
        *("Agent", "ListAgents", "SendMessage", "Task", "TaskOutput", "TaskStop"),
        *("TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TodoRead", "TodoWrite", "ReportFindings"),
        *("AgentOutputTool", "BashOutput", "KillBash", "KillShell"),
        *("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "Skill", "SlashCommand", "ToolSearch"),
        *("CronCreate", "CronDelete", "CronList", "ScheduleWakeup"),
        *("ExitWorktree", "WebFetch", "WebSearch", "StructuredOutput"),
        *("ListMcpResources", "ListMcpResourcesTool", "ReadMcpResource", "ReadMcpResourceTool"),
    }
)

_EDIT = {"old_string", "new_string", "replace_all"}
_PLAIN_WRITERS = {"Write": {"content"}, "Edit": _EDIT, "MultiEdit": {"edits"}}
_PLAIN_READERS = {
    "Read": ("file_path", {"offset", "limit", "pages"}),
    "Glob": ("path", {"pattern"}),
    "Grep": (
        "path",
        {"pattern", "glob", "type", "output_mode", "head_limit", "offset", "multiline"}
        | {"-A", "-B", "-C", "-n", "-i", "-o", "context"},
    ),
}
_PLAIN_SHELLS = {"Bash"}
_PLAIN_AFTER = {*_PLAIN_WRITERS, *_PLAIN_READERS, *_PLAIN_SHELLS}


def read_plainly(payload: dict[str, Any]) -> tuple[str, str, str, Any]:
    """Moment (`before`, `after`), tool, what it does (`writes`, `reads`, `shell`), its path or command."""
    event, tool = payload["hook_event_name"], payload["tool_name"]
    if event in {AFTER, FAILED} and tool in _PLAIN_AFTER:
        return "after", tool, "", ""
    if event != BEFORE:
        raise ValueError(event)
    arguments = payload["tool_input"]
    if tool in _PLAIN_WRITERS:
        _check_contents(tool, arguments)
        return "before", tool, "writes", arguments[WRITERS[tool]]
    if tool in _PLAIN_SHELLS:
        return "before", tool, "shell", arguments["command"]
    key, others = _PLAIN_READERS[tool]
    path = arguments.pop(key, payload["cwd"])
    if not arguments.keys() <= others:
        raise ValueError(tool)
    for name, value in arguments.items():
        if isinstance(value, list | dict) or ((tool, name) != ("Grep", "pattern") and _leads_away(value)):
            raise ValueError(name)
    return "before", tool, "reads", path


def caller_of(payload: dict[str, Any]) -> tuple[Any, Any]:
    """The session, and the subagent of it that acts; empty where it is the session itself."""
    return payload.get("session_id") or "", payload.get("agent_id") or ""


def prefix_now(variable: Callable[[str], str | None], settings: Callable[[str], Any]) -> object:
    """The shell prefix: of the environment, if a running client made it; else of the settings."""
    if variable(PROCESS) is not None or variable(PREFIX) is not None:
        return variable(PREFIX)
    return settings(LOCAL)["env"][PREFIX]


def _check_contents(tool: str, arguments: dict[str, Any]) -> None:
    """What is written has no weight here, as long as the call is what the tool takes and nothing besides."""
    if not arguments.keys() <= {WRITERS[tool], *_PLAIN_WRITERS[tool]}:
        raise ValueError(tool)
    edits = arguments["edits"] if tool == "MultiEdit" else [arguments] if tool == "Edit" else []
    if not isinstance(edits, list):
        raise TypeError(tool)
    for edit in edits:
        if not edit.keys() <= {WRITERS[tool], *_EDIT} or not isinstance(edit["new_string"], str):
            raise ValueError(tool)
    if tool == "Write" and not isinstance(arguments["content"], str):
        raise TypeError(tool)


def _leads_away(value: object) -> bool:
    text = value if isinstance(value, str) else ""
    return text[:1] in {"/", "~"} or ".." in text or ".git" in text.lower()
