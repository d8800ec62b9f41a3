"""What a run lacked, as far as its own words tell."""

from __future__ import annotations

from functools import partial

import pytest

from verdigris.core.confinement.needs import Need, surroundings, write_keys
from verdigris.core.confinement.needs import needs as find_needs
from verdigris.core.report import CollectError, Failure, RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.core.settings import Settings
from verdigris.runners.python import find_plugin_needs

needs = partial(find_needs, finders=(find_plugin_needs,))
"""With what pytest adds."""
SET = {"DATABASE_URL": "pg://secret", "PORTAL": "x", "PATH": "/bin", "EDITOR": "vi", "HOME": "/home/ada"}


def result(kind: str, message: str, *, bases: tuple[str, ...] = (), name: str = "test_x") -> TestResult:
    failure = Failure(kind, assertion=False, message=message, bases=bases)
    test_id = f"tests/test_a.py::{name}"
    return TestResult(test_id, test_id, "native", Status.FAIL, RunPhase.CALL, 1, failure)


def skipped(note: str) -> TestResult:
    test_id = "tests/test_a.py::test_s"
    return TestResult(test_id, test_id, "native", Status.SKIP, RunPhase.SETUP, 1, note=note)


def report(*results: TestResult, errors: tuple[CollectError, ...] = (), tail: str = "") -> TestReport:
    ended = RunEnd.NO_START if tail else RunEnd.FINISHED
    return TestReport("python -m pytest", ended, 1, 1, results, errors=errors, tail=tail)


def keys(found: tuple[Need, ...]) -> list[tuple[str, str]]:
    return [(need.key, need.value) for need in found]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("KeyError", "'DATABASE_URL'"),
        ("RuntimeError", "environment variable DATABASE_URL is not set"),
        ("ImproperlyConfigured", "Set the DATABASE_URL environment variable"),
        ("ValidationError", "1 validation error for Settings\ndatabase_url\n  Field required"),
        ("KeyError", "'PORTAL'"),
    ],
)
def test_a_variable_that_the_caller_has_and_the_run_missed(kind: str, message: str) -> None:
    found = needs(report(result(kind, message)), SET, Settings())
    assert [need.key for need in found] == ["room.env"]
    assert found[0].value in {"DATABASE_URL", "PORTAL"}
    assert "tests/test_a.py::test_x" in found[0].why


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("KeyError", "'REDIS_URL'"),
        ("KeyError", "'PATH'"),
        ("KeyError", "'portal'"),
        ("AssertionError", "assert 'DATABASE_URL' == 'x'"),
        ("AssertionError", "the EDITOR widget is missing"),
        ("RuntimeError", "MY_DATABASE_URL_2 is not set"),
        ("ValueError", "no open portal: required"),
        ("KeyError", ""),
    ],
)
def test_what_is_unset_kept_or_only_mentioned_is_no_need(kind: str, message: str) -> None:
    assert needs(report(result(kind, message)), SET, Settings()) == ()


def test_a_file_that_does_not_load_and_a_skip_tell_it_too() -> None:
    error = CollectError("tests/test_b.py", "KeyError", "'DATABASE_URL'")
    assert keys(needs(report(errors=(error,)), SET, Settings())) == [("room.env", "DATABASE_URL")]
    assert keys(needs(report(skipped("Skipped: needs DATABASE_URL")), SET, Settings())) == [
        ("room.env", "DATABASE_URL")
    ]
    assert needs(report(skipped("xfail")), SET, Settings()) == ()


def test_a_need_is_told_once_and_not_when_it_is_met() -> None:
    lacking = report(
        result("KeyError", "'DATABASE_URL'"), result("KeyError", "'DATABASE_URL'", name="test_y")
    )
    assert keys(needs(lacking, SET, Settings())) == [("room.env", "DATABASE_URL")]
    for entry in ("DATABASE_URL", "DATABASE_URL=other"):
        assert needs(lacking, SET, Settings(room_env=(entry,))) == ()


def test_a_file_that_only_the_real_home_has() -> None:
    path = "/tmp/tdd.0a1b2c/home/.shoprc"
    lacking = report(result("FileNotFoundError", f"[Errno 2] No such file or directory: '{path}'"))
    assert keys(needs(lacking, SET, Settings())) == [("room.env", "HOME")]
    assert needs(lacking, SET, Settings(room_env=("HOME",))) == ()


REFUSED = result(
    "ConnectionRefusedError", "[Errno 111] Connection refused", bases=("ConnectionRefusedError",)
)


@pytest.mark.parametrize(
    "failed",
    [
        REFUSED,
        result(
            "OperationalError", 'connection to server at "localhost", port 5432 failed: Connection refused'
        ),
        result("gaierror", "[Errno -3] Temporary failure in name resolution"),
        result("OSError", "[Errno 101] Network is unreachable"),
    ],
)
def test_a_server_that_is_out_of_reach(failed: TestResult) -> None:
    assert keys(needs(report(failed), {}, Settings())) == [("room.network", "host")]
    assert needs(report(failed), {}, Settings(room_network="host")) == ()


def test_without_any_network_one_of_its_own_comes_first() -> None:
    nothing = Settings(room_network="none")
    assert keys(needs(report(REFUSED), {}, nothing)) == [("room.network", "loopback")]
    local = result("OSError", "[Errno 101] Network is unreachable")
    assert keys(needs(report(local), {}, nothing)) == [("room.network", "loopback")]
    named = result("gaierror", "[Errno -3] Temporary failure in name resolution")
    assert keys(needs(report(named), {}, nothing)) == [("room.network", "host")]


@pytest.mark.parametrize(
    ("failed", "plugin"),
    [
        (result("FixtureLookupError", "('mocker', <FixtureRequest for <Function test_x>>)"), "pytest_mock"),
        (result("Failed", "async def functions are not natively supported.\nYou need"), "asyncio"),
    ],
)
def test_a_plugin_that_the_configuration_leaves_out(failed: TestResult, plugin: str) -> None:
    chosen = Settings(room_plugins=("xdist",))
    assert keys(needs(report(failed), {}, chosen)) == [("room.plugins", plugin)]
    assert needs(report(failed), {}, Settings()) == ()
    assert needs(report(failed), {}, Settings(room_plugins=(plugin,))) == ()
    assert needs(report(failed), {}, chosen, installed={"cov"}) == ()
    assert keys(needs(report(failed), {}, chosen, installed={plugin})) == [("room.plugins", plugin)]


def test_options_and_marks_of_plugins() -> None:
    chosen = Settings(room_plugins=())
    usage = "ERROR: usage: pytest\npytest: error: unrecognized arguments: --cov=src -n 4\n  inifile: x\n"
    assert keys(needs(report(tail=usage), {}, chosen)) == [
        ("room.plugins", "pytest_cov"),
        ("room.plugins", "xdist"),
    ]
    error = CollectError(
        "tests/test_b.py", "Failed", "'django_db' not found in `markers` configuration option"
    )
    assert keys(needs(report(errors=(error,)), {}, chosen)) == [("room.plugins", "django")]


def test_what_steered_the_callers_own_runs_is_named_where_something_is_missing() -> None:
    missing = report(
        result("FixtureLookupError", "('portal_fixture', <FixtureRequest for <Function test_x>>)")
    )
    environ = {"PYTEST_PLUGINS": "my.plugin", "PYTEST_ADDOPTS": "-p my.other"}
    assert keys(needs(missing, environ, Settings())) == [
        ("room.env", "PYTEST_PLUGINS"),
        ("stacks[].test_command", "-p my.other"),
    ]
    assert needs(missing, {}, Settings()) == ()


def test_how_needs_are_written_down() -> None:
    lacking = [("room.env", "A"), ("room.network", "host"), ("room.env", "B"), ("room.network", "loopback")]
    assert write_keys([Need(key, what, "") for key, what in lacking]) == (
        "room: {env: [A, B], network: host}",
    )
    assert write_keys([Need("stacks[].test_command", "-p a.b -x", "")]) == (
        "stacks[].test_command: -p a.b -x",
    )


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("RuntimeError", "fatal: not a git repository (or any of the parent directories): .git"),
        ("CalledProcessError", "Command '['git', 'rev-parse', 'HEAD']' returned non-zero exit status 128."),
        ("InvalidGitRepositoryError", "/project"),
    ],
)
def test_a_suite_that_asks_git_of_the_worktree_is_told_the_key_that_shows_it(kind: str, message: str) -> None:
    failed = report(result(kind, message))
    found = needs(failed, {}, Settings())
    assert keys(found) == [("room.git", "true")]
    assert write_keys(found) == ("room: {git: true}",)
    assert needs(failed, {}, Settings(room_git=True)) == ()


SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "s",
    "GITHUB_TOKEN": "s",
    "SSH_AUTH_SOCK": "/run/agent",
    "HTTPS_PROXY": "http://user:pass@proxy",
    "XDG_RUNTIME_DIR": "/run/user/1000",
    "XDG_CONFIG_HOME": "/home/ada/.config",
    "TMP": "/tmp",
    "VERDIGRIS_CHANNEL": "7",
}
STEERING = {
    "PYTEST_ADDOPTS": "-p evil",
    "PYTEST_PLUGINS": "evil",
    "PYTHONSTARTUP": "/tmp/evil.py",
    "PYTHONHOME": "/tmp/evil",
    "LD_PRELOAD": "/tmp/evil.so",
    "COVERAGE_PROCESS_START": "x",
}


def made(environ: dict[str, str], *given: str) -> dict[str, str]:
    return surroundings(environ, given, home="/room/home", tmp="/room/tmp")


def test_only_home_and_tmpdir_where_nothing_is_given() -> None:
    assert made({}) == {"HOME": "/room/home", "TMPDIR": "/room/tmp"}


@pytest.mark.parametrize("name", [*SECRETS, *STEERING])
def test_secrets_and_what_steers_the_runner_are_dropped(name: str) -> None:
    assert name not in made(SECRETS | STEERING)


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "LANG", "LC_ALL", "LC_TIME", "TZ", "TERM", "USER", "CI", "NO_COLOR"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONUTF8"),
        *("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "CARGO_HOME", "JAVA_HOME"),
    ],
)
def test_what_programs_need_to_work_is_kept(name: str) -> None:
    assert made({name: "as it is"})[name] == "as it is"


def test_home_and_tmpdir_are_the_rooms_own() -> None:
    found = made({"HOME": "/home/ada", "TMPDIR": "/tmp/ada"})
    assert (found["HOME"], found["TMPDIR"]) == ("/room/home", "/room/tmp")


def test_packages_installed_for_the_user_are_found_although_home_is_new() -> None:
    assert made({"HOME": "/home/ada/"})["PYTHONUSERBASE"] == "/home/ada/.local"
    assert made({"HOME": "/home/ada", "PYTHONUSERBASE": "/opt/ada"})["PYTHONUSERBASE"] == "/opt/ada"
    assert "PYTHONUSERBASE" not in made({"HOME": ""})


def test_tools_on_path_below_the_real_home_find_what_they_start() -> None:
    environ = {"HOME": "/home/ada", "PATH": "/home/ada/.cargo/bin:/usr/bin"}
    found = made(environ)
    assert (found["CARGO_HOME"], found["RUSTUP_HOME"]) == ("/home/ada/.cargo", "/home/ada/.rustup")
    assert "PYENV_ROOT" not in found
    assert made(environ | {"RUSTUP_HOME": "/opt/rust"})["RUSTUP_HOME"] == "/opt/rust"


def test_a_given_name_is_handed_on_where_it_is_set() -> None:
    assert made({"DATABASE_URL": "pg://x"}, "DATABASE_URL", "UNSET")["DATABASE_URL"] == "pg://x"
    assert "UNSET" not in made({}, "UNSET")


def test_a_given_value_has_the_last_word() -> None:
    found = made({"LANG": "C", "HOME": "/home/ada"}, "LANG=de_DE", "QUERY=a=b", "EMPTY=", "HOME")
    assert (found["LANG"], found["QUERY"], found["EMPTY"], found["HOME"]) == ("de_DE", "a=b", "", "/home/ada")
