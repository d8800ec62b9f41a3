"""What a confined run or shell is given: mounts, environment variables; and what it lacked."""

from __future__ import annotations
