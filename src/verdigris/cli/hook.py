"""`tdd hook AGENT`: reads one hook call on stdin and answers in that agent's format; exit code 0 or 2."""

from __future__ import annotations

import sys

import click


@click.command("hook")
@click.argument("agent")
@click.argument("event", required=False)
def command(agent: str, event: str | None) -> int:  # noqa: ARG001 - the call itself names its event
    """Answer one hook call of a coding agent. Exit code: 0, or 2 to refuse."""
    from verdigris.gates.clients.registry import find
    from verdigris.gates.gate import answer

    given = answer(find(agent), sys.stdin.buffer.read())
    sys.stdout.write(given.stdout)
    sys.stderr.write(given.stderr)
    return given.exit_code
