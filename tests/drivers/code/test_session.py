"""Sessions in this process, with a model at a real socket that plays a script."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from support.code_sessions import (
    FINISH,
    GOOD,
    GREEN,
    HONEST,
    KEY,
    RED,
    STEP,
    STUB,
    TEST,
    TEST_ID,
    TEST_TEXT,
    Played,
    call,
    playing,
    turn,
    work,
)
from support.openai_server import Answer, Call, Cut, Refusal, Stall, Step, overflow
from support.patience import no_pauses
from verdigris.core.errors import StorageError, UserError
from verdigris.core.events import Accepted, Characterized, Repair, decode
from verdigris.drivers.budget import Limits
from verdigris.drivers.code.outcome import End
from verdigris.drivers.code.session_file import fold_session
from verdigris.drivers.code.session_start import check_plan
from verdigris.drivers.code.settings import Sweep
from verdigris.drivers.happenings import (
    CallBegan,
    CallMade,
    ModelSpoke,
    ModelWrote,
    Noted,
    PlanShown,
    SessionBegan,
    ToolCalled,
    TurnJudged,
)
from verdigris.models.request import estimate
from verdigris.models.role_models import check_players

pytestmark = pytest.mark.slow
BODY = "    raise NotImplementedError  # STUB:TDD\n"


def body(text: str, search: str = BODY) -> Step:
    return turn(call("edit_file", path="calculator.py", search=search, replace=text))


def events(played: Played, kind: type) -> list[object]:
    found = (decode(record.type, record.data) for record in played.project.log.records())
    return [event for event in found if isinstance(event, kind)]


def source(played: Played) -> str:
    return played.repo.read("calculator.py").decode()


def test_an_honest_session_is_one_triple_with_small_footers(tmp_path: Path) -> None:
    with playing(tmp_path, HONEST) as played:
        done = work(played)
        assert (done.ended.outcome, done.ended.text) == (End.DONE, "add sums two numbers.")
        assert source(played) == GOOD
        [triple] = events(played, Accepted)
        assert isinstance(triple, Accepted)
        assert triple.test_id == TEST_ID
    [judged] = done.of(TurnJudged)
    assert estimate(judged.footer) <= 80
    assert isinstance(done.happenings[0], SessionBegan)
    assert done.of(PlanShown)[-1].lines[0].startswith("1. ● green")
    assert not any("no tests here" in note.text for note in done.of(Noted))


UNTESTED = {"prices.py": "def gross(net):\n    return net * 120 // 100\n", "conftest.py": ""}
PIN = "from prices import gross\n\n\ndef test_gross_of_today():\n    assert gross(100) == 120\n"


def test_code_without_tests_is_told_of_and_its_first_tests_are_recorded_as_such(tmp_path: Path) -> None:
    pin = turn(
        call("create_file", path="tests/test_prices.py", content=PIN),
        call("run_tests", ids=["tests/test_prices.py"]),
    )
    with playing(tmp_path, (pin, turn(call("finish", summary="Pinned."))), files=UNTESTED) as played:
        done = work(played, "Write down what prices.py does.")
        assert done.ended.outcome == End.DONE
        [recorded] = events(played, Characterized)
        assert isinstance(recorded, Characterized)
        assert recorded.test_ids == ("tests/test_prices.py::test_gross_of_today",)
        assert "characterization" in played.server.requests[0].text
        assert any("recorded: 1 passing at once" in call_.told for call_ in done.of(ToolCalled))
        again = work(played, "Go on.")
    [offer] = [note.text for note in done.of(Noted) if "no tests here" in note.text]
    assert "/refactor --uncovered" in offer
    assert not [note for note in again.of(Noted) if "no tests here" in note.text]


def test_source_before_a_red_is_refused_and_the_way_is_named(tmp_path: Path) -> None:
    early = turn(call("create_file", path="calculator.py", content=GOOD))
    with playing(tmp_path, (early, *HONEST)) as played:
        done = work(played)
        assert played.answers()[0].startswith("denied [red-first]")
    assert done.ended.outcome == End.DONE
    assert done.of(ToolCalled)[0].outcome == "denied"


def test_edits_of_two_replies_are_judged_together_where_more_is_announced(tmp_path: Path) -> None:
    first = turn(
        call("edit_file", path="calculator.py", search=BODY, replace="    return total(a, b)\n", more=True)
    )
    second = turn(
        call(
            "edit_file",
            path="calculator.py",
            search="def add",
            replace="def total(a, b):\n    return a + b\n\n\ndef add",
        )
    )
    with playing(tmp_path, (*RED, first, second, FINISH)) as played:
        done = work(played)
    assert done.ended.outcome == End.DONE
    assert [judged.verdict for judged in done.of(TurnJudged)] == ["accepted"]


def test_a_test_its_run_and_its_code_may_be_one_reply(tmp_path: Path) -> None:
    whole = turn(*RED[0].calls[1:2], *RED[1].calls, *GREEN.calls)
    with playing(tmp_path, (whole, turn(call("finish", summary="add sums.")))) as played:
        done = work(played)
        assert (done.ended.outcome, done.ended.turns) == (End.DONE, 2)
        assert source(played) == GOOD
        assert len(events(played, Accepted)) == 1
    [judged] = done.of(TurnJudged)
    assert judged.verdict == "accepted"


def test_several_edits_of_one_reply_are_judged_once(tmp_path: Path) -> None:
    calls = (
        call("edit_file", path="calculator.py", search=BODY, replace="    return a\n"),
        call("edit_file", path="calculator.py", search="    return a\n", replace="    return a + b\n"),
    )
    with playing(tmp_path, (*RED, turn(*calls), FINISH)) as played:
        done = work(played)
        assert "[tdd]" not in played.answers()[5]
        assert played.answers()[6].splitlines()[-1].startswith("[tdd] accepted")
    assert [judged.verdict for judged in done.of(TurnJudged)] == ["accepted"]


def test_a_red_that_is_never_repaired_ends_the_session_with_a_report(tmp_path: Path) -> None:
    wrong = [
        (body("    return a\n"), body("    return b\n", "    return a\n")),
        (body("    return 0\n"), body("    return 1\n", "    return 0\n")),
    ]
    again = turn(call("run_tests", ids=[TEST_ID]))
    script = (*RED, *wrong[0], again, *wrong[1], again)
    with playing(tmp_path, script, "code: {repairs: 2}\n") as played:
        done = work(played)
        assert done.ended.outcome == End.REFUSED
        assert len(events(played, Repair)) == 2
        assert source(played) == STUB
    assert "2 repairs of" in done.ended.why
    assert TEST_ID in done.ended.text
    assert [judged.aside != "" for judged in done.of(TurnJudged)] == [False, True, False, True]


def test_a_model_that_stops_with_an_open_turn_is_sent_back_and_then_not_accepted(tmp_path: Path) -> None:
    claimed = turn(call("edit_claim", test_ids=[TEST_ID]))
    with playing(tmp_path, (*RED, claimed, *("I am done.",) * 6)) as played:
        done = work(played)
    assert done.ended.outcome == End.REFUSED
    assert f"{TEST_ID} is claimed and not settled" in done.ended.why


def test_a_plan_with_open_steps_is_told_once_at_the_end(tmp_path: Path) -> None:
    planned = turn(call("submit_plan", steps=[STEP]), call("shell", command="ls"))
    with playing(tmp_path, (planned, "Done.", "Done, for a reason.")) as played:
        done = work(played)
        assert "Steps of your plan are not green: 1" in played.messages[-1]["content"]
    assert done.ended.text.startswith("Done, for a reason.")


# -- cheats -----------------------------------------------------------------------------------


def test_a_model_that_special_cases_the_expected_values_is_stopped(tmp_path: Path) -> None:
    table = body("    return {17: 42, 100: 123}[a]\n")
    branch = body("    return 42 if a == 17 else 123\n", "    return {17: 42, 100: 123}[a]\n")
    with playing(tmp_path, (*RED, table, branch, *("I stop.",) * 6)) as played:
        done = work(played)
        assert not events(played, Accepted)
        assert source(played) == STUB
    assert [judged.verdict for judged in done.of(TurnJudged)] == ["hollow", "hollow"]
    assert done.of(TurnJudged)[-1].aside


def test_a_model_that_edits_the_frozen_test_by_any_tool_is_stopped(tmp_path: Path) -> None:
    claimed = turn(call("edit_claim", test_ids=[TEST_ID]))
    attack = turn(
        call("shell", command=f"sed -i 's/== 42/== 0/' {TEST}"),
        call(
            "shell",
            command=f"rm -f {TEST}; git checkout -q HEAD -- . ; python3 -c \"open('{TEST}','w').write('')\"",
        ),
        call("edit_file", path=TEST, search="== 42", replace="== 0"),
        call("write_file", path=TEST, content=""),
        call("shell", command="tdd off because"),
    )
    with playing(tmp_path, (*RED, claimed, attack, GREEN, FINISH)) as played:
        done = work(played)
        assert played.repo.read(TEST).decode() == TEST_TEXT
        [triple] = events(played, Accepted)
        assert isinstance(triple, Accepted)
    outcomes = [one.outcome for one in done.of(ToolCalled) if one.turn == 4]
    assert "ok" not in outcomes
    assert done.ended.outcome == End.DONE


def test_a_model_that_deletes_the_test_to_be_done_is_not_done(tmp_path: Path) -> None:
    """After an acceptance the phase is red, and tests may be written: the loss is told when it stops."""
    gone = turn(call("shell", command=f"rm {TEST}"))
    with playing(tmp_path, (*RED, GREEN, gone, *("All tests pass.",) * 6)) as played:
        done = work(played)
    assert done.ended.outcome == End.REFUSED
    assert "lost" in done.ended.why


# -- bad input --------------------------------------------------------------------------------


def test_junk_of_every_kind_is_answered_and_the_session_goes_on(tmp_path: Path) -> None:
    junk = Answer(
        "",
        (
            Call("edit_file", '{"path": "calc', "a"),
            Call("edit_file", "", "b"),
            Call("no_such_tool", "{}", "c"),
            Call("", "{}", "d"),
            Call("read_file", '{"path": "/etc/passwd"}', "e"),
            Call("read_file", '{"path": "README.md"}', "e"),
        ),
    )
    with playing(tmp_path, (junk, *HONEST)) as played:
        done = work(played)
        first = played.server.requests[1].messages
    assert done.ended.outcome == End.DONE
    asked = [one["id"] for one in first[2]["tool_calls"]]
    assert asked == ["a", "b", "c", "d", "e", "e_2"]
    assert [one["tool_call_id"] for one in first[3:]] == asked
    assert [one["function"]["arguments"] for one in first[2]["tool_calls"]][:2] == ["{}", "{}"]
    assert "root:" not in first[7]["content"]


def test_a_reply_that_is_cut_in_the_middle_of_a_call_writes_nothing(tmp_path: Path) -> None:
    cut = Answer("", (Call("create_file", '{"path": "notes.md", "content": "half', "a"),), finish="length")
    with playing(tmp_path, (cut, *HONEST)) as played:
        done = work(played)
        assert "cut off" in played.server.requests[1].messages[-1]["content"]
        assert not (played.repo.root / "notes.md").exists()
    assert done.ended.outcome == End.DONE


def test_a_server_that_breaks_off_is_asked_again(tmp_path: Path) -> None:
    with playing(tmp_path, (Cut(), HONEST[0], Cut(quiet=True), *HONEST[1:])) as played, no_pauses():
        assert work(played).ended.outcome == End.DONE


def test_a_server_that_is_gone_ends_the_session_which_goes_on_later(tmp_path: Path) -> None:
    gone = Refusal(401, "Incorrect API key provided", "invalid_api_key")
    with playing(tmp_path, (*RED, gone, GREEN, FINISH)) as played:
        done = work(played)
        assert done.ended.outcome == End.PROVIDER
        assert "SCRIPT_KEY" in done.ended.text
        again = work(played, "", resume="")
        assert again.ended.outcome == End.DONE
        assert again.ended.session == done.ended.session
        assert source(played) == GOOD


def test_a_context_that_is_too_small_is_compacted_once_and_goes_on(tmp_path: Path) -> None:
    with playing(tmp_path, (*RED, overflow(), GREEN, FINISH)) as played:
        done = work(played)
        [system, start, *_] = played.server.requests[3].messages
        assert system == played.server.requests[0].messages[0]
    assert done.ended.outcome == End.DONE
    assert "Write a calculator that adds." in start["content"]
    assert f"red {TEST_ID}" in start["content"]
    assert "1. ● red add two numbers" in start["content"]


def test_a_context_that_stays_too_small_ends_the_session(tmp_path: Path) -> None:
    with playing(tmp_path, (overflow(), overflow())) as played:
        assert work(played).ended.outcome == End.PROVIDER


def test_a_conversation_is_compacted_before_it_fills_the_context(tmp_path: Path) -> None:
    with playing(tmp_path, HONEST, "code: {context_tokens: 2000}\n") as played:
        done = work(played)
    assert done.ended.outcome == End.DONE
    assert any("compacted" in note.text for note in done.of(Noted))


def test_empty_replies_do_not_go_on_for_ever(tmp_path: Path) -> None:
    with playing(tmp_path, lambda _: Answer("")) as played:
        done = work(played, limits=Limits(rounds=20))
    assert done.ended.turns < 10


def test_a_user_who_edits_meanwhile_loses_nothing(tmp_path: Path) -> None:
    """A replacement of lines that the person changed does not match, and is told as it is now."""

    def script(request: object) -> Step:
        number = len(played.server.requests)
        if number == 3:
            played.repo.write("calculator.py", STUB.replace("a, b", "first, second"))
        return (*RED, body("    return first\n", "def add(a, b):\n"), FINISH, FINISH, FINISH, FINISH)[
            number - 1
        ]

    with playing(tmp_path, script) as played:
        work(played, limits=Limits(rounds=3))
        assert source(played) == STUB.replace("a, b", "first, second")
        said = fold_session(
            next((played.project.repo.private / "sessions").glob("*.jsonl"))
        ).conversation.said
    assert "def add(first, second):" in said[-1].content


def test_files_that_are_huge_binary_or_elsewhere_are_answered_and_nothing_leaves_the_tree(
    tmp_path: Path,
) -> None:
    outside = tmp_path / "outside.txt"
    look = turn(
        call("read_file", path="huge.txt"),
        call("read_file", path="blob.bin"),
        call("read_file", path="link.txt"),
        call("edit_file", path="link.txt", search="theirs", replace="mine"),
        call("create_file", path="../new.txt", content="x"),
        call("create_file", path="folder/new.txt", content="x"),
        call("search", text="theirs"),
        call("search", text="hidden"),
    )
    with playing(tmp_path, (look, "I give up.", "I give up.")) as played:
        root = played.repo.root
        outside.write_text("theirs\n", "utf-8")
        (root / "link.txt").symlink_to(outside)
        played.repo.write(".env", "TOKEN=hidden\n")
        (root / "settings.txt").symlink_to(".env")
        (root / "folder").symlink_to(tmp_path, target_is_directory=True)
        played.repo.write("blob.bin", b"\x00\xff")
        with (root / "huge.txt").open("wb") as huge:
            huge.truncate(11_000_000)
        done = work(played)
        answers = played.answers()
    assert [one.outcome for one in done.of(ToolCalled)] == ["failed"] * 2 + ["denied"] * 4 + ["ok"] * 2
    assert "too large" in answers[0]
    assert "not a text file" in answers[1]
    assert all("[outside]" in answer for answer in answers[2:6])
    assert answers[6:] == ["No line contains 'theirs'.", "No line contains 'hidden'."]
    assert outside.read_text("utf-8") == "theirs\n"
    assert not (tmp_path / "new.txt").exists()


def test_calls_of_one_reply_that_edit_the_same_file_build_on_each_other(tmp_path: Path) -> None:
    def edit(search: str, replacement: str) -> Call:
        return call("edit_file", path="README.md", search=search, replace=replacement)

    edits = turn(
        edit("A calculator.", "A sum."), edit("A calculator.", "A product."), edit("A sum.", "Sums.")
    )
    with playing(tmp_path, (edits, "Done.")) as played:
        done = work(played)
        assert played.repo.read("README.md").decode() == "Sums.\n"
        assert "0 matches in README.md" in played.answers()[1]
    assert [one.outcome for one in done.of(ToolCalled)] == ["ok", "failed", "ok"]


@pytest.mark.parametrize("where", ["verdigris.drivers.code.tools.files.write", "os.fsync"])
def test_a_full_disk_ends_the_session_which_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """It is full when an edit is to be made, or when the session writes down what was said."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def script(_: object) -> Step:
        if len(played.server.requests) == 3:
            monkeypatch.setattr(where, fail)
        return (*RED, GREEN, GREEN, FINISH)[len(played.server.requests) - 1]

    with playing(tmp_path, script) as played:
        with pytest.raises(StorageError, match="No space left") as caught:
            work(played)
        assert caught.value.hint
        monkeypatch.undo()
        assert source(played) == STUB
        again = work(played, "", resume="")
        assert again.ended.outcome == End.DONE
        assert source(played) == GOOD


# -- limits, and going on ---------------------------------------------------------------------


def test_limits_end_a_session_and_it_goes_on_from_there(tmp_path: Path) -> None:
    with playing(tmp_path, HONEST) as played:
        done = work(played, limits=Limits(rounds=2))
        assert done.ended.outcome == End.LIMIT
        assert "the limit of 2 turns is reached" in done.ended.why
        assert done.ended.session in done.ended.following
        again = work(played, "", resume=done.ended.session[:4])
        assert again.ended.outcome == End.DONE
        sent = played.server.requests[2].messages
        assert sent[: len(played.server.requests[1].messages)] == played.server.requests[1].messages
        assert "Go on with the task." in sent[-1]["content"]
        assert f"red {TEST_ID}" in sent[-1]["content"]


def test_tokens_and_money_are_limits_too(tmp_path: Path) -> None:
    prices = "code: {prices: {input: 1000.0, output: 1000.0, cached: 1000.0}}\n"
    with playing(tmp_path, HONEST, prices) as played:
        assert "and the limit is 10" in work(played, limits=Limits(tokens=10)).ended.why
        spent = work(played, "", resume="", limits=Limits(money=0.01)).ended
    assert "is spent, and the limit is 0.01" in spent.why
    assert spent.cost is not None
    assert spent.cost > 0.01


def test_money_without_prices_is_a_wrong_call(tmp_path: Path) -> None:
    with playing(tmp_path, ()) as played, pytest.raises(UserError, match="needs prices"):
        work(played, limits=Limits(money=1.0))


def test_a_session_is_recorded_and_replayed_with_the_same_end(tmp_path: Path) -> None:
    with playing(tmp_path / "one", HONEST) as played:
        work(played, record=tmp_path / "talk.jsonl")
    with playing(tmp_path / "other", ()) as replayed:
        done = work(replayed, model=f"replay:{tmp_path}/talk.jsonl")
        assert source(replayed) == GOOD
        assert not replayed.server.requests
    assert done.ended.outcome == End.DONE
    assert not [note for note in done.of(Noted) if "another prompt" in note.text]


def test_the_instructions_of_the_repository_are_pinned(tmp_path: Path) -> None:
    with playing(tmp_path, HONEST) as played:
        played.repo.write("AGENTS.md", "Use short names.\n")
        played.repo.write("CLAUDE.md", "Use short names.\n")
        work(played, limits=Limits(rounds=1))
        played.repo.write("AGENTS.md", "Use long names.\n")
        work(played, "", resume="")
        first, last = played.server.requests[0].messages[0], played.messages[0]
    assert first == last
    assert first["content"].count("Use short names.") == 1


def test_untested_code_may_be_restructured_first_by_a_persons_yes(tmp_path: Path) -> None:
    edit = turn(call("edit_file", path="calc.py", search="a + b", replace="b + a"), call("refactor_end"))
    with playing(tmp_path, (edit, "Done."), files={"calc.py": GOOD}) as played:
        done = work(played, "tidy up", uncovered=True)
        assert played.repo.read("calc.py").decode() == GOOD.replace("a + b", "b + a")
    assert done.ended.outcome == End.DONE


def test_no_model_no_task_and_a_law_that_is_off_are_told(tmp_path: Path) -> None:
    with playing(tmp_path, ()) as played:
        with pytest.raises(UserError, match="no task"):
            work(played, "")
        played.repo.write(
            "tdd.yaml", played.repo.read("tdd.yaml").decode().replace("{model: scripted}", "{}")
        )
        with pytest.raises(UserError, match="no model"):
            work(played)


def test_a_silent_server_is_given_up_within_its_time(tmp_path: Path) -> None:
    with playing(tmp_path, [Stall()] * 8, "") as played:
        config = played.repo.read("tdd.yaml").decode().replace("api_key_env", "timeout: 0.2, api_key_env")
        played.repo.write("tdd.yaml", config)
        with no_pauses():
            done = work(played)
    assert done.ended.outcome == End.PROVIDER


def test_the_doctor_tells_of_the_model_and_of_a_plan_that_names_no_file(tmp_path: Path) -> None:
    plan = turn(call("submit_plan", steps=[{"title": "add", "test_id": TEST_ID}]))
    with playing(tmp_path, (plan, *HONEST)) as played:
        done = work(played, limits=Limits(rounds=1))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SCRIPT_KEY", KEY)
            (model,) = check_players(played.repo.root)
            (odd,) = check_plan(played.repo.root)
    assert (model.name, model.level) == ("model (agent)", "ok")
    assert (odd.name, odd.level) == (f"plan of session {done.ended.session}", "warn")
    assert "no test_file_path" in odd.what


def test_a_bug_in_a_package_that_has_tests_is_fixed_by_its_regression_test(tmp_path: Path) -> None:
    files = {
        "src/shop/__init__.py": "",
        "src/shop/cart.py": "def total(prices, discount=0):\n    return sum(prices) - discount\n",
        "tests/test_cart.py": (
            "from shop.cart import total\n\n\ndef test_sum():\n    assert total([10, 15]) == 25\n"
        ),
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    }
    regression = (
        "\n\ndef test_a_discount_never_makes_it_negative():\n    assert total([10], discount=25) == 0\n"
    )
    test_id = "tests/test_cart.py::test_a_discount_never_makes_it_negative"
    script = (
        turn(call("search", text="discount"), call("read_file", path="src/shop/cart.py")),
        turn(
            call("edit_file", path="tests/test_cart.py", search="== 25\n", replace=f"== 25\n{regression}"),
            call("run_tests", ids=[test_id]),
        ),
        turn(
            call(
                "edit_file",
                path="src/shop/cart.py",
                search="return sum(prices) - discount",
                replace="return max(0, sum(prices) - discount)",
            )
        ),
        turn(call("shell", command="git diff --stat"), call("finish", summary="A total is at least 0.")),
    )
    with playing(tmp_path, script, files=files) as played:
        done = work(played, "A discount larger than the sum gives a negative total. Fix it.")
        assert "max(0" in played.repo.read("src/shop/cart.py").decode()
    assert (done.ended.outcome, done.ended.turns) == (End.DONE, 4)
    assert [judged.accepted for judged in done.of(TurnJudged)] == [(test_id,)]


CODE = {f"src/shop/m{number}.py": "def get_total():\n    return 1\n" for number in range(3)} | {
    "src/shop/__init__.py": "",
    "tests/test_shop.py": "\n".join(
        ["from shop import m0, m1, m2", "", "", "def test_totals():"]
        + [f"    assert m{number}.get_total() == 1" for number in range(3)]
        + [""]
    ),
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    "notes/plan.md": "get_total\n",
}
SCRIPT = "sed -i 's/return 1/return 2 - 1/' src/shop/m*.py"


def test_a_sweep_by_a_script_is_judged_once_and_counted(tmp_path: Path) -> None:
    sweep = turn(call("shell", command=SCRIPT), call("refactor_end"))
    with playing(tmp_path, (sweep, "Done."), files=CODE) as played:
        done = work(played, "Write it otherwise.", sweep=Sweep(("src/**",)))
        assert "return 2 - 1" in played.repo.read("src/shop/m2.py").decode()
        told = played.answers()[1]
    assert told.startswith("The sweep touched 3 files.\n[tdd] accepted")
    assert done.ended.outcome == End.DONE


def test_a_sweep_that_leaves_its_scope_or_its_budget_is_not_judged(tmp_path: Path) -> None:
    out = turn(
        call("edit_file", path="notes/plan.md", search="get", replace="x"),
        call("shell", command=f"{SCRIPT}; echo more >> notes/plan.md"),
        call("refactor_end"),
    )
    back = turn(call("shell", command="git checkout -q -- notes"), call("refactor_end"))
    give_up = turn(call("refactor_end", abort=True))
    with playing(tmp_path, (out, back, give_up, "Done.", "Done."), files=CODE) as played:
        done = work(played, "Write it otherwise.", sweep=Sweep(("src/**",), files=2))
        assert "return 1" in played.repo.read("src/shop/m2.py").decode()
        answers = played.answers()
    assert "denied [outside-sweep]" in answers[0]
    assert "1 files outside the sweep's scope (src/**) are changed: notes/plan.md" in answers[2]
    assert "denied [sweep-budget]" in answers[4]
    assert done.ended.outcome == End.NOT_DONE


def test_each_call_is_told_before_it_begins_and_when_it_has_ended_under_a_name_of_its_own(
    tmp_path: Path,
) -> None:
    junk = Answer(
        "Two\nlines.", (Call("read_file", "{", id="call_0"), Call("list_files", {"glob": "**"}, "b"))
    )
    look = turn(call("read_file", path="README.md"))
    with playing(tmp_path, (junk, look, FINISH, FINISH)) as played:
        done = work(played)
    kinds = (CallMade, CallBegan, ToolCalled)
    told = [(type(one), one.call) for one in done.happenings if isinstance(one, kinds) and one.turn < 3]
    assert told == [
        (CallMade, "1-call_0"),
        (CallMade, "1-b"),
        (ToolCalled, "1-call_0"),
        (CallBegan, "1-b"),
        (ToolCalled, "1-b"),
        (CallMade, "2-call_0"),
        (CallBegan, "2-call_0"),
        (ToolCalled, "2-call_0"),
    ]
    assert [one.text for one in done.happenings if isinstance(one, ModelWrote | ModelSpoke)] == [
        "Two\n",
        "Two\nlines.",
    ]


def test_a_suite_that_does_not_run_is_told_to_person_and_model_before_the_work(tmp_path: Path) -> None:
    """No advice about stubs for a package that is there."""
    files = {
        "src/shop/__init__.py": "VALUE = 1\n",
        "tests/test_shop.py": "import shop\n\n\ndef test_shop():\n    assert shop.VALUE == 1\n",
    }
    script = (turn(call("run_tests", ids=[])), turn(call("finish", summary="It cannot run.")))
    with playing(tmp_path, script, files=files) as played:
        worked = work(played, "Add a tax.")
        noted = [one.text for one in worked.happenings if isinstance(one, Noted)]
        assert any(
            "no test runs: 1 file does not load: tests/test_shop.py: shop in src/" in one for one in noted
        )
        asked = str(played.server.requests)
        assert "baseline: no test runs: 1 file does not load" in asked
        assert "`pythonpath = src` below `[pytest]` in pytest.ini" in asked
        assert "tdd stub" not in asked
        assert "stubs may be written" not in asked
