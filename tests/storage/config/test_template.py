from __future__ import annotations

import pytest

from verdigris.core.errors import ConfigError
from verdigris.core.settings import Settings, Stack
from verdigris.storage.config import decode, render
from verdigris.storage.config.file import parse
from verdigris.storage.config.template import with_key


def amended(text: str) -> str:
    return with_key(text, "cycle", "judgement", "required")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("red: behaviour\n", "red: behaviour\ncycle:\n  judgement: required\n"),
        ("", "cycle:\n  judgement: required\n"),
        ("a: 1", "a: 1\ncycle:\n  judgement: required\n"),
        ("cycle:\n    rounds: 2\n", "cycle:\n    judgement: required\n    rounds: 2\n"),
        ("cycle:  # mine\n\n  rounds: 2\n", "cycle:  # mine\n  judgement: required\n\n  rounds: 2\n"),
        ("cycle: {rounds: 2}  # mine\n", "cycle: {judgement: required, rounds: 2}  # mine\n"),
        ("cycle: {}\n", "cycle: {judgement: required}\n"),
        ("cycle:\na: 1\n", "cycle:\n  judgement: required\na: 1\n"),
        ("cycle:\r\n  rounds: 2\r\n", "cycle:\r\n  judgement: required\r\n  rounds: 2\r\n"),
        ("cycle: {judgement: optional}\n", "cycle: {judgement: optional}\n"),
        ("cycle:\n  judgement: required\n", "cycle:\n  judgement: required\n"),
    ],
)
def test_a_key_is_set_and_the_rest_stays_as_it_is_written(before: str, after: str) -> None:
    assert amended(before) == after


OLDER = """\
stacks:
  - root: "."

# The cycle (`tdd cycle`): from a spec to evidence, with frozen tests. `tdd help cycle`
# cycle:
#   judgement: optional  # required: a model or a person has to pass the tests too
#   rounds: 3  # that tests may be sent back before it stops
"""


@pytest.mark.parametrize("written", [OLDER, render(Settings(stacks=(Stack(),)))], ids=["older", "new"])
def test_in_the_file_that_init_wrote_the_key_is_set(written: str) -> None:
    made = amended(written)
    assert parse(made.encode())[0]["cycle"] == {"judgement": "required"}
    assert decode(made.encode()).settings == decode(written.encode()).settings
    changed = set(made.splitlines()) - set(written.splitlines())
    assert len(changed) == 2, "the section's name and the key"
    assert amended(made) == made


def test_a_section_that_is_written_in_an_odd_way_is_left_to_the_person() -> None:
    with pytest.raises(ConfigError) as told:
        amended("x: &c {rounds: 2}\ncycle: *c\n")
    assert "judgement" in str(told.value)
    assert "cycle: {judgement: required}" in (told.value.hint or "")
