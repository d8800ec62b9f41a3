"""Which pytest plugin a run missed, by the fixture, option, mark or setting that it did not know."""

from __future__ import annotations

import re

_PROVIDERS = {
    "pytest_mock": ("mocker", "class_mocker", "module_mocker", "session_mocker"),
    "pytest_cov": ("cov",),
    "xdist": ("n", "numprocesses", "dist", "worker_id"),
    "timeout": ("timeout",),
    "rerunfailures": ("reruns", "flaky"),
    "asyncio": ("asyncio", "event_loop"),
    "anyio": ("anyio",),
    "aiohttp": ("aiohttp",),
    "django": ("django", "ds", "db", "client", "admin_client", "live_server"),
    "benchmark": ("benchmark",),
    "hypothesispytest": ("hypothesis",),
    "randomly": ("randomly",),
    "syrupy": ("snapshot",),
    "faker": ("faker",),
    "freezer": ("freezer", "freeze_time"),
    "pytest_fakefs": ("fs",),
    "pytest_httpx": ("httpx",),
    "requests_mock": ("requests_mock",),
    "respx": ("respx",),
}
"""The names under which `-p` finds them, with what they bring; a word stands for all that begins with it."""

_UNKNOWN = (
    re.compile(r"^\('([^']+)', <\w*Request"),
    re.compile(r"fixture '([^']+)' not found"),
    re.compile(r"'([^']+)' not found in `markers`"),
    re.compile(r"Unknown config option: (\S+)"),
)
_ARGUMENTS = re.compile(r"unrecognized arguments: (.*)")
_ASYNC = "async def functions are not natively supported"


def missing_plugins(kind: str, text: str) -> tuple[str, ...] | None:
    """None where nothing of a plugin's was missed; empty where it cannot be told whose."""
    names = [match.group(1) for pattern in _UNKNOWN for match in pattern.finditer(text)]
    for match in _ARGUMENTS.finditer(text):
        names += [word.strip("-").partition("=")[0] for word in match.group(1).split() if word[0] == "-"]
    if _ASYNC in text:
        names.append("asyncio")
    if not names and kind != "FixtureLookupError":
        return None
    found = (_provider(name.replace("-", "_").lower()) for name in names)
    return tuple(dict.fromkeys(plugin for plugin in found if plugin))


def _provider(name: str) -> str | None:
    for plugin, words in _PROVIDERS.items():
        if name in words or name.partition("_")[0] in words:
            return plugin
    return None
