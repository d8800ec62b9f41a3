from __future__ import annotations

import pytest

from verdigris.core.protection import is_writable, plan_mounts

REGIONS = {"/tmp": True, "/tmp/a/home": False, "/tmp/a/home/.cache": True, "/home/u/w": True}


@pytest.mark.parametrize(
    ("path", "writable"),
    [
        ("/etc/passwd", False),
        ("/tmp", True),
        ("/tmpfile", False),
        ("/tmp/a/x", True),
        ("/tmp/a/home/.bashrc", False),
        ("/tmp/a/home/.cache/pip/x", True),
        ("/home/u/w2", False),
    ],
)
def test_the_nearest_region_decides(path: str, writable: bool) -> None:
    assert is_writable(path, REGIONS) is writable


def test_a_region_in_the_read_only_rest_is_a_hole_and_nothing_above_it_is_mounted() -> None:
    assert plan_mounts({"/home/u/w": True}) == {"/home/u/w": "hole"}


def test_folders_above_a_read_only_place_in_a_writable_region_cannot_be_moved() -> None:
    planned = plan_mounts(REGIONS)
    assert planned == {
        "/home/u/w": "hole",
        "/tmp": "hole",
        "/tmp/a": "anchor",
        "/tmp/a/home": "readonly",
        "/tmp/a/home/.cache": "hole",
    }
    assert list(planned) == sorted(planned)


def test_what_changes_nothing_is_not_mounted() -> None:
    assert plan_mounts({"/etc": False, "/w": True, "/w/sub": True}) == {"/w": "hole"}


def test_a_writable_region_inside_another_stays_in_place_where_something_in_it_is_read_only() -> None:
    planned = plan_mounts({"/t": True, "/t/w": True, "/t/w/x": False})
    assert planned == {"/t": "hole", "/t/w": "anchor", "/t/w/x": "readonly"}
