from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from support.kata_run import KATA, SOURCE, TEST, message, run, source_text, start, test_text
from verdigris.agents.counting import estimate, prefix_share, whole_share
from verdigris.agents.roles.material import Commit, Material
from verdigris.agents.roles.role import Role
from verdigris.agents.roles.telling import clipped, fenced, tell

test_text.__test__ = False  # type: ignore[attr-defined]


def with_commits(count: int) -> Material:
    texts = [{TEST: test_text(n)} if n % 2 else {SOURCE: source_text(n)} for n in range(1, count + 1)]
    commits = tuple(Commit(message(Role.TESTER, n, "more"), text) for n, text in enumerate(texts, 1))
    return replace(start(), commits=commits)


def test_the_share_of_a_prompt_that_the_call_before_began_with() -> None:
    asks = run(20)
    shares = [prefix_share(None, asks[0]), *(prefix_share(one, two) for one, two in pairwise(asks))]
    whole = whole_share(shares)
    assert whole.share >= 0.9, f"{whole.share:.1%} of {whole.prompt} tokens in {len(asks)} calls"


def test_each_telling_begins_as_the_one_before() -> None:
    tellings = [tell(with_commits(n), 20_000).text for n in range(8)]
    for shorter, longer in pairwise(tellings):
        assert longer.startswith(shorter)
        assert len(longer) > len(shorter)


def test_the_last_text_of_a_file_is_told_last_and_whole() -> None:
    told = tell(with_commits(6), 20_000)
    assert told.text.rindex(source_text(6)) > told.text.rindex(source_text(4))
    assert {SOURCE, TEST} <= told.complete


def test_a_commit_is_told_with_its_message_its_difference_and_its_texts() -> None:
    material = replace(
        start(),
        ground={"a.py": "one\ntwo\n", "b.py": "b\n", "old.py": "kept as it is\n"},
        commits=(
            Commit(
                "feat: a thing\n\nTDD-Step: 2\nTDD-Oracle: sha256:e91d8e86f84f\n",
                {"a.py": "one\n2\n", "new.py": "new\n", "moved.py": "kept as it is\n"},
                ("b.py", "old.py"),
            ),
        ),
    )
    record = tell(material, 20_000).text.partition("# Commit 1")[2]
    assert "feat: a thing\n\nTDD-Step: 2\n```" in record
    assert "-two\n+2\n" in record
    assert "new: new.py" in record
    assert "deleted: b.py" in record
    assert "moved: old.py → moved.py" in record
    assert "## new.py\n```\nnew\n```" in record


def test_what_a_new_test_imports_is_told_with_it() -> None:
    ground = {f"src/m{n}.py": f"# {n}\n" + "x = 1\n" * 300 for n in range(20)}
    material = replace(start(), ground=ground)
    unknown = next(path for path in sorted(ground) if path not in tell(material, 4_000).complete)
    name = unknown.removeprefix("src/").removesuffix(".py")
    commit = Commit("test: it", {"tests/test_it.py": f"import {name}\n"})
    assert unknown in tell(replace(material, commits=(commit,)), 6_000).complete


def test_where_the_budget_ends_the_telling_begins_anew_and_holds_the_last_commit() -> None:
    tellings = [tell(with_commits(n), 3_000) for n in range(1, 25)]
    assert [estimate(told.text) for told in tellings if estimate(told.text) > 3_300] == []
    anew = [now.start for before, now in pairwise(tellings) if now.start != before.start]
    assert 1 <= len(anew) <= 12
    for number, told in enumerate(tellings, 1):
        assert f"Step: {number}" in told.text


def test_the_same_history_is_told_the_same() -> None:
    assert tell(with_commits(15), 3_000) == tell(with_commits(15), 3_000)


@pytest.mark.parametrize(
    "path", [".env", "config/.env.production", "key.pem", ".tdd/plan/step-1-tester.md", "held.py"]
)
def test_what_nobody_may_see_is_not_even_listed(path: str) -> None:
    texts = {path: "TOKEN=hush\n", "a.py": "a\n"}
    material = replace(
        start(),
        ground=texts,
        commits=(Commit("feat: x", {path: "TOKEN=hush2\n"}),),
        withheld=frozenset({"held.py"}),
    )
    told = tell(material, 9_000)
    assert "hush" not in told.text
    assert path not in told.text.splitlines()
    assert "a.py" in told.complete


def test_binary_huge_and_made_files_are_listed_only() -> None:
    ground = {"logo.png": None, "Cargo.lock": "[[package]]\n", "huge.txt": "words " * 30_000}
    told = tell(replace(start(), ground=ground), 20_000)
    assert told.text.splitlines()[-3:] == ["Cargo.lock", "huge.txt", "logo.png"]
    assert "[[package]]" not in told.text
    assert "words words" not in told.text
    assert told.complete == frozenset()


def test_a_file_that_does_not_fit_is_cut_and_marked() -> None:
    material = replace(start(), ground={"src/long.py": "".join(f"line_{n} = {n}\n" for n in range(3000))})
    told = tell(material, 2_000)
    assert "## src/long.py (only the first " in told.text
    assert "of 3000 lines)" in told.text
    assert "… (cut here)" in told.text
    assert told.complete == frozenset()


def test_a_file_that_grew_too_long_to_be_told_again_is_not_known_any_more() -> None:
    material = replace(start(), ground={SOURCE: source_text(1)})
    assert SOURCE in tell(material, 3_000).complete
    grown = replace(material, commits=(Commit("feat: much", {SOURCE: source_text(200)}),))
    assert SOURCE not in tell(grown, 3_000).complete


def test_neither_many_files_nor_a_long_message_break_the_budget() -> None:
    many = {f"docs/a_rather_long_name_for_a_file_{n}.md": f"text {n}\n" * 40 for n in range(3000)}
    commits = (Commit("feat: x\n" + "and more of it\n" * 5000, many), Commit("feat: y", {SOURCE: "y = 1\n"}))
    for material in (replace(start(), ground=many), replace(start(), commits=commits)):
        told = tell(material, 4_000)
        assert estimate(told.text) <= 4_400
        assert "… (cut here)" in told.text
    assert "more of these files are too long" in tell(replace(start(), commits=commits[:1]), 40_000).text


def test_the_kata_is_not_told_twice() -> None:
    assert KATA not in tell(start(), 20_000).text


def test_clipped_keeps_whole_lines() -> None:
    assert clipped("one\ntwo\n", 100) == "one\ntwo\n"
    assert clipped("one\n" + "two " * 50, 5) == "one\n… (cut here)"


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert fenced("a\n```\nb\n").startswith("````\n")
    assert fenced("") == "```\n```"
