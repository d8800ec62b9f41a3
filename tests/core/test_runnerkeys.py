from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdigris.core.runnerkeys import MIXED, runner_keys

PYPROJECT = b"""
[project]
name = "x"
dependencies = ["a"]
[tool.ruff]
line-length = 100
"""


@pytest.mark.parametrize("name", sorted(MIXED))
def test_a_file_without_runner_keys_is_as_good_as_none(name: str) -> None:
    assert runner_keys(name, b"") == b""
    assert runner_keys(name, PYPROJECT if name == "pyproject.toml" else b"[metadata]\nname = x\n") == b""


@pytest.mark.parametrize(
    "more",
    [
        '[tool.pytest.ini_options]\naddopts = "-k nothing"',
        "[tool.pytest.ini_options]",
        '[tool.pytest]\naddopts = ["-q"]',
        'tool.pytest.ini_options.addopts = "-q"',
        "[tool.coverage.run]\nbranch = true",
        '[project.entry-points.pytest11]\nevil = "evil"',
        '[project.entry-points."pytest11"]\nevil = "evil"',
        '[tool.poetry.plugins.pytest11]\nevil = "evil"',
    ],
)
def test_runner_keys_of_pyproject(more: str) -> None:
    assert runner_keys("pyproject.toml", more.encode()) != b""
    with_more = runner_keys(
        "pyproject.toml", PYPROJECT.replace(b"[project]", b"[unrelated]") + b"\n" + more.encode()
    )
    assert with_more == (b"" if more.startswith("tool.") else runner_keys("pyproject.toml", more.encode()))


def test_other_keys_spacing_and_order_do_not_count() -> None:
    one = b'[project]\nversion = "1"\n[tool.pytest.ini_options]\na = 1\nb = [1, 2]\n'
    two = b'# hello\n[tool.pytest.ini_options]\nb = [\n  1,\n  2,\n]\na = 1\n[project]\nversion = "2"\n'
    assert runner_keys("pyproject.toml", one) == runner_keys("pyproject.toml", two) != b""


@pytest.mark.parametrize("data", [b"[tool", b"\xff\xfe", b"a = 1\na = 2", b"\xef\xbb\xbf[tool.pytest]"])
def test_what_cannot_be_parsed_counts_whole(data: bytes) -> None:
    assert runner_keys("pyproject.toml", data) == data


def test_dates_and_odd_shapes_have_a_form_too() -> None:
    assert runner_keys("pyproject.toml", b"[tool.pytest]\nx = 2020-01-01\n") != b""
    assert runner_keys("pyproject.toml", b"tool = 3\nproject = [1]\n") == b""
    assert runner_keys("pyproject.toml", b"[tool]\npytest = 3\n") != b""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("setup.cfg", "[tool:pytest]\naddopts = --co\n"),
        ("setup.cfg", "[tool:pytest]\n"),
        ("setup.cfg", "[tool:pytest] # comment\naddopts=--co"),
        ("setup.cfg", "[coverage:run]\nbranch = true\n"),
        ("setup.cfg", "[options.entry_points]\npytest11 =\n    evil = evil\n"),
        ("tox.ini", "[pytest]\naddopts = --co\n"),
        ("tox.ini", "[coverage:report]\nfail_under = 3\n"),
        ("tox.ini", "a=1\x0c[pytest]\x0caddopts = --co"),
    ],
)
def test_runner_sections(name: str, text: str) -> None:
    assert runner_keys(name, text.encode()) != b""
    below = f"[metadata]\nname = x\n\n{text}\n[other]\nk = v\n"
    assert runner_keys(name, below.encode()) == runner_keys(name, text.encode())


def test_every_line_of_a_section_counts_but_comments_and_blanks() -> None:
    base = b"[tool:pytest]\naddopts =\n  -q\n  [odd]\n  -x\n"
    assert runner_keys("setup.cfg", base) == runner_keys(
        "setup.cfg", b"# hi\r\n\r\n" + base.replace(b"\n", b"\r\n# c\r\n")
    )
    for line in (b"-q", b"[odd]", b"-x"):
        assert runner_keys("setup.cfg", base.replace(line, b"-y")) != runner_keys("setup.cfg", base)


def test_other_entry_points_do_not_count() -> None:
    one = b"[options.entry_points]\nconsole_scripts =\n  a = a\npytest11 =\n  p = p\n"
    two = one.replace(b"a = a", b"b = b")
    assert runner_keys("setup.cfg", one) == runner_keys("setup.cfg", two)
    assert runner_keys("setup.cfg", one) != runner_keys("setup.cfg", one.replace(b"p = p", b"q = q"))


def test_undecodable_ini_counts_whole() -> None:
    assert runner_keys("setup.cfg", b"\xff[x]") == b"\xff[x]"


@given(st.binary(), st.sampled_from(sorted(MIXED)))
def test_never_raises(data: bytes, name: str) -> None:
    assert isinstance(runner_keys(name, data), bytes)
