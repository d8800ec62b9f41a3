"""What `python -m unittest` would be told: how to find tests, and which."""

from __future__ import annotations

import argparse
from typing import Any

PATTERN = "test*.py"


def parse(argv: list[str]) -> Any:
    """Options of the user's, then `--`, then the files and folders that were asked for.

    `-f` has no effect: a verdict needs every result.
    """
    cut = argv.index("--") if "--" in argv else len(argv)
    given, paths = argv[:cut], argv[cut + 1 :]
    parser = argparse.ArgumentParser(prog="python -m unittest", add_help=False, allow_abbrev=False)
    parser.add_argument("-s", "--start-directory", dest="start")
    parser.add_argument("-t", "--top-level-directory", dest="top")
    parser.add_argument("-p", "--pattern")
    parser.add_argument("-k", dest="wanted", action="append")
    parser.add_argument("-b", "--buffer", action="store_true")
    parser.add_argument("--locals", dest="tb_locals", action="store_true")
    parser.add_argument("--durations")
    parser.add_argument("--collect-only", action="store_true")
    for ignored in (("-v", "--verbose"), ("-q", "--quiet"), ("-f", "--failfast"), ("-c", "--catch")):
        parser.add_argument(*ignored, action="store_true")
    if given[:1] == ["discover"]:
        del given[0]
        for name in ("start", "pattern", "top"):
            parser.add_argument(f"{name}_", nargs="?")
    options = parser.parse_args(given)
    for name in ("start", "pattern", "top"):
        setattr(options, name, getattr(options, name) or getattr(options, f"{name}_", None))
    options.wanted = [word if "*" in word else f"*{word}*" for word in options.wanted or ()] or None
    options.paths = paths
    return options
