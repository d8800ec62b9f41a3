"""The text of a stub in Python, ready to paste: marked, and with bodies that only raise."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.languages.python.parsed import parse
from verdigris.languages.python.stubmarks import MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verdigris.languages.missing_names import Parameter, Signature, Wanted

_RAISE = f'raise NotImplementedError("{MARK}")'
_RETURN = f"return None  # {MARK}"


def python_stub(wanted: Wanted, *, raises: bool = True) -> str:
    """`raises`: False where only a failed assertion is a red, so that the body has to return."""
    match wanted.kind:
        case "function":
            return "".join(_function(wanted.name, wanted.signature, "", _body(raises=raises)))
        case "error":
            return f'class {wanted.name}(Exception):\n    """{MARK}"""\n'
        case "class":
            return "".join(_class(wanted, raises=raises))
        case _:
            return f"{wanted.name} = None  # {MARK}\n"


def extended(before: str, stubs: Iterable[str]) -> str:
    """A module with the stubs behind what it holds, with its line ends."""
    end = "\r\n" if "\r\n" in before else "\n"
    kept = before.rstrip("\r\n")
    blocks = [*([f"{kept}{end}"] if kept else []), *(stub.replace("\n", end) for stub in stubs)]
    return (end * 2).join(blocks)


def _body(*, raises: bool) -> str:
    return _RAISE if raises else _RETURN


def _class(wanted: Wanted, *, raises: bool) -> Iterator[str]:
    yield f'class {wanted.name}:\n    """{MARK}"""\n'
    called = {member.name for member in wanted.members if member.kind == "function"}
    values = [member for member in wanted.members if member.kind == "value" and member.name not in called]
    if values:
        yield "\n"
    for number, member in enumerate(values, 1):
        yield f"    {member.name} = {number if member.name.isupper() else None}\n"
    if wanted.calls and (wanted.signature.parameters or wanted.signature.spread or wanted.signature.options):
        yield "\n"
        yield from _function("__init__", wanted.signature, "self", "pass", "    ")
    for member in wanted.members:
        if member.kind != "function":
            continue
        yield "\n"
        if member.of_type:
            yield "    @classmethod\n"
        first = "cls" if member.of_type else "self"
        yield from _function(member.name, member.signature, first, _body(raises=raises), "    ")


def _function(name: str, found: Signature, first: str, body: str, indent: str = "") -> Iterator[str]:
    words = [first] if first else []
    words += [_parameter(one) for one in found.parameters if one.name not in {"self", "cls"}]
    words += ["*args"] * found.spread + ["**options"] * found.options
    start = "async def" if found.awaited else "def"
    yield f"{indent}{start} {name}({', '.join(words)}):\n{indent}    {body}\n"


def _parameter(one: Parameter) -> str:
    return f"{one.name}=None" if one.optional else one.name


def stub_of_edit(before: bytes, after: bytes) -> str:
    """The first function that an edit adds, as a stub on one line; empty where there is none."""
    try:
        old, new = (parse(data.decode("utf-8", "surrogateescape")) for data in (before, after))
    except SyntaxError:
        return ""
    known = {getattr(node, "name", "") for node in old.body}
    for node in new.body:
        if isinstance(node, ast.FunctionDef) and node.name not in known and not node.decorator_list:
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            return f"def {node.name}({ast.unparse(node.args)}){returns}: {_RAISE}"
    return ""
