"""What has its class in every project, whatever its languages: switches and caches."""

from __future__ import annotations

import re

from verdigris.core.languages import SUFFIXES
from verdigris.core.toolfolders import CACHES
from verdigris.languages.forms import anywhere, at_root

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

_CODE = "|".join(re.escape(suffix) for suffixes in SUFFIXES.values() for suffix in suffixes)
TRANSIENT = rf"(?!.*(?:{_CODE})\Z)" + anywhere(*map(re.escape, CACHES))
"""What tools write beside the tests while they run: never a file that a language could import."""
