"""Tells which calls are plainly allowed, and records them."""

from __future__ import annotations

import fcntl
import posix

from verdigris.gates.quick.files import check, check_nobody_lives, is_left_over, readable, writable
from verdigris.gates.quick.place import Doubt, find
from verdigris.storage.card import read, refs
from verdigris.storage.log import light

TYPE_CHECKING = False  # as in storage/log/format.py
if TYPE_CHECKING:
    from typing import Any

    from verdigris.gates.quick.place import Place
    from verdigris.storage.card import Card

_EDIT = {"old_string", "new_string", "replace_all"}
WRITERS = {"Write": {"content"}, "Edit": _EDIT, "MultiEdit": {"edits"}}
READERS = {
    "Read": ("file_path", {"offset", "limit", "pages"}),
    "Glob": ("path", {"pattern"}),
    "Grep": (
        "path",
        {"pattern", "glob", "type", "output_mode", "head_limit", "offset", "multiline"}
        | {"-A", "-B", "-C", "-n", "-i", "-o", "context"},
    ),
}
SHELLS = {"Bash"}
SIGNS = (b"Read-only file system", b"Device or resource busy", b"no new privileges")
"""What `gates.calls.SIGNS` explains to the model."""
PREFIX = b"CLAUDE_CODE_SHELL_PREFIX"
LONGEST = 4096


class Allowed:
    """A call that is allowed while `card` holds, and what to record of it."""

    __slots__ = ("card", "data", "envelope", "kind")

    def __init__(self, card: Card, envelope: dict[str, Any], kind: str, data: dict[str, Any]) -> None:
        self.card = card
        self.envelope = envelope
        self.kind = kind
        """Empty where nothing is recorded."""
        self.data = data

    def recorded(self) -> bool:
        card = self.card
        if not self.kind:
            head = light.head(card.control)
            return head is not None and light.stamp(head) == card.stamp
        return light.append(card.control, card.stamp, self.kind, self.envelope, self.data)


def plainly_allowed(raw: bytes) -> bool:
    return judged(raw).recorded()


def judged(raw: bytes) -> Allowed:
    """Any exception is a doubt."""
    payload = light.loads(raw.decode("utf-8"))
    place = find(start(payload))
    card = read(place.private)
    if card is None or (card.root, card.control) != (place.root, f"{place.common}/tdd"):
        raise Doubt
    _check_surroundings(place, card)
    if home() != card.home:
        raise Doubt
    envelope = _envelope(payload, card)
    match payload["hook_event_name"]:
        case "PreToolUse" if payload["tool_name"] in SHELLS:
            _before_shell(payload, card, place)
            return Allowed(card, envelope, "", {})
        case "PreToolUse":
            return Allowed(card, envelope, *_before(payload, card))
        case "PostToolUse" | "PostToolUseFailure":
            _after(payload, raw, card, place)
            return Allowed(card, envelope, "", {})
    raise Doubt


def start(payload: dict[str, Any]) -> str:
    """The client's word for where its project is, as for `gates.clients.claude`."""
    named = posix.environ.get(b"CLAUDE_PROJECT_DIR", b"").decode("utf-8")
    return _text(named or payload["cwd"])


def home() -> str:
    """What in the environment says which places are guarded."""
    return repr([posix.environ.get(name) for name in (b"HOME", b"CLAUDE_CONFIG_DIR")])


def _before(payload: dict[str, Any], card: Card) -> tuple[str, dict[str, Any]]:
    tool, arguments, cwd = payload["tool_name"], payload["tool_input"], payload["cwd"]
    if tool in WRITERS:
        _check_contents(tool, arguments)
        return "edit", {"paths": [writable(card, cwd, _text(arguments["file_path"]))]}
    if tool in READERS:
        key, others = READERS[tool]
        path = _text(arguments.pop(key, cwd))
        if not arguments.keys() <= others:
            raise Doubt
        for name, value in arguments.items():
            if isinstance(value, list | dict) or ((tool, name) != ("Grep", "pattern") and _leads_away(value)):
                raise Doubt
        return "call", {"tool": tool, "paths": [readable(card, cwd, path)]}
    raise Doubt


def _check_contents(tool: str, arguments: dict[str, Any]) -> None:
    """What is written has no weight here, as long as the call is what the tool takes and nothing besides."""
    if not arguments.keys() <= {"file_path", *WRITERS[tool]}:
        raise Doubt
    edits = arguments["edits"] if tool == "MultiEdit" else [arguments] if tool == "Edit" else []
    if not isinstance(edits, list):
        raise Doubt
    for edit in edits:
        if not edit.keys() <= {"file_path", *_EDIT} or not isinstance(edit["new_string"], str):
            raise Doubt
    if tool == "Write" and not isinstance(arguments["content"], str):
        raise Doubt


def _after(payload: dict[str, Any], raw: bytes, card: Card, place: Place) -> None:
    """As `turns.tripwire.after_call`: all looks as it did when it was last known to be right."""
    if payload["tool_name"] not in {*WRITERS, *READERS, *SHELLS} or any(sign in raw for sign in SIGNS):
        raise Doubt
    _check_nothing_changed(card, place)
    check_nobody_lives(place.private)


def _before_shell(payload: dict[str, Any], card: Card, place: Place) -> None:
    """As `gates.before` for a shell: commands are confined, and a look before the call would see nothing."""
    command, session = payload["tool_input"]["command"], payload.get("session_id", "")
    if not isinstance(command, str) or not card.prefix or _prefix(place) != card.prefix:
        raise Doubt
    _check_nothing_changed(card, place)
    if is_left_over(place.private):
        raise Doubt
    _remember_caller(place, f"{_text(session, least=0)}\0{command}", payload.get("agent_id") or "")


def _prefix(place: Place) -> str:
    """A running client has it in its environment; who else asks is told by the settings."""
    environment = posix.environ
    if b"CLAUDE_PID" in environment or PREFIX in environment:
        return environment.get(PREFIX, b"").decode("utf-8")
    top = place.common[: -len("/.git")] if place.common.endswith("/.git") else place.root
    settings = light.loads(light.read(f"{top}/.claude/settings.local.json").decode("utf-8"))
    return _text(settings["env"][PREFIX.decode("ascii")])


def _remember_caller(place: Place, call: str, agent: str) -> None:
    """As `storage.open_calls.begun`."""
    record = f"{place.private}/callers/{light.digest(call.encode('utf-8', 'surrogatepass'))}"
    try:
        if not agent:
            return posix.unlink(record)
        posix.mkdir(f"{place.private}/callers", 0o700)
    except (FileNotFoundError, FileExistsError):
        if not agent:
            return None
    fd = posix.open(record, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC, 0o666)
    try:
        posix.write(fd, _text(agent).encode("utf-8", "surrogateescape"))
    finally:
        posix.close(fd)


def _check_nothing_changed(card: Card, place: Place) -> None:
    """What is protected looks as it did when it was last known to be right, and nothing waits to be told."""
    head = light.head(card.control)
    memory = light.loads(light.read(f"{place.private}/call.json").decode("utf-8"))
    if head is None or any(memory.get(name) for name in ("alive", "moved", "undone", "texts")):
        raise Doubt
    check(place.private, place.root, light.changed_at(head))


def _check_surroundings(place: Place, card: Card) -> None:
    """Nothing happened that an operation of the kernel would take in first, and none is under way."""
    if refs(place.git_dir, place.common) != card.refs:
        raise Doubt
    if card.config is not None and _digest(f"{place.root}/tdd.yaml") not in {card.config, None}:
        raise Doubt
    try:
        lock = posix.open(
            f"{place.common}/tdd/locks/{place.private.rpartition('/')[2]}.operation", posix.O_RDONLY
        )
    except FileNotFoundError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    finally:
        posix.close(lock)


def _digest(path: str) -> str | None:
    try:
        return light.digest(light.read(path))
    except FileNotFoundError:
        return None


def _envelope(payload: dict[str, Any], card: Card) -> dict[str, Any]:
    head = card.refs[0].decode("ascii").rstrip("\n")
    branch = head.removeprefix("ref: ").removeprefix("refs/heads/") if head.startswith("ref: ") else None
    context = payload.get("agent_id") or payload.get("session_id") or ""
    actor = {"role": "agent", "context": _text(context, least=0), "client": "claude"}
    return {"worktree": card.worktree, "branch": branch, "actor": actor, "v": card.schema}


def _leads_away(value: object) -> bool:
    text = value if isinstance(value, str) else ""
    return text[:1] in {"/", "~"} or ".." in text or ".git" in text.lower()


def _text(value: object, least: int = 1) -> str:
    if not isinstance(value, str) or not least <= len(value) <= LONGEST:
        raise Doubt
    return value
