"""Encodes and decodes one line of the log."""

from __future__ import annotations

import json

TYPE_CHECKING = False  # `typing` costs as much as all the rest of this module, and hooks import it
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# ASCII, because the lone surrogates of names that are not UTF-8 survive as escapes only.
_encoder = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False)
_decoder = json.JSONDecoder()


def encode(fields: Mapping[str, Any]) -> bytes:
    """One line, without its newline; ValueError or TypeError for what JSON cannot hold."""
    return _encoder.encode(fields).encode("ascii")


def decode(line: bytes) -> dict[str, Any]:
    """The fields of a line; ValueError where there are none."""
    try:
        fields = _decoder.decode(line.decode("ascii"))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(fields, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - a fact about the file, as all the others
    return fields
