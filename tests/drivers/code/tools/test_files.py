from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from support.code_sessions import Bench, make_bench
from support.turns import CALC, SUB, TEST_SUB

if TYPE_CHECKING:
    import pytest

PATCH = "*** Begin Patch\n{}\n*** End Patch"


def test_a_file_is_shown_with_its_line_numbers(tool: Bench) -> None:
    assert tool("read_file", path="calc.py").text == (
        "calc.py: lines 1 to 2 of 2\n1\tdef add(a, b):\n2\t    return a + b"
    )
    some = tool("read_file", path="./calc.py", first=2, lines=1)
    assert some.text == "calc.py: lines 2 to 2 of 2\n2\t    return a + b"
    assert "read on with first: 2" in tool("read_file", path="calc.py", lines=1).text


def test_what_cannot_be_read_says_why(tool: Bench) -> None:
    tool.world.write("blob.bin", b"\x00\xff")
    assert "not a text file" in tool("read_file", path="blob.bin").text
    assert "Files of that name: calc.py" in tool("read_file", path="src/calc.py").text
    assert "is a folder" in tool("read_file", path="tests").text
    assert "none from 9 on" in tool("read_file", path="calc.py", first=9).text


def test_nothing_outside_the_repository_is_read_or_written(tool: Bench, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("secret")
    (tool.world.root / "link.txt").symlink_to(tmp_path / "outside.txt")
    for path in ("../outside.txt", str(tmp_path / "outside.txt"), "link.txt"):
        for answer in (
            tool("read_file", path=path),
            tool("edit_file", path=path, search="secret", replace="x"),
        ):
            assert answer.outcome == "denied", path
            assert "[outside]" in answer.text
    assert tool("create_file", path="../new.txt", content="x").outcome == "denied"
    assert not (tmp_path / "new.txt").exists()


def test_secrets_and_git_files_are_neither_shown_nor_listed_nor_searched(tool: Bench) -> None:
    tool.world.write(".env", "TOKEN=0123456789\n")
    assert "[not-shown]" in tool("read_file", path=".env").text
    assert "[not-shown]" in tool("read_file", path=".git/config").text
    assert ".env" not in tool("list_files", glob="**").text
    assert "No line" in tool("search", text="TOKEN=").text


def test_files_that_git_ignores_are_not_listed(tool: Bench) -> None:
    tool.world.write(".gitignore", "out/\n")
    tool.world.write("out/made.txt", "x")
    listed = tool("list_files", glob="**").text.splitlines()
    assert "calc.py" in listed
    assert "out/made.txt" not in listed


def test_lines_are_found_by_text_by_glob_and_by_expression(tool: Bench) -> None:
    assert "calc.py:1: def add(a, b):" in tool("search", text="def add").text
    assert tool("search", text=r"def \w+\(", regex=True, glob="*.py").text.splitlines() == [
        "calc.py:1: def add(a, b):"
    ]
    assert "no regular expression" in tool("search", text="(", regex=True).text


def test_an_expression_that_never_comes_to_an_end_is_stopped(
    tool: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool("create_file", path="notes.md", content=f"{'a' * 60}!\n")
    monkeypatch.setattr("verdigris.models.roles.tools.SEARCH_SECONDS", 0.5)
    begun = time.monotonic()
    answer = tool("search", text="(a+)+$", regex=True)
    assert time.monotonic() - begun < 10
    assert "was not done after 0.5 s" in answer.text
    assert "plain text" in answer.text


def test_source_is_not_edited_before_a_test_is_red(tool: Bench) -> None:
    answer = tool("edit_file", path="calc.py", search="a + b", replace="b + a")
    assert answer.outcome == "denied"
    assert "denied [" in answer.text
    assert "next: " in answer.text
    assert tool.world.read("calc.py") == CALC
    assert tool("create_file", path="more.py", content="X = sum([1, 2])\n").outcome == "denied"


def test_an_edit_of_source_after_one_red_claims_it(tool: Bench) -> None:
    assert tool("create_file", path="tests/test_sub.py", content=TEST_SUB).outcome == "ok"
    tool.world.red_by_record("tests/test_sub.py::test_sub")
    answer = tool(
        "edit_file", path="calc.py", search="    return a + b\n", replace="    return a + b\n" + SUB
    )
    assert answer.text == "written; claims test_sub"
    frozen = tool("edit_file", path="tests/test_sub.py", search="== 2", replace="== 3")
    assert frozen.outcome == "denied"
    assert "test_bug" in frozen.text


def test_a_replacement_that_does_not_match_tells_what_is_near(tool: Bench) -> None:
    answer = tool("edit_file", path="calc.py", search="return a+b", replace="x")
    assert answer.outcome == "failed"
    assert "0 matches in calc.py" in answer.text
    assert "2\t    return a + b" in answer.text


def test_a_file_is_written_whole_only_after_two_failed_edits_and_as_it_was_read(tool: Bench) -> None:
    tool.world.write("notes.md", "one\n")
    assert "[edit-first]" in tool("write_file", path="notes.md", content="two\n").text
    tool("edit_file", path="notes.md", search="won", replace="x")
    assert (
        "write_file now takes notes.md" in tool("edit_file", path="notes.md", search="wo", replace="x").text
    )
    assert "[read-first]" in tool("write_file", path="notes.md", content="two\n").text
    tool("read_file", path="notes.md")
    tool.world.write("notes.md", "a person's\n")
    assert "[read-first]" in tool("write_file", path="notes.md", content="2\n").text
    tool("read_file", path="notes.md")
    assert tool("write_file", path="notes.md", content="second\n").outcome == "ok"
    assert tool.world.read("notes.md") == "second\n"
    assert "[edit-first]" in tool("write_file", path="notes.md", content="three\n").text


def test_two_edits_of_one_file_in_one_turn_build_on_each_other(tool: Bench) -> None:
    tool.world.write("notes.md", "one two\n")
    tool("edit_file", path="notes.md", search="one", replace="1")
    tool("edit_file", path="notes.md", search="two", replace="2")
    assert tool.world.read("notes.md") == "1 2\n"


def test_a_file_that_exists_is_not_created_again(tool: Bench) -> None:
    assert "exists already" in tool("create_file", path="calc.py", content="").text
    assert "cannot be written" in tool("create_file", path="calc.py/x.py", content="").text


def test_a_file_of_stubs_alone_may_be_made_anew(tool: Bench) -> None:
    stub = "def {}():\n    raise NotImplementedError('STUB:TDD')\n"
    tool.world.write("new.py", stub.format("one"))
    assert "[red-first]" in tool("create_file", path="new.py", content="X = sum([1])\n").text, "as any edit"
    more = f"{stub.format('one')}\n\n{stub.format('two')}"
    assert tool("create_file", path="new.py", content=more).text.startswith("written")
    assert tool.world.read("new.py") == more
    tool.world.write("new.py", stub.format("one") + "X = sum([1])\n")
    assert "exists already" in tool("create_file", path="new.py", content="").text


def test_half_of_a_character_is_not_written(tool: Bench) -> None:
    assert "UTF-8" in tool.raw("create_file", '{"path": "a.md", "content": "\\ud800"}').text


def test_patches_are_all_or_nothing_under_the_same_law(tmp_path: Path) -> None:
    with make_bench(tmp_path / "repo", model="gpt-5.6") as tool:
        mixed = PATCH.format(
            "*** Add File: notes.md\n+x\n*** Update File: calc.py\n-    return a + b\n+    return 0"
        )
        answer = tool("apply_patch", patch=mixed)
        assert answer.outcome == "denied"
        assert not (tool.world.root / "notes.md").exists()
        assert tool("apply_patch", patch=PATCH.format("*** Add File: notes.md\n+x")).outcome == "ok"
        assert tool.world.read("notes.md") == "x\n"
        assert "There is no tool 'edit_file'" in tool("edit_file", path="a", search="b", replace="c").text
        outside = PATCH.format("*** Add File: ../x\n+x")
        assert "[outside]" in tool("apply_patch", patch=outside).text
        assert "no patch" in tool("apply_patch", patch="x").text


def test_a_latin_1_file_is_read_edited_and_stays_one(tool: Bench) -> None:
    tool.world.write("latin.txt", "caf\xe9 \xfcber alles\n".encode("latin-1"))
    assert "café über alles" in tool("read_file", path="latin.txt").text
    assert "latin.txt:1: café" in tool("search", text="über").text
    assert tool("edit_file", path="latin.txt", search="alles", replace="älles").wrote
    assert (tool.world.root / "latin.txt").read_bytes() == "caf\xe9 \xfcber \xe4lles\n".encode("latin-1")
    refused = tool("edit_file", path="latin.txt", search="älles", replace="→")
    assert (refused.outcome, "LATIN-1" in refused.text) == ("failed", True)


def test_a_hit_of_a_search_can_be_quoted_in_an_edit(tool: Bench) -> None:
    assert "calc.py:2:     return a + b" in tool("search", text="return").text


def test_the_verbs_that_denials_name_work_in_the_shell(tool: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    tool.world.write("tests/test_sub.py", TEST_SUB)
    denied = tool("edit_file", path="calc.py", search="return a + b", replace="return b + a")
    assert "`tdd stub" not in denied.text.replace("shell `tdd stub", "")
    tool("run_tests", ids=["tests/test_sub.py"])
    assert "(exit 0)" in tool("shell", command="tdd stub tests/test_sub.py").text
