"""What a confined run or shell is given: mounts, environment variables; and what it lacked."""

from __future__ import annotations

TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - these are what is made private
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - same
