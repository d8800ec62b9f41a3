from __future__ import annotations

from typing import Any

import pytest

from support.cage import Cage
from verdigris.core.paths import PathClass
from verdigris.sandbox.written_paths import report

FILES = ("src/a.py", "src/b.py", "src/sub/c.py", "tests/test_a.py", "docs/x.md", "tdd.yaml")


def classify(path: str) -> PathClass:
    if path == "tdd.yaml":
        return PathClass.SWITCH
    return {"src": PathClass.SOURCE, "tests": PathClass.TEST}.get(path.partition("/")[0], PathClass.OTHER)


def after(caged: Cage, command: str, **fields: Any) -> tuple[str, ...]:
    for path in FILES:
        if not (caged.root / path).exists():
            caged.write(f"root/{path}", f"{path}\n")
    done = caged.run("sh", "-ec", command, **fields)
    assert done.code == 0, done.err
    return report(caged.confinement(**fields), classify)


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("true", ()),
        ("echo x > src/a.py", ("src/a.py",)),
        ("echo x > src/new.py; echo x > docs/x.md; echo x > notes", ("src/new.py",)),
        ("rm tests/test_a.py docs/x.md", ("tests/test_a.py",)),
        ("rm -r src/sub", ("src/sub/c.py",)),
        ("rm -r src; mkdir src; echo x > src/a.py", ("src/a.py", "src/b.py", "src/sub/c.py")),
        ("rm -r src; echo x > src", ("src", "src/a.py", "src/b.py", "src/sub/c.py")),
        ("rm src/a.py; mkdir src/a.py", ("src/a.py",)),
        ("rm src/a.py; ln -s b.py src/a.py", ("src/a.py",)),
        ("mv src/a.py src/z.py", ("src/a.py", "src/z.py")),
        ("chmod +x src/a.py", ("src/a.py",)),
        ("touch src/a.py; : >> src/b.py", ()),
        ("mkdir src/empty", ()),
        ("mkdir src/__pycache__; : > src/__pycache__/a.pyc; : > src/old.pyc", ()),
        ("mkdir -p .git/tdd; : > .git/tdd/events.jsonl; : > .git/index", (".git/tdd/events.jsonl",)),
        ("mkdir -p .git/hooks; : > .git/hooks/pre-commit", (".git/hooks/pre-commit",)),
        (
            "mkdir tests/.hypothesis; : > tests/.hypothesis/x; : > tests/.coverage; : > tests/.coverage.a.1",
            (),
        ),
        ("rm tdd.yaml", ("tdd.yaml",)),
        ("echo x > src/sub/c.py; chmod 000 src/sub src", ("src/sub/c.py",)),
    ],
)
def test_what_the_run_wrote(one: Cage, command: str, paths: tuple[str, ...]) -> None:
    assert after(one, command) == paths


def test_what_it_put_in_the_place_of_a_folder(caged: Cage) -> None:
    """Written down differently as root and as a plain user."""
    command = "rm -r src; mkdir src; echo x > src/a.py; rm tests/test_a.py"
    assert after(caged, command) == ("src/a.py", "src/b.py", "src/sub/c.py", "tests/test_a.py")


def test_what_we_removed_is_not_the_runs(caged: Cage) -> None:
    removed = ("tests", "src/sub/c.py", "src/never.py")
    assert after(caged, "true", removed=removed) == ()


def test_what_it_puts_where_we_removed_is(caged: Cage) -> None:
    caged.write("root/tests/test_b.py")
    done = after(
        caged, "mkdir tests; echo x > tests/test_a.py; echo x > src/a.py", removed=("tests", "src/a.py")
    )
    assert done == ("src/a.py", "tests/test_a.py")


def test_what_was_laid_is_not_the_runs_until_it_changes_it(caged: Cage) -> None:
    caged.write("laid/tests/test_a.py", "laid\n")
    caged.write("laid/tests/test_new.py", "laid\n")
    laid = (str(caged.folder / "laid"),)
    assert after(caged, "touch tests/test_a.py", laid=laid) == ()
    assert after(caged, "echo x > tests/test_a.py; rm tests/test_new.py", laid=laid) == (
        "tests/test_a.py",
        "tests/test_new.py",
    )


def test_a_plain_user_reads_what_a_run_has_closed(caged: Cage) -> None:
    if not caged.plain_user:
        return
    after(caged, "echo x > src/sub/c.py; chmod 000 src/sub/c.py src/sub src")
    code = """
import sys
from verdigris.core.paths import PathClass
from verdigris.sandbox.confinement import Confinement
from verdigris.sandbox.written_paths import report
folder = sys.argv[1]
print(report(Confinement(f"{folder}/root", f"{folder}/upper", f"{folder}/work"), lambda _: PathClass.SOURCE))
"""
    assert caged.unconfined(code, str(caged.folder)).stdout == "('src/sub/c.py',)\n"


@pytest.mark.parametrize("control", ["root/.git/tdd", "outside/main/.git/tdd"])
def test_what_it_wrote_into_a_decoy(caged: Cage, control: str) -> None:
    """The real folder is neither read nor written, wherever it lies."""
    log = caged.write(f"{control}/log/events", "secret\n")
    decoy = caged.write("decoy/.keep", "").parent
    (decoy / ".keep").unlink()
    decoys = ((str(decoy), str(caged.folder / control)),)
    command = f"ls {caged.folder / control}; mkdir {log.parent}; echo forged > {log}"
    done = caged.run("sh", "-ec", command, decoys=decoys)
    assert (done.code, done.out) == (0, ""), done.err
    assert log.read_text() == "secret\n"
    assert report(caged.confinement(decoys=decoys), classify) == (".git/tdd/log/events",)
