"""A kata scaffolded by the real `tdd init`, and run by the real `tdd run` on a scripted model."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from support.cli import Cli, Ran
from support.gitrepo import GitRepo
from support.katas import recorded_run
from support.katas.script import Script, served
from support.openai_server import serving
from verdigris.models.roles.teams import MACHINE

STRING_CALCULATOR = recorded_run.KATA
BOWLING_GAME = Path(__file__).with_name("bowling_game.md")


@dataclass(frozen=True, slots=True)
class Scaffolded:
    cli: Cli

    @property
    def repo(self) -> GitRepo:
        return self.cli.repo

    def tdd(self, *words: str) -> Ran:
        """Run `tdd` with this interpreter first on PATH, and with the machine's tool chains."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        tools = {"CARGO_HOME": _own("CARGO_HOME", ".cargo"), "RUSTUP_HOME": _own("RUSTUP_HOME", ".rustup")}
        cache = {"XDG_CACHE_HOME": str(self.repo.home / "cache")}
        return self.cli.tdd(*words, env={"PATH": path, **tools, **cache})

    def play(self, script: Script, steps: int) -> Ran:
        """Run `tdd run` with all roles played by the model; the configuration is committed first, as a user
        does.
        """
        with serving(served(script)) as server:
            players = "".join(
                f"  {role}: {{model: scripted, base_url: {server.url}}}\n" for role in MACHINE.names
            )
            with (self.repo.root / "tdd.yaml").open("a") as file:
                file.write(f"roles:\n{players}")
            self.repo.commit("chore: who plays")
            return self.tdd("run", "--steps", str(steps))

    def subjects(self) -> list[str]:
        return self.repo.git("log", "--reverse", "--format=%s").splitlines()


def scaffold(folder: Path, language: str, kata: Path, packages: Path | None = None) -> Scaffolded:
    """`packages`: projects whose node_modules replaces `npm install`."""
    root, home = folder / "project", folder / "home"
    root.mkdir()
    home.mkdir()
    made = Scaffolded(Cli(GitRepo(root, home)))
    ran = made.tdd("init", "--lang", language, "--kata", str(kata))
    assert ran.code == 0, ran
    if packages is not None:
        (root / "node_modules").symlink_to(packages / "node_modules")
    return made


def _own(name: str, usual: str) -> str:
    """Keep the tool chain of the real HOME; tests have another HOME."""
    return os.environ.get(name) or str(Path(_home(), usual))


def _home() -> str:
    import pwd

    return pwd.getpwuid(os.getuid()).pw_dir


def has(*programs: str) -> bool:
    return all(shutil.which(program) for program in programs)
