"""The usual places of one kind of stack, as regexes for a whole path, and how such regexes are written."""

from __future__ import annotations

from verdigris.core.value import value

SIDE = "(?:docs?|scripts?|tools?|ci|examples?|samples?|demos?|benchmarks?|bench|notebooks?)/"
"""Folders beside the source, at a stack's root."""


@value
class Usual:
    tests: str
    """Tests, helpers and data, from the stack's root."""
    runner: str
    """What configures the runner, anywhere in the worktree: a tool also reads what lies above its stack."""
    transient: str
    """Installed packages, caches and what a build makes, from the stack's root: nobody's to protect."""
    not_source: str
    """Of the language's files, from the stack's root: what is beside the source."""


def at_root(*names: str) -> str:
    """The named file, or the named folder with all below it."""
    return rf"(?:{'|'.join(names)})(?:/.*)?\Z"


def anywhere(*names: str) -> str:
    return "(?:.*/)?" + at_root(*names)


def outside(folders: str, regex: str) -> str:
    """`regex`, but not below one of these folders."""
    return rf"(?!(?:.*/)?(?:{folders})/){regex}"


def any_of(*regexes: str) -> str:
    return f"(?:{'|'.join(regexes)})"
