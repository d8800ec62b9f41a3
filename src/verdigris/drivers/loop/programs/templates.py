"""Makes a new program from the strategies that come with the package."""

from __future__ import annotations

from pathlib import Path

from verdigris.core.errors import UserError
from verdigris.drivers.loop.programs.discovery import FOLDER, PROGRAMS

_STRATEGIES = Path(__file__).parents[1] / "strategies"
STRATEGIES = ("test-driven", "ratchet")
_STAYS = "CUSTOMIZE.md"


def new_program(root: Path, name: str, strategy: str) -> tuple[str, ...]:
    """The files that were written; nothing that is there is touched."""
    home = f"{PROGRAMS}/{name}"
    if not name or "/" in name or name.startswith("."):
        raise UserError(f"{name!r} is no name of a program.", hint="letters, digits, `-` and `_`")
    if (root / home).exists() or (root / f"{home}.md").exists():
        raise UserError(
            f"there is a program {name} already.", hint=f"`tdd loop lint {name}` says how it stands"
        )
    written = []
    for source in sorted((_STRATEGIES / strategy).rglob("*.md")):
        inside = source.relative_to(_STRATEGIES / strategy).as_posix()
        text = source.read_text("utf-8").replace("<CUSTOMIZE: the program's name>", name)
        shared = f"{FOLDER}/strategies/{strategy}/{inside}"
        places = [] if inside == "program.md" else [(shared, source.read_text("utf-8"))]
        if inside == "program.md":
            places.append((f"{home}/program.md", text))
        elif inside != _STAYS:
            places.append((f"{home}/strategy/{inside}", text))
        for place, content in places:
            path = root / place
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content, "utf-8")
                written.append(place)
    return tuple(written)
