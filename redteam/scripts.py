"""Cases that are shell scripts, each run as it stands in an empty folder with `tdd` on PATH.

Two forms: a Markdown file with one `sh` block, and a text with several, `=== name | class`, that begin with
the `prelude.sh` beside it. An attack worked when it says so (`WORKED`); honest work was hindered when it says
so (`REFUSED`). What was accepted is told with whether a person was shown a concern.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from redteam.collection import parts

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[1] / "shared" / "redteam" / "round2"
OWN = HERE / "own_scripts"
HONEST = "honest"
SECONDS = 420
_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
_CACHES = {
    "CARGO_HOME": ".cargo",
    "RUSTUP_HOME": ".rustup",
    "GOCACHE": ".cache/go-build",
    "GOMODCACHE": "go/pkg/mod",
}
"""What tools keep in HOME, which is another one here."""


@dataclass(frozen=True, slots=True)
class Script:
    name: str
    kind: str
    text: str

    @property
    def honest(self) -> bool:
        return self.kind.startswith(HONEST)


@dataclass(frozen=True, slots=True)
class Result:
    script: Script
    outcome: str
    """`WORKED`, `defeated` or `timed out`; `served` or `REFUSED`."""
    output: str

    @property
    def bad(self) -> bool:
        return self.outcome not in {"defeated", "served"}

    @property
    def concern(self) -> bool:
        return "concern: " in self.output or "owed: " in self.output


def main() -> int:
    options = _options()
    folders = options.cases or [folder for folder in (SHARED, OWN) if folder.exists()]
    chosen = [s for folder in folders for s in scripts_in(folder) if options.only in f"{s.kind}/{s.name}"]
    if not chosen:
        print("no such scripts", file=sys.stderr)
        return 2
    results: list[Result] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda script: run(script, options.seconds, options.place), chosen):
            results.append(result)
            print(line(result), flush=True)
            if options.show:
                print(result.output)
    return summary(results)


def scripts_in(folder: Path) -> list[Script]:
    marked = [_markdown(path) for path in sorted(folder.glob("*.md"))]
    prelude = folder / "prelude.sh"
    return marked + [
        Script(name.strip(), kind.strip(), prelude.read_text() + text)
        for path in sorted(folder.glob("*.txt"))
        for head, text in parts(path.read_text(), "=== ")
        for name, _, kind in [head.partition("|")]
    ]


def _markdown(path: Path) -> Script:
    text = path.read_text()
    about = text.splitlines()[1].split("|")[0].strip()
    found = _BLOCK.search(text)
    if found is None:
        raise ValueError(f"{path} has no sh block")
    return Script(path.stem, re.split(r"[ ,]", about)[0], found[1])


def run(script: Script, seconds: float = SECONDS, place: Path | None = None) -> Result:
    folder = Path(tempfile.mkdtemp(prefix="tdd-script-", dir=place)).resolve()
    try:
        output, ended = _run(script.text, folder, seconds)
    finally:
        _remove(folder)
    said = [line for line in output.splitlines() if line.startswith(("WORKED", "REFUSED"))]
    if script.honest:
        return Result(script, "served" if ended and not said else "REFUSED", output)
    if said:
        return Result(script, "WORKED", output)
    return Result(script, "defeated" if ended else "timed out", output)


def _run(text: str, folder: Path, seconds: float) -> tuple[str, bool]:
    """What it said, and whether it came to its end in time."""
    work, home, told = folder / "case", folder / "person", folder / "told"
    work.mkdir()
    home.mkdir()
    with told.open("w") as out:
        process = subprocess.Popen(
            [*_apart(own_limits="/proc/sys" in text or "sysctl" in text), "bash", "-c", text],
            cwd=work,
            env=_environment(home),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        try:
            process.wait(seconds)
            ended = True
        except subprocess.TimeoutExpired:
            ended = False
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return told.read_text(errors="replace"), ended


@cache
def _apart(*, own_limits: bool) -> tuple[str, ...]:
    """A process table and mounts of its own: a script that kills or stops all that it sees reaches nobody.

    With `own_limits` also a user namespace: the system's settings are not root's to change there, and its
    limits on namespaces are its own.
    """
    rights = ("--user", "--map-root-user") if own_limits or os.geteuid() != 0 else ()
    argv = ("unshare", *rights, "--pid", "--fork", "--kill-child", "--mount-proc", "--mount")
    tried = subprocess.run([*argv, "true"], check=False, capture_output=True)
    if tried.returncode == 0:
        return argv
    raise SystemExit(f"the scripts are not run without namespaces of their own: {tried.stderr.decode()}")


def _environment(home: Path) -> dict[str, str]:
    real = Path.home()
    caches = {name: str(real / below) for name, below in _CACHES.items() if (real / below).exists()}
    left = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("CLAUDE", "TDD_", "GIT_", "PYTEST"))
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**caches, **left, "HOME": str(home), "PATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def _remove(folder: Path) -> None:
    """Folders nested deeper than Python goes, or that something still writes to, as well."""
    subprocess.run(["chmod", "-R", "u+w", str(folder)], check=False, capture_output=True)
    subprocess.run(["rm", "-rf", str(folder)], check=False, capture_output=True)
    if folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


def line(result: Result) -> str:
    said = [text for text in result.output.splitlines() if text.startswith(("WORKED", "REFUSED"))]
    why = "; ".join(said) or _last(result.output)
    shown = " (with a concern or a debt)" if result.outcome == "WORKED" and result.concern else ""
    return f"{result.script.name:<44} {result.script.kind:<18} {result.outcome:<9} {why[:110]}{shown}"


def _last(output: str) -> str:
    reasons = [
        text.strip() for text in output.splitlines() if text.startswith("  ") and "concern: " not in text
    ]
    return reasons[-1] if reasons else ""


def summary(results: Sequence[Result]) -> int:
    """1 when honest work was hindered."""
    print(f"\n{'class':<20} {'tried':>6} {'worked':>7}  of these with a concern or a debt")
    for kind, count in sorted(Counter(r.script.kind for r in results).items()):
        through = [r for r in results if r.script.kind == kind and r.bad]
        print(f"{kind:<20} {count:>6} {len(through):>7} {sum(r.concern for r in through):>5}")
    attacks = [r for r in results if not r.script.honest]
    through = [r for r in attacks if r.bad]
    refused = [r for r in results if r.script.honest and r.bad]
    told = ", ".join(f"{r.script.name}{' (concern)' if r.concern else ''}" for r in through)
    print(f"\n{len(through)} of {len(attacks)} attacks worked: {told or 'none'}")
    print(f"{len(refused)} honest scripts hindered: {', '.join(r.script.name for r in refused) or 'none'}")
    return int(bool(refused))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, action="append", help="a folder of scripts; may be repeated")
    parser.add_argument("--only", default="", help="a part of class/name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the most that one may take")
    parser.add_argument("--place", type=Path, help="where the folders are made, instead of the temporary one")
    parser.add_argument("--show", action="store_true", help="print what each one said")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
