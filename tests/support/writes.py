"""File writes with the facts that the policy needs, as the gate would gather them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.paths import PathClass
from verdigris.languages.registry import beyond_stubs, is_mixed, same_oracle_part, with_stub_facts

if TYPE_CHECKING:
    from verdigris.core.actions import FileWrite


def with_facts(file: FileWrite) -> FileWrite:
    """The write with its language's facts: is it more than stubs, and does it change the oracle's part?"""
    path = file.path or file.spelling
    mixed = is_mixed(path, file.cls) and not same_oracle_part(path, file.before, file.after)
    file = replace(file, changes_oracle=mixed)
    if file.cls is not PathClass.SOURCE or file.after is None:
        return file
    return with_stub_facts(file, beyond_stubs(path, file.before, file.after))
