"""The shell's entry under the name that launchers written before the folders by capability import.

The first command through such a launcher makes the shell card, and that writes the launcher anew
(`gates/agent_shell/protection.py`). Launchers name `verdigris.gates.shell` since then, which stays.
"""

from __future__ import annotations

from verdigris.gates.shell import main

__all__ = ["main"]
