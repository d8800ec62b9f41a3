from __future__ import annotations

import re

from verdigris.core.settings import Settings
from verdigris.storage.config import decode, render
from verdigris.storage.config.file import parse
from verdigris.storage.config.keys import document
from verdigris.storage.config.machine import SECTIONS, machine_settings
from verdigris.storage.config.template import machine_lines


def test_every_key_stands_there_and_is_good_as_it_stands() -> None:
    bare = "\n".join(re.sub("^# ?", "", line) for line in [*machine_lines(None)][1:])
    decode(bare.encode())
    value, places = parse(bare.encode())
    found = machine_settings(document(value, places), places)
    assert (found.steps, found.player("tester").served.temperature, found.tokens) == (20, 0.4, 0)
    for section, keys in SECTIONS:
        if "." not in section and section not in {"roles", "llm"}:
            assert set(value[section]) == set(keys.__struct_fields__)


def test_a_kata_of_another_name_is_active_and_the_rest_comment() -> None:
    value, _ = parse(render(Settings(), "docs/a: b.md").encode())
    assert value["machine"] == {"kata_description": "docs/a: b.md"}
    value, _ = parse(render(Settings()).encode())
    assert list(value) == ["stacks"]
