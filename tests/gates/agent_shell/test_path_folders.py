"""An active environment of the worktree can be installed into; what a person types stays what it was."""

from __future__ import annotations

import os
import subprocess
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cage import Done
from support.shelled import Shelled, case, shelled
from verdigris.storage.calls.path_folders import PathFolders, guarded_files

WHEEL = "greet-1-py3-none-any.whl"
CONTENTS = {
    "greet.py": "def main():\n    print('hello')\n",
    "greet-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: greet\nVersion: 1\n",
    "greet-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "greet-1.dist-info/entry_points.txt": "[console_scripts]\ngreet = greet:main\n",
    "greet-1.dist-info/RECORD": "greet.py,,\ngreet-1.dist-info/METADATA,,\ngreet-1.dist-info/WHEEL,,\n"
    "greet-1.dist-info/entry_points.txt,,\ngreet-1.dist-info/RECORD,,\n",
}


@pytest.fixture(scope="module", params=["root", "user"])
def active(request: pytest.FixtureRequest) -> Iterator[Shelled]:
    plain_user, why = case(request.param)
    if why:
        pytest.skip(f"not possible here: {why}")
    with shelled(plain_user=plain_user, **{".gitignore": ".venv/\n"}) as made:
        subprocess.run([made.python, "-m", "venv", made.root / ".venv"], check=True)
        with zipfile.ZipFile(made.root / WHEEL, "w") as wheel:
            for name, text in CONTENTS.items():
                wheel.writestr(name, text)
        made.own()
        yield made


def run(shell: Shelled, command: str) -> Done:
    path = f"{shell.root}/.venv/bin:{shell.environment['PATH']}"
    return shell.run(command, env={"PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})


def test_a_package_with_a_script_is_installed_upgraded_and_removed(active: Shelled) -> None:
    done = run(active, f"pip install -q --no-index {WHEEL} && greet")
    assert (done.code, done.out, done.err) == (0, "hello\n", "")
    done = run(
        active, f"pip install -q --no-index --force-reinstall {WHEEL} && greet && pip uninstall -qy greet"
    )
    assert (done.code, done.out, done.err) == (0, "hello\n", "")
    assert not (active.root / ".venv/bin/greet").exists()


@pytest.mark.parametrize("name", ["git", "ls", "tdd"])
def test_a_new_program_does_not_take_the_place_of_a_persons(active: Shelled, name: str) -> None:
    place = active.root / ".venv/bin" / name
    done = run(active, f"printf '#!/bin/sh\\n' > .venv/bin/{name}; chmod +x .venv/bin/{name}")
    assert not os.path.lexists(place)
    assert f"[tdd] {place} was removed" in done.err
    assert "next: " in done.err


def test_a_link_does_not_take_the_place_of_a_persons_either(active: Shelled) -> None:
    done = run(active, "ln -s ../../notes.txt .venv/bin/git; chmod +x notes.txt")
    assert not os.path.lexists(active.root / ".venv/bin/git")
    assert "was removed" in done.err


def test_the_interpreter_is_put_back(active: Shelled) -> None:
    place = active.root / ".venv/bin/python3"
    led = place.readlink()
    done = run(active, "ln -sf /bin/true .venv/bin/python3")
    assert place.readlink() == led
    assert f"[tdd] {place} was put back" in done.err
    run(active, "rm .venv/bin/python3")
    assert place.readlink() == led
    run(active, "rm .venv/bin/python3; cp /bin/true .venv/bin/python3")
    assert place.readlink() == led


def test_what_a_persons_shell_sources_stays(active: Shelled) -> None:
    before = (active.root / ".venv/bin/activate").read_bytes()
    done = run(
        active, "echo evil >> .venv/bin/activate; mv .venv .v; mv .venv/bin .venv/b; rm -f .venv/bin/activate"
    )
    assert done.code != 0
    assert (active.root / ".venv/bin/activate").read_bytes() == before


def test_a_process_left_behind_writes_nothing_there(active: Shelled) -> None:
    run(active, "(sleep 1; echo x > .venv/bin/git; touch ended) >/dev/null 2>&1 & echo $!")
    deadline = time.monotonic() + 30
    while not (active.root / "ended").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not (active.root / ".venv/bin/git").exists()
    run(active, "rm ended")


def test_a_tool_in_python_may_lie_in_both_places(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "usr"
    for folder in (root / "bin", elsewhere):
        folder.mkdir(parents=True)
    _program(elsewhere / "pytest", "#!/usr/bin/python3\n")
    _program(elsewhere / "node", "\x7fELF")
    folders = PathFolders(str(root), f"{root}/bin:{elsewhere}", [f"{root}/bin"])
    _program(root / "bin/pytest", "#!/bin/sh\n")
    _program(root / "bin/node", "#!/bin/sh\n")
    assert [line.partition(" ")[0] for line in folders.tidy()] == [f"{root}/bin/node"]
    assert (root / "bin/pytest").exists()


def test_a_persons_own_program_there_cannot_be_written(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "usr"
    for folder in (root / "bin", elsewhere):
        folder.mkdir(parents=True)
    for place in (root / "bin", elsewhere):
        _program(place / "node", "\x7fELF")
    _program(root / "bin/own", "#!/bin/sh\n")
    assert guarded_files([f"{root}/bin"], {"PATH": f"{root}/bin:{elsewhere}"}) == [f"{root}/bin/node"]


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
