"""What was confined once never runs unconfined because of an error."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator

import pytest

from support.cage import Done, as_nobody
from support.shelled import Shelled, shell_of
from verdigris.core.events import WeakerAccepted
from verdigris.gates.agent_shell.confinement import NAME
from verdigris.sandbox import strength

NONE_LEFT = "echo 0 > /proc/sys/user/max_user_namespaces; echo 0 > /proc/sys/user/max_mnt_namespaces"
NEW_CARD = "mkdir -p .git/worktrees/ghost; rmdir .git/worktrees/ghost"
HOLD = "mount --bind {0} {0} && mount -o remount,bind,ro {0}"


@pytest.fixture(params=["root", "user"])
def one(request: pytest.FixtureRequest) -> Iterator[Shelled]:
    yield from shell_of(request.param)


def apart(shell: Shelled, *lines: str) -> Done:
    """A person's terminal in namespaces of its own, whose limits and mounts are nobody else's."""
    user = as_nobody() if shell.plain_user else ()
    script = "\n".join(lines)
    done = subprocess.run(
        [*user, "unshare", "-Urm", "bash", "-c", script],
        cwd=shell.root,
        env=shell.environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def prefixed(shell: Shelled, command: str) -> str:
    place = [*shell.argv(command)]
    return shlex.join(place[len(as_nobody()) :] if shell.plain_user else place)


def owned(shell: Shelled) -> str:
    return f"echo owned > {shell.folder}/home/.bashrc; echo ran"


def test_when_no_namespace_is_left_nothing_runs(one: Shelled) -> None:
    done = apart(
        one, prefixed(one, "echo first"), NONE_LEFT, NEW_CARD, prefixed(one, owned(one)), "echo =$?="
    )
    assert done.out == "first\n=126=\n", done
    assert strength.ACCEPT in done.err
    assert not (one.folder / "home/.bashrc").exists()


def test_a_run_that_was_confined_once_is_not_made_unconfined(one: Shelled) -> None:
    (one.root / "tests/test_evil.py").write_text(
        f"def test_evil():\n    open('{one.folder}/home/.bashrc', 'w').write('owned')\n"
    )
    one.own()
    tdd = f"{one.folder}/bin/tdd"
    run = f"{tdd} test tests/test_evil.py > /dev/null 2>&1"
    done = apart(one, run, NONE_LEFT, run, run, f"{tdd} test tests/test_evil.py", "echo =$?=")
    assert done.out == "=69=\n", done
    assert strength.ACCEPT in done.err
    assert not (one.folder / "home/.bashrc").exists()


def test_an_interpreter_that_cannot_be_asked_is_not_taken_for_a_missing_one(one: Shelled) -> None:
    tdd, known = f"{one.folder}/bin/tdd", shlex.quote(str(one.private / "interpreters.json"))
    done = apart(one, f"{tdd} test > /dev/null", NONE_LEFT, f"rm {known}", f"{tdd} test", "echo =$?=")
    assert done.out == "=69=\n", done
    assert strength.ACCEPT in done.err


def test_a_person_may_accept_it_and_no_agent(one: Shelled) -> None:
    tdd = f"{one.folder}/bin/tdd"
    asked = [f"tdd doctor --accept-weaker{word} >/dev/null 2>&1; echo $?" for word in (" why", "=why")]
    done = apart(
        one,
        prefixed(one, "\n".join(asked)),
        NONE_LEFT,
        f"{tdd} doctor | grep -c 'fail confined'",
        f"{tdd} doctor --accept-weaker '' > /dev/null 2>&1; echo =$?=",
        f"{tdd} doctor --accept-weaker 'a new container' | grep -c 'fail confined'",
        prefixed(one, "echo ran"),
    )
    assert done.out == "3\n3\n1\n=2=\n0\nran\n", done
    (accepted,) = one.world.events(WeakerAccepted)
    assert isinstance(accepted, WeakerAccepted)
    ways = dict.fromkeys(("shell", "processes", "run", "network", "table"), "")
    assert (dict(accepted.ways), accepted.why) == (ways, "a new container")
    (one.private / NAME).unlink()
    assert "Read-only" in one.run("touch tdd.yaml").err, "what can be confined again is"


def test_a_private_folder_that_cannot_be_written_is_no_sandbox(one: Shelled) -> None:
    control = shlex.quote(str(one.world.project.repo.control))
    done = apart(one, HOLD.format(control), prefixed(one, owned(one)), "echo =$?=")
    assert done.out == "=126=\n", done
    assert not (one.folder / "home/.bashrc").exists()


def test_a_private_folder_that_is_gone_is_no_sandbox(one: Shelled) -> None:
    one.run("true")
    one.private.rename(one.private.with_name("away"))
    done = one.run(owned(one))
    assert done.out in {"", "ran\n"}, done
    assert not (one.folder / "home/.bashrc").exists()


def test_a_shell_inside_a_shell_is_confined_already(one: Shelled) -> None:
    assert one.run(prefixed(one, "echo inner; touch tdd.yaml")).out == "inner\n"
