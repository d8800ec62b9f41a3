"""What a role may see: the kata, the files within the budget, and a line per commit."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from verdigris.core.errors import UserError
from verdigris.core.languages import DEFAULT_LANGUAGE
from verdigris.core.paths import PathClass
from verdigris.core.value import field, replace, value
from verdigris.languages.registry import language_for

HUGE = 100_000
"""Characters from which on a file is listed only."""

_SECRET = re.compile(
    r"""(?ix)
    (?:.*/)?(?:
        \.env (?:\.(?!(?:example|sample|template|dist|defaults?)\Z)[^/]*)?
      | \.envrc | \.netrc | _netrc | \.npmrc | \.pypirc | \.pgpass | \.htpasswd | \.git-credentials
      | \.docker/config\.json | \.kube/config | \.cargo/credentials(?:\.toml)?
      | \.(?:ssh|aws|azure|gnupg|gcloud)/.*
      | id_(?:rsa|dsa|ecdsa|ed25519)
      | (?:credentials?|secrets?|service[-_]account[^/]*)(?:\.(?:json|ya?ml|toml|ini|txt|env|cfg|conf))?
      | [^/]*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)
    )""",
)

_UNTOLD = re.compile(
    r"""(?x)
    (?:.*/)?(?:
        (?:package-lock|npm-shrinkwrap)\.json | pnpm-lock\.yaml | yarn\.lock | bun\.lockb?
      | Cargo\.lock | poetry\.lock | uv\.lock | Pipfile\.lock | pdm\.lock | go\.sum
      | composer\.lock | Gemfile\.lock
      | [^/]*\.(?:min\.(?:js|css)|map|svg|snap)
      | LICEN[CS]E(?:\.[a-z]+)? | COPYING
      | (?:node_modules|target|dist|build|\.venv|venv|__pycache__)/.*
    )"""
)
"""Files that tools make, or that are the same everywhere: listed, and shown only on request."""


def secret(path: str) -> bool:
    """Whether a file of this name may hold secrets; it is not shown, listed, searched or written."""
    return _SECRET.fullmatch(path) is not None


def worth_telling(path: str, text: str | None) -> bool:
    return text is not None and len(text) <= HUGE and _UNTOLD.fullmatch(path) is None


def as_text(data: bytes) -> str | None:
    """None for what is no text: a model can neither read it nor give it back."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


Tree: TypeAlias = Mapping[str, str | None]
"""Path → text; None for a file that is no text (binary, a link, or too large to hold)."""

BUDGET = 24_000
"""Tokens of a prompt's common part, where nothing else is configured."""
FLOOR = 3_000
"""Below this a role sees too little to do anything sensible."""


@value
class Material:
    """The same for all roles; only facts that are committed, so that no role sees what another thought."""

    kata: str
    classify: Callable[[str], PathClass]
    language: str = DEFAULT_LANGUAGE
    runner: str = ""
    kata_path: str = ""
    files: Tree = field(default_factory=dict)
    """The project as it is committed."""
    ages: Mapping[str, int] = field(default_factory=dict)
    """Path → the number of the commit that changed it last, of those since the machine began; else 0."""
    history: tuple[str, ...] = ()
    """One line a commit since the machine began, the oldest first."""
    tools: tuple[str, ...] = ()
    """The commands that format and check what a role writes."""
    withheld: frozenset[str] = frozenset()
    """Held-out tests: neither shown nor written, also where a name of theirs turns up."""
    budget: int = BUDGET
    own: frozenset[str] = frozenset()
    """Files that the role is to write although they lie where no role writes, as a plan below `.tdd`."""

    @property
    def tree(self) -> Tree:
        return self.open(self.files)

    def open(self, tree: Tree) -> Tree:
        """Leaves out the files that no role may see."""
        return {path: text for path, text in tree.items() if not self.is_closed(path)}

    def is_closed(self, path: str) -> bool:
        """Secrets, held-out tests, and what the machine noted: the plans of the other roles among it."""
        if path in self.own:
            return False
        return secret(path) or path in self.withheld or path.startswith(".tdd/")


def shrunk(material: Material, factor: float = 0.6) -> Material:
    """Shrinks it after a server found a prompt too long; UserError where nothing is left to cut."""
    smaller = int(material.budget * factor)
    if smaller < FLOOR:
        raise UserError(
            f"the model's context is too small: even {material.budget} tokens of kata, files and history are "
            "more than it takes",
            hint="shorten the kata, split large files, or configure a model with a longer context",
        )
    return replace(material, budget=smaller)


def read_imports(path: str, text: str, files: frozenset[str]) -> tuple[str, ...]:
    """Lists imports in the order of the text: files of the project, without the file itself."""
    language = language_for(path)
    found = () if language is None else language.imports.imported_files(path, text, files)
    return tuple(dict.fromkeys(name for name in found if name != path))


def by_weight(tree: Tree, classify: Callable[[str], PathClass], named: Iterable[str]) -> tuple[str, ...]:
    """Texts worth telling: those named, what the tests import, the tests, then the rest from near to far."""
    first = [path for path in named if path in tree]
    tests = sorted(path for path in tree if classify(path) is PathClass.TEST)
    near = [*first, *imports_of(tests, tree), *tests]
    distances = _distances(tree, frozenset(map(posixpath.dirname, near)))
    rest = sorted(tree, key=lambda path: (_rank(path, classify), distances[posixpath.dirname(path)], path))
    ordered = dict.fromkeys((*near, *rest))
    told = (path for path in ordered if classify(path) is not PathClass.SWITCH)
    return tuple(path for path in told if worth_telling(path, tree[path]))


def imports_of(paths: Iterable[str], tree: Tree) -> tuple[str, ...]:
    files = frozenset(tree)
    found = (read_imports(path, tree[path] or "", files) for path in paths if path in tree)
    return tuple(dict.fromkeys(name for names in found for name in names))


def _rank(path: str, classify: Callable[[str], PathClass]) -> int:
    """Source before what describes the project, and that before its other texts."""
    if classify(path) is PathClass.SOURCE:
        return 0
    return 1 if "/" not in path else 2


def _distances(tree: Tree, near: frozenset[str]) -> dict[str, int]:
    """From each folder, steps through the tree to the nearest of those that matter."""
    parts = [folder.split("/") for folder in near]
    folders = frozenset(map(posixpath.dirname, tree))
    return {f: min((_steps(f.split("/"), other) for other in parts), default=0) for f in folders}


def _steps(one: list[str], other: list[str]) -> int:
    common = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        common += 1
    return len(one) + len(other) - 2 * common
