from __future__ import annotations

import os
from pathlib import Path

import pytest

from verdigris.core.errors import UserError
from verdigris.languages.starter import says_nothing
from verdigris.setup.scaffold import Kata, placeholder, read_kata

pytestmark = pytest.mark.quick


def test_one_from_elsewhere_is_copied(folder: Path, kata: Path) -> None:
    assert read_kata("../calculator.md", folder, folder) == Kata("kata.md", kata.read_text(), copied=True)


def test_one_in_the_tree_is_used_where_it_is(folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "docs/it.md").write_text("# It\n")
    assert read_kata("it.md", folder / "docs", folder) == Kata("docs/it.md", "# It\n", copied=False)
    assert read_kata("docs/../docs/it.md", folder, folder).path == "docs/it.md"


def test_a_link_is_copied_for_what_it_leads_to_may_not_be_committed(folder: Path, kata: Path) -> None:
    (folder / "link.md").symlink_to(kata)
    assert read_kata("link.md", folder, folder).copied


@pytest.mark.parametrize("name", ["caf\udce9.md", "two\nlines.md"])
def test_a_name_that_no_configuration_can_hold_is_copied(folder: Path, name: str) -> None:
    (folder / name).write_text("# A\n")
    assert read_kata(name, folder, folder) == Kata("kata.md", "# A\n", copied=True)


def test_another_kata_is_never_overwritten(folder: Path, kata: Path) -> None:
    (folder / "kata.md").write_text("# Mine\n")
    with pytest.raises(UserError, match="another text"):
        read_kata(str(kata), folder, folder)
    (folder / "kata.md").write_text(kata.read_text())
    assert read_kata(str(kata), folder, folder).path == "kata.md"


def test_a_byte_order_mark_is_no_text(folder: Path, kata: Path) -> None:
    kata.write_bytes(b"\xef\xbb\xbf# A\n")
    assert read_kata(str(kata), folder, folder).text == "# A\n"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (None, "there is no kata"),
        (b"", "is empty"),
        (b"\n<!-- to do -->\n", "is empty"),
        (placeholder().text.encode(), "is empty"),
        (b"\x89PNG\r\n\x1a\n\x00", "is not a text file"),
        (b"caf\xe9", "is not a text file"),
        (b"a\x00b", "is not a text file"),
        (b"x" * 1_000_001, "1000001 characters"),
    ],
)
def test_what_is_no_kata_is_told(folder: Path, kata: Path, data: bytes | None, why: str) -> None:
    kata.unlink() if data is None else kata.write_bytes(data)
    with pytest.raises(UserError, match=why):
        read_kata(str(kata), folder, folder)


def test_a_folder_and_a_pipe_are_no_kata(folder: Path, kata: Path) -> None:
    with pytest.raises(UserError, match="is a folder"):
        read_kata("..", folder, folder)
    os.mkfifo(folder / "pipe")
    with pytest.raises(UserError, match="no plain file"):
        read_kata("pipe", folder, folder)


def test_the_placeholder_says_nothing_yet() -> None:
    assert says_nothing(placeholder().text)
