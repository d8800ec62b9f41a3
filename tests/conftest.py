"""For the whole suite."""

from __future__ import annotations

import os

os.environ["VERDIGRIS_WARM"] = "0"
"""Nothing stays behind when a test's repository is gone; what is about residents says so itself."""
