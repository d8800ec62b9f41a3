"""Language models behind an endpoint or a recording, and the conversation with a role."""

from __future__ import annotations
