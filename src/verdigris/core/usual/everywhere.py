"""What has its class in every project, whatever its languages: switches and caches."""

from __future__ import annotations

from verdigris.core.usual.forms import anywhere, at_root

_HOOK_SETTINGS = (
    r"\.claude/(?:settings[^/]*\.json|hooks|plugins)",
    r"\.mcp\.json",
    r"\.codex",
    r"\.(?:gemini|qwen)/(?:settings\.json|hooks|extensions)",
    r"\.github/hooks",
    r"\.opencode/(?:plugins?|opencode\.jsonc?)",
    r"opencode\.jsonc?",
    r"\.cline/(?:hooks|plugins)",
    r"\.clinerules/hooks",
    r"\.(?:cursor|windsurf)/hooks(?:\.json)?",
    r"\.kiro/hooks",
    r"\.(?:amp|agents)/plugins",
)

SWITCHES = at_root(r"tdd\.yaml", r"\.git") + "|" + anywhere(*_HOOK_SETTINGS)
"""The configuration, the repository's own data, what turns an agent's hooks on and off, and servers that a
client starts outside of any sandbox.
Clients read their settings from the folder they are started in, so those count at any depth."""

TRANSIENT = anywhere("__pycache__", r"\.pytest_cache", r"\.mypy_cache", r"\.ruff_cache", r"\.hypothesis")
"""What tools write beside the tests while they run."""
