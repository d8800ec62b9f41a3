"""What each tool of Claude Code does with files; a tool that is not named here is foreign."""

from __future__ import annotations

from verdigris.gates.calls import Manner
from verdigris.gates.clients.claude.edits import WRITERS

SHELLS = frozenset({"Bash", "Monitor"})
"""Tried: both hand their command to the shell prefix."""
READERS = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead", "LSP"})
OWN = frozenset(
    {
        *("Agent", "ListAgents", "SendMessage", "Task", "TaskOutput", "TaskStop", "Workflow"),
        *("TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TodoRead", "TodoWrite", "ReportFindings"),
        *("AgentOutputTool", "BashOutput", "KillBash", "KillShell"),
        *("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "Skill", "SlashCommand", "ToolSearch"),
        *("CronCreate", "CronDelete", "CronList", "ScheduleWakeup"),
        *("ExitWorktree", "WebFetch", "WebSearch", "StructuredOutput"),
        *("ListMcpResources", "ListMcpResourcesTool", "ReadMcpResource", "ReadMcpResourceTool"),
    }
)


def manner(tool: str) -> Manner:
    if tool in WRITERS:
        return Manner.WRITES
    if tool in SHELLS:
        return Manner.SHELL
    if tool in READERS:
        return Manner.READS
    return Manner.OWN if tool in OWN else Manner.FOREIGN


def source(tool: str) -> str:
    """`mcp__SERVER` for a server's tool, else the tool itself."""
    return "__".join(tool.split("__")[:2]) if tool.startswith("mcp__") else tool
