"""What the runners' parts of mixed files share: keys in a tree of values, and their canonical bytes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def canonical(found: Mapping[str, Any]) -> bytes:
    """Spacing and order do not count; nothing found is no bytes."""
    said = {key: value for key, value in found.items() if value is not None}
    return json.dumps(said, sort_keys=True, default=str).encode() if said else b""


def at(document: Any, *keys: str) -> Any:
    for key in keys:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document


def only(table: Any, keys: Collection[str]) -> dict[str, Any] | None:
    """Of a table just these keys; None where it has none of them."""
    found = {key: value for key, value in table.items() if key in keys} if isinstance(table, dict) else {}
    return found or None


def test_scripts(document: Any) -> dict[str, Any] | None:
    """Scripts of a package manager that are about tests."""
    scripts = at(document, "scripts")
    names = [str(name) for name in scripts] if isinstance(scripts, dict) else []
    return only(
        scripts, [name for name in names if name.removeprefix("pre").removeprefix("post")[:4] == "test"]
    )
