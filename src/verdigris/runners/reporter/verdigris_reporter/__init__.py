"""The reporter, as the user's interpreter sees it: a package of its own at the end of `sys.path`."""

from __future__ import annotations
