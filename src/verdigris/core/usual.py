"""The usual places in a project, as regexes for a whole path: switches, tests, caches, Python source."""

from __future__ import annotations


def _at_root(*names: str) -> str:
    return rf"(?:{'|'.join(names)})(?:/.*)?\Z"


def _anywhere(*names: str) -> str:
    return "(?:.*/)?" + _at_root(*names)


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

SWITCHES = _at_root(r"tdd\.yaml", r"\.git") + "|" + _anywhere(*_HOOK_SETTINGS)
"""The configuration, the repository's own data, what turns an agent's hooks on and off, and servers that a
client starts outside of any sandbox.
Clients read their settings from the folder they are started in, so those count at any depth."""

TRANSIENT = _anywhere("__pycache__", r"\.pytest_cache", r"\.mypy_cache", r"\.ruff_cache", r"\.hypothesis")
"""What tools write beside the tests while they run."""

ENVIRONMENTS = _at_root(r"\.venv", "venv", r"\.tox", r"\.nox", "node_modules")
"""Installed packages hold tests and `.pth` files of their own; the claim hashes the ones that matter."""

RUNNER_FILES = _anywhere(
    r"conftest\.py",
    r"\.?pytest\.(?:ini|toml)",
    r"\.coveragerc",
    r"[^/]*\.pth",
    r"(?:site|user)customize(?:\.[^/]*)?",
)
"""Runner configuration, and what an interpreter executes at its start."""

_TEST_FOLDERS = _at_root("[Tt]ests?", "[^/]*[_-]tests", "tests[_-][^/]*", "testdata", "test_data", "goldens?")
_TEST_FILES = r"(?:.*/)?(?:test_[^/]*|[^/]*_test)\.py\Z"

TESTS = f"(?:{_TEST_FOLDERS}|{_anywhere('tests', '__snapshots__')}|{_TEST_FILES})"
"""Test folders at the stack's root, `tests/` in any package, and files that pytest collects by name."""

LANGUAGE_FILE = r"(?=.*\.py[ix]?\Z)"
"""Looks ahead: the path is a Python file."""

_NOT_SOURCE = (
    r"\.",
    "(?:docs?|scripts?|tools?|bin|ci|examples?|samples?|demos?|benchmarks?|bench|notebooks?)/",
    "(?:build|dist|site|htmlcov)/",
    r"(?:setup|noxfile|tasks|fabfile|dodo|manage)\.py\Z",
)

FLAT_SOURCE = LANGUAGE_FILE + rf"(?!{'|'.join(_NOT_SOURCE)}).*\Z"
"""Modules and packages at the stack's root, also those that do not exist yet."""
