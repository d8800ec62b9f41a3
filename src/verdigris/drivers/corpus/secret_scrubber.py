"""Takes secrets out of a corpus: a library finds them, and they are replaced in every text."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

from verdigris.core.errors import ToolMissing
from verdigris.core.value import replace, value
from verdigris.drivers.corpus.contents import CorpusContents, temporary_folder
from verdigris.drivers.corpus.session_source import Trajectory
from verdigris.drivers.corpus.triple import Triple
from verdigris.models.protocol import Message

_UNUSED = frozenset({"Hex High Entropy String", "Public IP (ipv4)"})
"""Quoted hashes are what tests of hashes expect, and a public address is public."""
_TOKEN = r"[A-Za-z0-9_+/=-]*"  # noqa: S105 - a pattern
_GLOBAL = 8
"""A secret of so many characters, with a digit, is replaced everywhere; any other only on its line."""
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")
_KEY_ENDS = re.compile(r"-----END [A-Z ]*PRIVATE KEY")
_KEY_TEXT = re.compile(r"[A-Za-z0-9+/=]{8,}")
_SECTION = re.compile(r"^diff --git a/.* b/(?P<path>.*)$")
_PRIVATE_KEY = "Private Key"


@value
class ScrubbedSecret:
    """The kind and file of secrets that were taken out; never the secret."""

    kind: str
    file: str
    count: int


@value
class TextPart:
    """Lines of one file; those of a patch are without the sign before each."""

    file: str
    lines: tuple[str, ...]


class SecretScrubber:
    """Looks at every text before it replaces anything, since a secret found in one is in others too."""

    def __init__(self) -> None:
        try:
            import detect_secrets  # noqa: F401 - asked for before anything is read
        except ImportError:
            raise ToolMissing(
                "secrets are looked for with detect-secrets, and it is not installed.",
                hint="pip install 'verdigris[corpus]', or `--unscrubbed` to keep the texts as they are",
            ) from None
        self._parts: dict[TextPart, None] = {}
        self._kinds: dict[str, str] = {}
        self._on_lines: dict[str, dict[str, str]] = {}
        self._pattern: re.Pattern[str] | None = None
        self._counts: Counter[tuple[str, str]] = Counter()

    def look_at(self, file: str, text: str) -> str:
        """Takes the text in, and the strings in it if it is JSON; returns it as it is."""
        for one in (text, *_texts_in(text)):
            for part in parts_of(file, one):
                self._parts[part] = None
        return text

    def learn(self) -> None:
        """Lets the library search all texts that were looked at."""
        for part, kind, number, secret in find_secrets(self._parts):
            self._take(kind, part.lines[number - 1], secret)
        self._parts.clear()
        words = sorted(self._kinds, key=lambda word: (-len(word), word))
        self._pattern = re.compile("|".join(map(re.escape, words))) if words else None

    def _take(self, kind: str, line: str, secret: str) -> None:
        if kind == _PRIVATE_KEY:
            return  # the library finds its header only; `scrub` removes the key as a block
        for match in re.finditer(_TOKEN + re.escape(secret) + _TOKEN, line):
            whole = match[0]
            if len(whole) >= _GLOBAL and any(sign.isdigit() for sign in whole):
                self._kinds[whole] = kind
            else:
                self._on_lines.setdefault(line, {})[whole] = kind

    def scrub(self, file: str, text: str) -> str:
        lines = text.split("\n")
        in_key = False
        for number, (path, line) in enumerate(_files_of_lines(file, lines)):
            sign, body = (line[:1], line[1:]) if path != file and line[:1] in {"+", "-", " "} else ("", line)
            in_key = in_key or bool(_KEY_BEGINS.search(body))
            cleaned = self._clean(path, body)
            if in_key:
                cleaned = self._clean_key(path, cleaned)
                in_key = not _KEY_ENDS.search(body)
            lines[number] = f"{sign}{cleaned}"
        return "\n".join(lines)

    def _clean(self, file: str, line: str) -> str:
        def hide(match: re.Match[str]) -> str:
            return self._hide(self._kinds[match[0]], file)

        for secret, kind in sorted(self._on_lines.get(line, {}).items()):
            line = line.replace(secret, self._hide(kind, file))
        return self._pattern.sub(hide, line) if self._pattern else line

    def _clean_key(self, file: str, line: str) -> str:
        if _KEY_BEGINS.search(line):
            self._counts[_PRIVATE_KEY, file] += 1
        return _KEY_TEXT.sub(f"[scrubbed: {_PRIVATE_KEY}]", line)

    def _hide(self, kind: str, file: str) -> str:
        self._counts[kind, file] += 1
        return f"[scrubbed: {kind}]"

    @property
    def report(self) -> tuple[ScrubbedSecret, ...]:
        return tuple(
            ScrubbedSecret(kind, file, count) for (kind, file), count in sorted(self._counts.items())
        )


def find_secrets(parts: Iterable[TextPart]) -> Iterator[tuple[TextPart, str, int, str]]:
    """Yields part, kind, line and value. The library reads files, and chooses detectors by their names."""
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.core.scan import scan_file
    from detect_secrets.settings import transient_settings

    classes: dict[str, type] = get_mapping_from_secret_type_to_class()
    names = sorted(kind.__name__ for secret, kind in classes.items() if secret not in _UNUSED)
    chosen = {"plugins_used": [{"name": name} for name in names]}
    with temporary_folder("tdd-scrub.") as folder, transient_settings(chosen):
        for part in parts:
            path = folder / f"text{PurePosixPath(part.file).suffix}"
            path.write_text("\n".join(part.lines), "utf-8", "replace")
            secrets = {(s.type, s.line_number, s.secret_value or "") for s in scan_file(str(path))}
            for kind, number, secret in sorted(secrets):
                if secret:
                    yield part, kind, number, secret
            path.unlink()


def parts_of(file: str, text: str) -> Iterator[TextPart]:
    """Splits a patch by the files that it changes; any other text is one part."""
    if not _SECTION.match(text):
        yield TextPart(file, tuple(text.split("\n")))
        return
    parts: dict[str, list[str]] = {}
    for path, line in _files_of_lines(file, text.split("\n")):
        parts.setdefault(path, []).append(line[1:])
    for path, lines in parts.items():
        yield TextPart(path, tuple(lines))


def _texts_in(text: str) -> Iterator[str]:
    """Yields the strings of a JSON object, such as a tool's arguments: detectors do not undo escapes."""
    if not text.startswith("{"):
        return
    try:
        waiting = [json.loads(text, strict=False)]
    except ValueError:
        return
    while waiting:
        match waiting.pop():
            case dict() as found:
                waiting += found.values()
            case list() as found:
                waiting += found
            case str(found):
                yield found
            case _:
                continue


def _files_of_lines(file: str, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    path = file
    for line in lines:
        if match := _SECTION.match(line):
            path = match["path"]
        yield path, line


def scrub_corpus(gathered: CorpusContents, scrubber: SecretScrubber | None) -> CorpusContents:
    """Returns the contents with all texts as valid Unicode, and without secrets."""
    if scrubber is None:
        return _map_texts(gathered, lambda _, text: _readable(text))
    _map_texts(gathered, lambda file, text: scrubber.look_at(file, _readable(text)))
    scrubber.learn()
    return _map_texts(gathered, lambda file, text: scrubber.scrub(file, _readable(text)))


def _readable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _map_texts(gathered: CorpusContents, change: Callable[[str, str], str]) -> CorpusContents:
    triples = tuple(_map_triple(triple, change) for triple in gathered.triples)
    by_id = {triple.id: triple for triple in triples}
    paths = tuple(_map_trajectory(t, by_id, change) for t in gathered.trajectories)
    return replace(gathered, triples=triples, trajectories=paths)


def _map_triple(triple: Triple, change: Callable[[str, str], str]) -> Triple:
    def each(name: str, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(change(name, text) for text in texts)

    against = triple.against_commit
    changed = replace(
        triple,
        statement=change("statement", triple.statement),
        reds=tuple(replace(red, message=change("failure", red.message)) for red in triple.reds),
        test_patch=change("test_patch", triple.test_patch),
        patch=change("patch", triple.patch),
        against_commit=against
        and replace(against, tests=change("tests", against.tests), source=change("source", against.source)),
        weakening=each("weakening", triple.weakening),
        concerns=each("concerns", triple.concerns),
    )
    return changed if changed == triple else replace(changed, scrubbed=True)


def _map_trajectory(
    trajectory: Trajectory, by_id: dict[str, Triple], change: Callable[[str, str], str]
) -> Trajectory:
    place = f"session {trajectory.session}"

    def scrub_message(message: Message) -> Message:
        calls = tuple(replace(call, arguments=change(place, call.arguments)) for call in message.calls)
        return replace(message, content=change(place, message.content), calls=calls)

    return replace(
        trajectory,
        prefix=tuple(map(scrub_message, trajectory.prefix)),
        spoken=tuple(replace(one, message=scrub_message(one.message)) for one in trajectory.spoken),
        triples=tuple(by_id[t.id] for t in trajectory.triples),
    )
