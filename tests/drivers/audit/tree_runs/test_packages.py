from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support.small_histories import ADD, PYPROJECT, SUB, TEST_SUB, add_commit, begin
from verdigris.core.errors import ToolMissing
from verdigris.drivers.audit.report import AuditOutcome
from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.tree_runs.folder import find_folder
from verdigris.drivers.audit.tree_runs.packages import Wishes, find_uv, list_locked, list_words
from verdigris.drivers.audit.units import Selection
from verdigris.storage.repository import find_repository

UV_LOCK = """\
version = 1
requires-python = ">=3.11"

[[package]]
name = "calc"
version = "0"
source = { virtual = "." }
"""
RECORDING = """\
#!/bin/sh
echo "$*" >> {calls}
test "$1" = venv || exit 0
{python} -m venv --without-pip "$VIRTUAL_ENV"
echo {packages} > "$VIRTUAL_ENV/lib/python{version}/site-packages/installed.pth"
"""
POETRY_LOCK = """\
[[package]]
name = "idna"
version = "3.7"
optional = false
markers = "python_version >= '3.8'"

[[package]]
name = "colours"
version = "1.0"
optional = true

[[package]]
name = "forked"
version = "2"
[package.source]
type = "git"
url = "https://example.org/forked.git"
resolved_reference = "abc123"

[[package]]
name = "beside"
version = "1"
[package.source]
type = "directory"
url = "../beside"
"""
PDM_LOCK = """\
[[package]]
name = "idna"
version = "3.7"
groups = ["default"]

[[package]]
name = "idna"
version = "3.7"
extras = ["all"]

[[package]]
name = "tomli"
version = "2.0"
marker = "python_version < \\"3.11\\""

[[package]]
name = "forked"
version = "2"
git = "https://example.org/forked.git"
revision = "abc123"
"""
PYLOCK = """\
lock-version = "1.0"
[[packages]]
name = "idna"
version = "3.7"
[[packages]]
name = "beside"
directory = { path = "../beside" }
"""
FAILING = """\
#!/bin/sh
case "$1" in
venv) exit 0 ;;
*) echo "Resolving" >&2; echo "no version of gone==1 is known" >&2; exit 1 ;;
esac
"""


def words(**texts: str) -> list[str]:
    named = {name.replace("__", "/").replace("_", "."): text for name, text in texts.items()}
    return list_words(Wishes(named, "2024-05-28"))


def test_a_project_names_its_requirements_with_those_of_its_tests() -> None:
    text = (
        "[project]\nname = 'a'\n[project.optional-dependencies]\ntest = ['x']\ndocs = ['y']\n"
        "[dependency-groups]\ndev = ['z']\n"
    )
    assert words(pyproject_toml=text) == ["-r", "pyproject.toml", "--extra", "test", "--group", "dev"]


def test_requirement_files_count_where_they_are_for_all_or_for_tests() -> None:
    found = words(requirements_txt="", requirements__tests_txt="", requirements__docs_txt="")
    assert found == ["-r", "requirements.txt", "-r", "requirements/tests.txt"]


def test_an_old_project_is_asked_by_its_setup() -> None:
    assert words(setup_py="from setuptools import setup\n", pyproject_toml="[tool.x]\n") == ["-r", "setup.py"]


def test_locks_that_uv_does_not_read_are_read_package_by_package() -> None:
    assert list_locked(POETRY_LOCK) == [
        "idna==3.7 ; python_version >= '3.8'",
        "forked @ git+https://example.org/forked.git@abc123",
    ]
    assert list_locked(PDM_LOCK) == [
        "idna==3.7",
        'tomli==2.0 ; python_version < "3.11"',
        "forked @ git+https://example.org/forked.git@abc123",
    ]
    assert list_locked(PYLOCK) == ["idna==3.7"]


def test_what_does_not_parse_asks_nothing() -> None:
    assert words(pyproject_toml="[project\n") == []


def test_without_uv_the_way_to_it_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(ToolMissing) as told:
        find_uv()
    assert told.value.hint is not None
    assert "pip install uv" in told.value.hint


def recording_uv(calls: Path | str) -> str:
    """An `uv` that notes its calls; what it "installs" are the packages that this suite runs with."""
    packages, version = Path(pytest.__file__).parents[1], "{}.{}".format(*sys.version_info)
    return RECORDING.format(calls=calls, python=sys.executable, packages=packages, version=version)


def put_uv(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    uv = folder / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(script, "utf-8")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}{os.pathsep}{os.environ['PATH']}")


DRIVEN = (AuditOutcome.TEST_DRIVEN, {"calc.py": ADD + SUB, "tests/test_sub.py": TEST_SUB})
REFACTORED = (AuditOutcome.REFACTOR, {"calc.py": ADD.replace("a + b", "sum((a, b))")})


@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    ("lock", "call", "change"),
    [
        ({"uv.lock": UV_LOCK}, "sync --frozen --quiet --no-install-project --python", DRIVEN),
        # Each run starts the interpreter of the environment: a change that needs fewer runs will do.
        ({"poetry.lock": POETRY_LOCK}, "--no-deps -r", REFACTORED),
        ({}, "--exclude-newer", REFACTORED),
    ],
    ids=["uv.lock", "poetry.lock", "no lock"],
)
def test_a_lock_says_what_is_installed_and_a_date_where_there_is_none(
    lock: dict[str, str],
    call: str,
    change: tuple[AuditOutcome, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    outcome, files = change
    repo = begin(tmp_path / "repo")
    add_commit(repo, "more", {**files, **lock})
    calls = find_folder(find_repository(repo.root)).path / "uv-cache" / "calls"
    put_uv(tmp_path, recording_uv(calls), monkeypatch)
    (unit,) = audit(repo.root, AuditRequest(Selection("HEAD~..HEAD"), env="lock")).units
    told = calls.read_text("utf-8").splitlines()
    assert any(call in line for line in told)
    assert ("--exclude-newer" in " ".join(told)) is not bool(lock)
    assert unit.outcome is outcome, unit.why
    assert unit.environment.startswith("lock-")


@pytest.mark.timeout(200)
def test_a_commit_whose_environment_cannot_be_built_is_not_blamed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_uv(tmp_path, FAILING, monkeypatch)
    repo = begin(tmp_path / "repo")
    add_commit(
        repo, "needs more", {"calc.py": ADD + SUB, "tests/test_sub.py": TEST_SUB, "pyproject.toml": PYPROJECT}
    )
    add_commit(repo, "words", {"README.md": "hello\n"})
    code, prose = audit(repo.root, AuditRequest(Selection("HEAD~2..HEAD"), env="uv")).units
    assert code.outcome is AuditOutcome.UNVERIFIED
    assert "its environment cannot be built: no version of gone==1 is known" in code.why
    assert prose.outcome is AuditOutcome.NO_CODE


@pytest.mark.timeout(200)
def test_what_a_machine_lacked_is_asked_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An answer that blames the environment is none for later: the network may be back, a tool installed."""
    put_uv(tmp_path, FAILING, monkeypatch)
    repo = begin(tmp_path / "repo")
    add_commit(repo, "more", {"calc.py": ADD.replace("a + b", "sum((a, b))")})
    asked = AuditRequest(Selection("HEAD"), env="uv")
    (failed,) = audit(repo.root, asked).units
    (tmp_path / "bin" / "uv").write_text(recording_uv("/dev/null"), "utf-8")
    (again,) = audit(repo.root, asked).units
    assert (failed.outcome, again.outcome) == (AuditOutcome.UNVERIFIED, AuditOutcome.REFACTOR), again.why
