"""Decides which reds count, what a claim covers, and which move comes next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from re import Pattern
from re import compile as compile_regex

from verdigris.core.actions import Allow, Decision, Deny, Unclaimed
from verdigris.core.debts import UNASKED
from verdigris.core.languages import is_loaded_singly
from verdigris.core.paths import compile_glob
from verdigris.core.policy import cycle as cycles
from verdigris.core.policy.cycle import deny_source
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.core.state import Claim, OpenTestBug, Phase, Red, Turn, WorktreeState
from verdigris.core.test_ids import named_tests, shell_words, split_id
from verdigris.core.value import value
from verdigris.core.verdict.redness import UNDECLARED, way_out


def ended_reds(
    reds: Mapping[str, Red] | Mapping[str, Claim],
    report: TestReport,
    asked: Sequence[str],
) -> tuple[str, ...]:
    """Ids of the reds that this run saw pass, or looked for and did not find.

    `asked`: the requested ids and paths; none stands for all tests.
    """
    passed = {result.native_id for result in report.results if result.status is Status.PASS}
    found = {*report.collected, *(result.native_id for result in report.results)}
    gone = {
        red.native_id
        for red in reds.values()
        if red.native_id not in found and _was_looked_for(red.native_id, report, asked)
    }
    return tuple(test_id for test_id, red in reds.items() if red.native_id in passed | gone)


def _was_looked_for(native: str, report: TestReport, asked: Sequence[str]) -> bool:
    """Whether the run would have found this test if it still existed."""
    path = split_id(native).path
    broken = {error.path for error in report.errors}
    unloaded = path in broken or (broken and not is_loaded_singly(path))
    if report.ended is not RunEnd.FINISHED or unloaded:
        return False
    return not asked or any(covers_test(name.rstrip("/"), native) for name in asked)


def covers_test(name: str, native: str) -> bool:
    """`name`: an id, a group of tests, a file or a folder."""
    path = split_id(native).path
    inside = (f"{name}::", f"{name}[", f"{name}/", f"{name} › ")
    return name in {".", "", native, path} or native.startswith(inside) or path.startswith(f"{name}/")


def named_reds(reds: Mapping[str, Red], word: str) -> tuple[str, ...]:
    """Ids of the reds that a word means: an id, a group or a function with its cases, a file, a bare name."""
    word = word.replace(" > ", " › ")
    if word in reds:
        return (word,)
    name = word.rstrip("/")
    below = [red for red in reds.values() if covers_test(name, red.native_id)]
    if below:
        return tuple(red.test_id for red in below if red.valid) or (below[0].test_id,)
    meant = set(named_tests(word, [red.native_id for red in reds.values()]))
    one = len({(split_id(native).path, split_id(native).function) for native in meant}) == 1
    return tuple(i for i, red in reds.items() if red.native_id in meant) if one else ()


def newest(reds: Iterable[Red], tree: str | None = None) -> Red | None:
    """The valid red that was seen last; with `tree`, only one that was seen on it and can be claimed."""
    seen = [red for red in reds if tree is None or red.tree == tree]
    return max(without_parents(tuple(seen)), key=lambda red: red.seq, default=None)


def without_parents(reds: tuple[Red, ...]) -> tuple[Red, ...]:
    """Leaves out those that are red because one of their own cases is: Go reports both."""
    cases = [red.native_id for red in reds if split_id(red.native_id).case.startswith("/")]
    return tuple(red for red in reds if not any(case.startswith(f"{red.native_id}/") for case in cases))


RED_FIRST = "red-first"


SEES_REDS = frozenset({RED_FIRST, "which-red"})
"""Rules of denials that a run of the changed tests may answer."""


def implied_claim(state: WorktreeState, edited: str = "") -> Decision:
    """An edit of `edited`, and a claim without words, take the reds that this change brought.

    Known failures are claimed by name only: nobody says that the edit is for them.
    """
    if state.open_cycle is not None:
        return deny_source(state.open_cycle, edited)
    if reds := without_parents(state.brought_reds):
        return Allow(claims=reds)
    known = newest(state.valid_reds)
    if known is None:
        return Deny(
            RED_FIRST,
            "Source can be edited only for a test that is red, and no test is red now; where behaviour stays "
            "as it is, `tdd refactor begin` opens it.",
            FIRST_MOVE,
        )
    count = len(without_parents(state.valid_reds))
    which = "A test fails, and it failed" if count == 1 else f"{count} tests fail, and they failed"
    return Deny(
        "which-red",
        f"{which} before this change too; say that this edit is for it.",
        f"`tdd claim {shell_words(known.test_id, *([edited] if edited else []))}`",
    )


@lru_cache(maxsize=512)
def _pattern(target: str) -> Pattern[str]:
    return compile_regex(compile_glob(target))


def covers(target: str, path: str) -> bool:
    """A target is a file, a folder (all below it) or a glob."""
    return (
        target in {path, "."}
        or path.startswith(target.rstrip("/") + "/")
        or bool(_pattern(target).match(path))
    )


def owners(claims: Iterable[Claim], path: str) -> frozenset[str]:
    """The test ids whose claims cover a path."""
    return frozenset(c.test_id for c in claims if any(covers(t, path) for t in c.targets))


def apart(claims: Iterable[Claim], failing: frozenset[str], paths: Iterable[str]) -> frozenset[str] | None:
    """The paths that only failing claims cover; None if a path belongs to passing claims too."""
    claims = tuple(claims)
    alone: set[str] = set()
    for path in paths:
        of = owners(claims, path)
        if not of or (of & failing and of - failing):
            return None
        if of <= failing:
            alone.add(path)
    return frozenset(alone)


SYNCS_IN = (Phase.RED, Phase.OFF)
"""The phases in which `tdd sync` moves the tree."""


FIRST_MOVE = "write one failing test, then the code for it; `tdd test` shows the red"
"""Where nothing is red yet."""
JUDGE_ANEW = "`tdd refactor end` judges it anew (or `tdd refactor abort`)"
RESTRUCTURE = "restructure, then `tdd refactor end` (or `tdd refactor abort`)"
_NAMED = 5
"""The most tests or files that a move names."""
_RUN_BY_NAME = 10
"""The most tests that a command names."""


@value
class TreeFacts:
    """What the tree shows, and the state alone does not say. `turns.next_move` gathers it."""

    in_progress: str | None = None
    """A merge, rebase … that git has not finished."""
    stuck: bool = False
    """Git refuses to abort it: files that it staged were edited since."""
    hindrance: str = ""
    """Why the suite does not run at all, with the cure."""
    drift: tuple[str, ...] = ()
    """In green, and in a refactor: frozen paths that differ."""
    edited: bool = False
    """Something changed since the last verdict; in green, and no run saw a claimed test fail on it."""
    returned: bool = False
    """In green: it is only that edits came back which had been set aside."""
    unclassed: tuple[str, ...] = ()
    """In red: files whose tests the runner runs, although they are not of class test."""
    unclaimed: tuple[Unclaimed, ...] = ()
    """In red: source edits that no claim covers."""
    losses: tuple[str, ...] = ()
    """In red, and in a refactor: what the suite lost without a reason."""
    revised: frozenset[str] = frozenset()
    """Open reports whose test was revised since."""
    claimable: tuple[Red, ...] | Deny = ()
    """In red: what a claim without words takes, or its denial; or else the known failure seen last."""
    unparsed: tuple[str, ...] = ()
    """Source on the ground that does not parse, so that tests do not load."""
    silent: bool = False
    """No test runs at all, so a refactor has nothing to keep to."""
    undeclared: str = ""
    """A test file that needs declarations which `tdd stub` writes."""
    unloaded: str = ""
    """A test file that did not load."""
    touched: bool = False
    """Something changed since it did not load."""
    owed: str = ""
    """To an agent: what pays the oldest debt."""
    struck: tuple[str, ...] = ()
    """Tests whose edits the last strike set aside, and that nobody has run since."""


@value
class Asker:
    """Who is told the next move."""

    is_agent: bool = False
    context: str = ""
    fellows: frozenset[str] = frozenset()
    """Other agents that are at work."""
    wait: str = ""
    """What it has to wait for: an open call of another agent may have written the tree."""


def next_move(state: WorktreeState, facts: TreeFacts = TreeFacts(), asker: Asker = Asker()) -> str:  # noqa: B008 - frozen
    """The one move that leads on from here: a whole command, or what a person has to write or decide."""
    suspended = state.turn is not None and state.turn.suspended
    if state.phase is Phase.OFF:
        return "run `tdd on` to resume (a person's command)"
    if asker.wait:
        return asker.wait
    if facts.in_progress is not None:
        return finish_git(state, facts.in_progress, stuck=facts.stuck)
    if facts.hindrance:
        return facts.hindrance
    if state.open_cycle is not None and not suspended:
        back = f"`tdd restore {shell_words(*facts.drift[:_NAMED])}` puts back what the open turn froze"
        return back if facts.drift else cycles.next_step(state.open_cycle, turn=state.turn is not None)
    match state.phase:
        case Phase.REFACTOR:
            return _next_in_refactor(state, facts)
        case Phase.GREEN:
            return _next_in_green(state, facts, asker)
        case _:
            return _next_in_red(state, facts, asker)


def _next_in_refactor(state: WorktreeState, facts: TreeFacts) -> str:
    refused = state.refactor.refused if state.refactor else None
    texts = [f"put {', '.join(facts.drift[:_NAMED])} back"] if facts.drift else []
    if facts.losses:
        lost = f"put back what {_files_of(facts.losses)[0]} lost"
        return f"{', '.join((*texts, lost))}, {RESTRUCTURE}; {_give_up(facts.losses)}"
    if texts:
        return f"{texts[0]}, {RESTRUCTURE}"
    if refused is None:
        return RESTRUCTURE
    return JUDGE_ANEW if facts.edited else refused.next or RESTRUCTURE


def _next_in_green(state: WorktreeState, facts: TreeFacts, asker: Asker) -> str:
    turn, theirs = state.turn, {claim.by for claim in state.claims.values()}
    if asker.is_agent and asker.context not in theirs and theirs and theirs <= asker.fellows:
        claimed = ", ".join(state.claims)
        return f"wait: another agent has claimed {claimed}; go on when it has settled"
    if turn is not None and turn.suspended:
        return f"`tdd test {shell_words(*state.claims)}`{'' if turn.why else ' on the new baseline'}"
    texts = []
    if drift := facts.drift[:_NAMED]:
        frozen = f"as the open turn froze {'it' if len(drift) == 1 else 'them'}"
        texts = [f"put {', '.join(drift)} back {frozen} (`tdd restore {shell_words(*drift)}`)"]
    owe = ""
    if not facts.edited and (unasked := _unasked_places(turn)):
        texts.append(f"take {unasked} out, which no test runs")
        owe = "" if asker.is_agent else " (or, if it has to stay, `tdd settle --owe`)"
    elif not facts.edited:
        laid = [each for each in state.aside.values() if state.claims.keys() & set(each.test_ids)]
        former = [f" (`tdd restore {each.id}` brings your former edits back)" for each in laid if each.paths]
        texts.append(f"edit the claimed source{''.join(former[-1:])}")
    elif facts.returned:
        texts.append("finish the source edits that came back")
    return f"{', '.join(texts)}, then `tdd settle`{owe}" if texts else "`tdd settle`"


def _unasked_places(turn: Turn | None) -> str:
    """What the last verdict on this tree did not accept because no test runs it."""
    refused = turn.refused.reasons if turn is not None and turn.refused is not None else ()
    unasked = [reason for reason in refused if reason.startswith(UNASKED)]
    if len(unasked) < len(refused):
        return ""
    return ", ".join(reason.removeprefix(UNASKED).partition(": ")[0] for reason in unasked[:_NAMED])


def _next_in_red(state: WorktreeState, facts: TreeFacts, asker: Asker) -> str:
    if facts.unclassed:
        names = ", ".join(facts.unclassed[:_NAMED])
        return f"a person names {names} under `test:` in tdd.yaml, since the test runner runs tests of it"
    if facts.unclaimed:
        return "`tdd aside` sets aside what was edited before a red; a claim of these files brings it back"
    if state.test_bugs or facts.losses or (facts.unparsed and not asker.is_agent):
        return _next_text(state, facts, asker)
    if facts.unparsed:
        return _open_unparsed(facts)
    match facts.claimable:
        case Deny(next=following):
            return following
        case (Red(known=False), *_) as reds:
            return _next_claim(reds, asker)
    return _next_without_red(state, facts, asker)


def _next_text(state: WorktreeState, facts: TreeFacts, asker: Asker) -> str:
    """All that has to be written, and one run of all that waits for it."""
    bugs = [*state.test_bugs.values()][:_NAMED]
    wrong = [bug for bug in bugs if bug.id not in facts.revised]
    waiting = [next(iter(bug.tests), bug.places[0].rpartition(":")[0]) for bug in bugs]
    reds = (red.test_id for red in state.reds.values() if not red.known)
    run = run_command((*waiting, *reds, *state.unloaded) if bugs else ())
    texts, way_out = [], ""
    if wrong:
        texts.append(f"revise {', '.join(dict.fromkeys(map(_reported, wrong)))}")
        way_out = f" (or, if the test is right, `tdd test-bug close {wrong[0].id}`)"
    if facts.losses:
        texts.append(f"put back what {_files_of(facts.losses)[0]} lost")
        way_out = way_out or f"; {_give_up(facts.losses)}"
    if facts.unparsed and not asker.is_agent:
        does = "does" if len(facts.unparsed) == 1 else "do"
        texts.append(f"mend {', '.join(facts.unparsed[:_NAMED])}, which {does} not parse")
    return f"{', '.join(texts)}, then `{run}`{way_out}" if texts else f"`{run}`"


def _reported(bug: OpenTestBug) -> str:
    """Its test by name: the line may be another one by now."""
    return next(iter(bug.tests), bug.places[0])


def run_command(test_ids: Iterable[str]) -> str:
    """Many are run together with all others."""
    ids = dict.fromkeys(test_ids)
    return shell_words("tdd", "test", *(ids if len(ids) <= _RUN_BY_NAME else ()))


def _open_unparsed(facts: TreeFacts) -> str:
    """To an agent. Where no test runs, none can show what is kept; that is a person's to accept."""
    path = f"{facts.unparsed[0]}, which does not parse"
    if facts.silent:
        return f"ask the person to mend {path}: no test runs, so only tdd refactor begin --uncovered opens it"
    return f"`tdd refactor begin` opens {path}"


def _next_without_red(state: WorktreeState, facts: TreeFacts, asker: Asker) -> str:
    if facts.undeclared:
        return f"`tdd stub {shell_words(facts.undeclared)}`"
    if facts.unloaded:
        run = f"`tdd test {shell_words(facts.unloaded)}`"
        return run if facts.touched else f"correct {facts.unloaded}, which does not load, then {run}"
    if wrong := [red for red in state.reds.values() if not red.valid and not red.known]:
        return _correct(max(wrong, key=lambda red: red.seq))
    if facts.struck:
        return f"`tdd test {shell_words(*facts.struck)}` shows the red without your edits"
    if facts.claimable and not isinstance(facts.claimable, Deny):
        known = shell_words(facts.claimable[0].test_id)
        return f"{FIRST_MOVE}; a known failure is claimed by its name: `tdd claim {known}`"
    if facts.owed:
        return f"{facts.owed}, then `tdd test` (or `tdd refactor begin`, and take it out)"
    kept = [laid.id for laid in state.aside.values() if laid.back_at_claim]
    if kept and not asker.is_agent:
        return f"{FIRST_MOVE}; its claim brings back what is set aside, and so does `tdd restore {kept[-1]}`"
    return FIRST_MOVE


def _correct(red: Red) -> str:
    """What to do about a red that does not count, where no stub helps."""
    if red.why in UNDECLARED:
        run = f"`tdd test {shell_words(red.test_id)}`"
        return f"correct {red.test_id}, which asks for a name that nothing declares, then {run}"
    return f"{red.test_id}: {way_out(red.why, split_id(red.native_id).path)}"


def _next_claim(reds: Sequence[Red], asker: Asker) -> str:
    if len(reds) == 1:
        return f"`tdd claim {shell_words(reds[0].test_id)}`"
    more = [f"and {len(reds) - _NAMED} more"] if len(reds) > _NAMED else []
    named = f"these {len(reds)} tests: {', '.join([*(red.test_id for red in reds[:_NAMED]), *more])}"
    return f"edit the source: it claims {named}" if asker.is_agent else f"`tdd claim` claims {named}"


def unclassed_tests(state: WorktreeState) -> tuple[str, ...]:
    """Files that are not of class test, although the runner runs tests of them."""
    paths = (split_id(red.native_id).path for red in state.reds.values() if red.why == "not-a-test")
    return tuple(dict.fromkeys(paths))


def without_tests(edits: Iterable[Unclaimed], state: WorktreeState) -> tuple[Unclaimed, ...]:
    """The edits of files whose tests nobody runs: a test is not set aside, whatever its class is."""
    tests = unclassed_tests(state)
    return tuple(edit for edit in edits if edit.path not in tests)


def report_wrong_test(claims: Iterable[Claim], path: str) -> str:
    """How to report a wrong test of a file, with its line where a claimed red failed there."""
    places = (claim.place for claim in claims if claim.place.rpartition(":")[0] == path)
    place = next(places, f"{path}, a colon and its line")
    return f"if the test is wrong, report it: tdd test-bug {place}, and why in quotation marks"


def give_up_losses(losses: Sequence[str], then: str = "tdd test") -> str:
    """What gives up all losses at once; each begins with `path:line: `. `then`: what follows otherwise."""
    return f"put back what {_files_of(losses)[0]} lost, then `{then}`; {_give_up(losses)}"


def _give_up(losses: Sequence[str]) -> str:
    files = shell_words(*_files_of(losses)[1])
    return f"or a person gives it up: tdd revise {files}, with --why and the reason"


def _files_of(losses: Sequence[str]) -> tuple[str, list[str]]:
    """Those that lost something: as they are named in a sentence, and all."""
    files = list(dict.fromkeys(loss.partition(": ")[0].rpartition(":")[0] for loss in losses))
    return ", ".join([*files[:_NAMED], *(["others"] if len(files) > _NAMED else [])]), files


def finish_git(state: WorktreeState, in_progress: str, *, stuck: bool = False) -> str:
    """Under an open turn, and for a bisect, `tdd sync` does not work: then a person uses git."""
    if in_progress == "bisect":
        return "end it with `git bisect reset` (a person's command)"
    git, whose = ("tdd sync --", "") if state.phase in SYNCS_IN else ("git", " (a person's command)")
    drop = f"`{git} {in_progress} --quit`, which leaves the files as they are" if stuck else ""
    drop = drop or f"`{git} {in_progress} --abort`"
    return f"drop it with {drop}, or resolve it and finish it with `{git} {in_progress} --continue`{whose}"
