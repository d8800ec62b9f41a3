"""What the documents name exists: files, functions, links, commands with their options, targets of make."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from verdigris.cli.group import tdd
from verdigris.gates.clients.registry import Client
from verdigris.languages.protocol import Language
from verdigris.models.roles import Role
from verdigris.setup.safeguards import SAFEGUARDS

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "verdigris"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
PAST = re.compile(r"^Status: (superseded|replaced)", re.MULTILINE)
"""Decisions that another one took the place of describe what is gone."""
FOLDERS = {path.name for path in PACKAGE.iterdir() if path.is_dir()} - {"__pycache__"}
INNER = [
    page
    for page in PAGES
    if (page.parent == ROOT or page.parent.name == "adr" or page.name == "extending.md")
    and page.name not in {"README.md", "CHANGELOG.md"}
    and not PAST.search(page.read_text())
]
"""Pages about our own code; the others speak of a user's project, where `tests/test_a.py` is an example."""


def test_the_table_of_what_holds_is_the_one_that_doctor_fills_in() -> None:
    rows = [f"| {row.name} | {row.present} | {row.absent} |" for row in SAFEGUARDS]
    table = "\n".join(("| the system has | with it | without it |", "|---|---|---|", *rows, ""))
    assert table in (ROOT / "docs/security.md").read_text()
    assert "security.md#what-holds-on-which-system" in (ROOT / "docs/sandbox.md").read_text()


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _code(page: Path) -> Iterator[str]:
    """Every piece of code in a line of prose."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    yield from re.findall(r"`([^`\n]+)`", prose)


def _spellings(word: str) -> list[str]:
    """`a/{b,c}.py` names two files."""
    choice = re.search(r"\{([^}]*)\}", word)
    if choice is None:
        return [word]
    return [word.replace(choice[0], each.strip()) for each in choice[1].split(",")]


@cache
def _our_files() -> list[Path]:
    return [path for top in ("src", "tests", "benchmarks", "redteam") for path in (ROOT / top).rglob("*.py")]


def _holds(word: str) -> bool:
    """Whether a word names a file or folder of ours, or, behind a dot, something that a module defines."""
    homes = (ROOT, PACKAGE, PACKAGE.parent, PACKAGE / "runners" / "reporter")
    if any((home / word).exists() or (home / f"{word}.py").exists() for home in homes):
        return True
    module, dot, name = word.rpartition(".")
    files = [home / spelling for home in homes for spelling in (f"{module}.py", f"{module}/__init__.py")]
    found = next((path for path in files if path.exists()), None)
    if not dot or found is None:
        return False
    return (
        re.search(rf"^(def {name}\(|class {name}\b|{name}\b.*=)", found.read_text(), re.MULTILINE) is not None
    )


@pytest.mark.parametrize("page", INNER, ids=_name)
def test_modules_and_functions_that_a_page_names_exist(page: Path) -> None:
    tops = {*FOLDERS, "verdigris", "verdigris_reporter", "src", "tests", "docs", "benchmarks", "redteam"}
    missing = []
    for code in _code(page):
        for word in _spellings(code):
            if "<" in word or "*" in word or not re.fullmatch(r"[\w./-]+", word):
                continue
            if "/" in word and word.split("/")[0] in tops:
                if not _holds(word.rstrip("/")):
                    missing.append(word)
            elif re.fullmatch(r"[a-z_/]+\.py", word) and not any(
                path.as_posix().endswith(f"/{word}") for path in _our_files()
            ):
                missing.append(word)
    assert missing == [], f"{_name(page)} names what is not there: correct the page"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_relative_links_lead_to_pages_and_headings(page: Path) -> None:
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        leads_to = page.parent / path if path else page
        if not leads_to.exists():
            dead.append(target)
        elif anchor:
            headings = re.findall(r"^#+ (.*)$", leads_to.read_text(), re.MULTILINE)
            if anchor not in map(_anchor, headings):
                dead.append(target)
    assert dead == [], f"{_name(page)} links to what is not there: correct the page"


def _calls(page: Path) -> Iterator[list[str]]:
    """Every `tdd …` of a page that is code, word by word."""
    text = page.read_text()
    fenced = re.findall(r"^```(?:sh|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.removeprefix("$ ") for block in fenced for line in block.splitlines()]
    for code in [*lines, *_code(page)]:
        if code.startswith("tdd "):
            yield re.split(r"\s[#;&|]+\s|\s--\s", code)[0].split()[1:]


def _unknown(words: list[str]) -> str | None:
    """What of a call no command knows."""
    command: click.Command = tdd
    for place, word in enumerate(words):
        if not isinstance(command, click.Group) or not re.fullmatch(r"[a-z][a-z-]*", word):
            words = words[place:]
            break
        found = command.get_command(click.Context(tdd), word)
        if found is None:
            return word
        command = found
    options = {spelling for option in command.params for spelling in option.opts} | {"--help", "--version"}
    asked = re.findall(r"(?<![\w-])--[a-z][a-z-]*", " ".join(words))
    return next((option for option in asked if option not in options), None)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_commands_and_options_that_a_page_names_exist(page: Path) -> None:
    assert [" ".join(["tdd", *words]) for words in _calls(page) if _unknown(words)] == []


def test_the_map_of_the_architecture_has_every_folder() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    described = set(re.findall(r"^ (\w+)/ ", text.split("```")[1], re.MULTILINE))
    assert described == FOLDERS - {"kernel"}, "`kernel/` is a bridge for launchers of older versions"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_targets_of_make_that_a_page_names_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        word
        for code in _code(page)
        if code.startswith("make ")
        for word in code.split()[1:]
        if re.fullmatch(r"[a-z]+", word)
    }
    examples = {"db"}
    assert named - examples <= targets


@pytest.mark.parametrize(
    ("section", "seam"), [("A language", Language), ("A coding agent", Client), ("A role, a driver", Role)]
)
def test_the_tables_of_a_seam_name_what_its_protocol_has(section: str, seam: type) -> None:
    text = (ROOT / "docs" / "extending.md").read_text().split(f"## {section}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z]\w*)(?:\(.*?)?`", row)}
    assert named, "the section has a table"
    assert named - set(dir(seam)) - set(seam.__annotations__) == set()
