from __future__ import annotations

from support.cli import Cli
from verdigris.core.records import Actor
from verdigris.storage.project import open_project
from verdigris.turns.rollback import put_back

TEST = "tests/test_add.py"


def test_what_had_to_make_way_is_listed_and_printed(cli: Cli) -> None:
    assert "Verdigris has overwritten nothing" in cli.ok("displaced").out
    project = open_project(cli.repo.root, Actor())
    tree = project.workspace.snapshot()
    for text in ("# first\n", "# second\n"):
        cli.repo.write(TEST, text)
        put_back(project, tree, [TEST], why="drift")
    assert cli.ok("displaced").out.count(TEST) == 2
    assert cli.ok("displaced", TEST).out == "# second\n"
    told = cli.ok("displaced", TEST, "--json").json["displaced"]
    assert [project.workspace.blob_bytes(each["blob"]) for each in told] == [b"# second\n", b"# first\n"]
    missing = cli.tdd("displaced", "calc.py")
    assert (missing.code, missing.out) == (2, "")
