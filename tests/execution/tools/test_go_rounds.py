"""Whole rounds in Go with the real tool, and what is kept of its cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.tool_worlds import GO, GO_CONFIG, GO_STUB, GO_SUB, GO_TEST, Round, make_go_world, play
from support.tools import why_not
from support.turns import World

WHY_NOT = why_not("go", "version")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]
CALC = GO["calc/calc.go"]
SUB = "calc/sub_test.go::TestSub"
SPOILS = """\
package spoils

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSpoils(t *testing.T) {
	cache := os.Getenv("GOCACHE")
	if cache == "" {
		t.Fatal("where is it?")
	}
	filepath.Walk(cache, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			os.WriteFile(path, []byte("spoilt"), 0o644)
		}
		return nil
	})
}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_go_world(tmp_path / "demo", GO_CONFIG, GO)


def test_a_round(world: World) -> None:
    world.write("calc/sub_test.go", GO_TEST)
    (run,) = world.test(SUB).tests
    assert (run.red, bool(run.over)) == ("valid", True)
    changed = GO_TEST.replace("!= 1", "!= 2")
    play(world, Round(SUB, GO_TEST, changed, "calc/calc.go", CALC, GO_STUB, GO_SUB))


def test_what_tests_write_into_the_cache_is_gone_with_their_room(world: World) -> None:
    world.write("spoils/spoils_test.go", SPOILS)
    assert world.test("spoils/spoils_test.go::TestSpoils").passed
    spoilt = [
        file
        for file in world.project.repo.control.glob("caches/go/*/cache/*/*")
        if file.read_bytes() == b"spoilt"
    ]
    assert not spoilt
    assert world.test("calc").passed


def test_a_bug_that_hangs_is_red_and_the_tool_says_where(tmp_path: Path) -> None:
    """What a verdict makes of its fix is seen with node, and in Python."""
    hanging = GO_SUB.replace("{ return", "{\n\tfor a > b {\n\t\ta ^= 0\n\t}\n\treturn").replace(" }", "\n}")
    files = {**GO, "calc/calc.go": CALC + hanging}
    world = make_go_world(tmp_path / "demo", GO_CONFIG + "room: {test_timeout: 1}\n", files)
    world.write("calc/sub_test.go", GO_TEST)
    [result] = world.test(SUB).tests
    where = "Timeout: stopped after 1 s, while it ran in calc/calc.go:"
    assert (result.red, result.failure[: len(where)]) == ("valid", where)
