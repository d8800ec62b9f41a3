from __future__ import annotations

from dataclasses import replace

import pytest

from support.kata_run import KATA, SOURCE, TEST, after, run, source_text, start, test_text
from verdigris.models.request import estimate, estimate_ask
from verdigris.models.roles.context import Material
from verdigris.models.roles.prompt import MOST_COMMITS, clip, put_fences, tell

test_text.__test__ = False  # type: ignore[attr-defined]


def with_commits(count: int) -> Material:
    material = start()
    for number in range(1, count + 1):
        texts = {TEST: test_text(number)} if number % 2 else {SOURCE: source_text(number)}
        material = after(material, f"test: case {number}", texts)
    return material


def test_calls_stay_as_short_as_the_project_is() -> None:
    asks = run(27, retry_every=100)
    fifth, last = estimate_ask(asks[4]), estimate_ask(asks[-1])
    assert last <= 2 * fifth, f"{fifth} tokens in the fifth call, {last} in the last of {len(asks)}"


def test_a_second_attempt_is_longer_by_one_answer_only() -> None:
    asks = run(1, retry_every=1)
    assert estimate_ask(asks[-1]) < 1.5 * estimate_ask(asks[0])


def test_every_file_is_told_once_as_it_is_and_what_changed_last_comes_last() -> None:
    told = tell(with_commits(6), 20_000)
    assert told.text.count(f"## {SOURCE}") == 1
    assert source_text(6) in told.text
    assert source_text(4) not in told.text
    assert (
        told.text.index("## pyproject.toml") < told.text.index(f"## {TEST}") < told.text.index(f"## {SOURCE}")
    )
    assert {SOURCE, TEST} <= told.complete


def test_a_commit_is_one_line_and_old_ones_are_left_out() -> None:
    told = tell(with_commits(MOST_COMMITS + 2), 20_000).text
    history = told.partition("# Recent commits\n\n")[2].splitlines()
    assert len(history) == MOST_COMMITS
    assert (history[0], history[-1]) == ("test: case 3", f"test: case {MOST_COMMITS + 2}")


def test_what_the_last_commit_changed_is_told_before_there_is_no_room() -> None:
    files = {f"src/m{n}.py": f"# {n}\n" + "x = 1\n" * 300 for n in range(20)}
    material = replace(start(), files=files)
    unknown = next(path for path in sorted(files) if path not in tell(material, 4_000).complete)
    assert unknown in tell(after(material, "feat: it", {unknown: files[unknown]}), 4_000).complete


@pytest.mark.parametrize("room", [3_000, 6_000])
def test_it_keeps_to_its_room(room: int) -> None:
    for count in (1, 12, 40):
        assert estimate(tell(with_commits(count), room).text) <= room * 1.1


@pytest.mark.parametrize(
    "path", [".env", "config/.env.production", "key.pem", ".tdd/plan/step-1-tester.md", "held.py"]
)
def test_what_nobody_may_see_is_not_even_listed(path: str) -> None:
    material = replace(
        start(), files={path: "TOKEN=hush\n", "a.py": "a\n"}, ages={path: 1}, withheld=frozenset({"held.py"})
    )
    told = tell(material, 9_000)
    assert "hush" not in told.text
    assert path not in told.text.splitlines()
    assert "a.py" in told.complete


def test_binary_huge_and_made_files_are_listed_only() -> None:
    files = {"logo.png": None, "Cargo.lock": "[[package]]\n", "huge.txt": "words " * 30_000}
    told = tell(replace(start(), files=files), 20_000)
    assert told.text.splitlines()[-3:] == ["Cargo.lock", "huge.txt", "logo.png"]
    assert "[[package]]" not in told.text
    assert "words words" not in told.text
    assert told.complete == frozenset()


def test_a_file_that_does_not_fit_is_cut_and_marked() -> None:
    material = replace(start(), files={"src/long.py": "".join(f"line_{n} = {n}\n" for n in range(3000))})
    told = tell(material, 2_000)
    assert "## src/long.py (only the first " in told.text
    assert "of 3000 lines)" in told.text
    assert "… (cut here)" in told.text
    assert told.complete == frozenset()


def test_many_files_do_not_break_the_budget() -> None:
    many = {f"docs/a_rather_long_name_for_a_file_{n}.md": f"text {n}\n" * 40 for n in range(3000)}
    told = tell(replace(start(), files=many), 4_000)
    assert estimate(told.text) <= 4_400
    assert "… (cut here)" in told.text


def test_the_kata_is_not_told_twice() -> None:
    assert KATA not in tell(start(), 20_000).text


def test_clipped_keeps_whole_lines() -> None:
    assert clip("one\ntwo\n", 100) == "one\ntwo\n"
    assert clip("one\n" + "two " * 50, 5) == "one\n… (cut here)"


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert put_fences("a\n```\nb\n").startswith("````\n")
    assert put_fences("") == "```\n```"
