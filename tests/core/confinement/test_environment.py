"""What a run of project code gets of the caller's environment."""

from __future__ import annotations

import pytest

from verdigris.core.confinement.environment import surroundings

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
