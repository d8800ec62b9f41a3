"""Computes the text that an expression of constants makes."""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "base64.b64decode": base64.b64decode,
    "base64.standard_b64decode": base64.b64decode,
    "base64.urlsafe_b64decode": base64.urlsafe_b64decode,
    "base64.b32decode": base64.b32decode,
    "base64.b16decode": base64.b16decode,
    "base64.b85decode": base64.b85decode,
    "base64.a85decode": base64.a85decode,
    "binascii.a2b_base64": binascii.a2b_base64,
    "binascii.unhexlify": binascii.unhexlify,
    "binascii.a2b_hex": binascii.unhexlify,
    "builtins.bytes.fromhex": lambda data: bytes.fromhex(data.decode()),
    "builtins.bytearray.fromhex": lambda data: bytes.fromhex(data.decode()),
}
_METHODS = frozenset(
    {
        *("lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "casefold", "swapcase"),
        *("replace", "removeprefix", "removesuffix", "format", "decode", "encode"),
    }
)
_LONGEST = 100_000


def fold_text(node: ast.AST, known: dict[str, str], dotted: Callable[[ast.AST], str]) -> str | None:
    """The text of a constant expression, bytes included; None if it is not constant.

    `known`: texts by name. `dotted`: returns the dotted name that an expression means.
    """
    try:
        text = _ConstantFolding(known, dotted).text(node)
    except (ValueError, TypeError, LookupError, OverflowError, MemoryError):
        return None
    return text if text is None or len(text) <= _LONGEST else None


class _ConstantFolding:
    def __init__(self, known: dict[str, str], dotted: Callable[[ast.AST], str]) -> None:
        self.known = known
        self.dotted_name = dotted

    def text(self, node: ast.AST) -> str | None:
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Constant(value=bytes(raw)):
                return raw.decode("latin-1")
            case ast.Name(id=name):
                return self.known.get(name)
            case ast.NamedExpr(value=value) | ast.FormattedValue(value=value):
                return self.text(value)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._join("", [left, right])
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return self._format(left, right)
            case ast.JoinedStr(values=parts):
                return self._join("", parts)
            case ast.Subscript(value=base, slice=ast.Slice() as part):
                whole = self.text(base)
                bounds = slice(*map(_integer, (part.lower, part.upper, part.step)))
                return None if whole is None else whole[bounds]
            case ast.Call(func=func, args=args):
                return self._text_of_call(func, args)
            case _:
                return None

    def _text_of_call(self, func: ast.expr, args: list[ast.expr]) -> str | None:
        name = self.dotted_name(func)
        match func, args:
            case _, [data, *_] if name in _DECODERS:
                text = self.text(data)
                return None if text is None else _DECODERS[name](text.encode("latin-1")).decode("latin-1")
            case _, [data, codec, *_] if name in {"codecs.decode", "codecs.encode"}:
                return _decode(self.text(data), self.text(codec), name)
            case _, [data, *_] if name in {"builtins.str", "builtins.bytes", "builtins.bytearray"}:
                codes = _character_codes(data)
                return self.text(data) if codes is None else "".join(map(chr, codes))
            case _, [ast.Constant(value=int(code))] if name == "builtins.chr":
                return chr(code)
            case ast.Attribute(value=glue, attr="join"), [parts]:
                between = self.text(glue)
                return None if between is None else self._text_of_join(between, parts)
            case ast.Attribute(value=base, attr=method), _ if method in _METHODS:
                return self._method(self.text(base), method, [self.text(arg) for arg in args])
            case _:
                return None

    def _text_of_join(self, glue: str, parts: ast.expr) -> str | None:
        """The text of `glue.join(parts)`."""
        match parts:
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return self._join(glue, elements)
            case ast.Call(func=func, args=[made, numbers]) if self.dotted_name(func) == "builtins.map":
                codes = _character_codes(numbers)
                makes = self.dotted_name(made) == "builtins.chr"
                return glue.join(map(chr, codes)) if makes and codes is not None else None
            case (
                ast.GeneratorExp(elt=ast.Call(func=func), generators=[made])
                | ast.ListComp(elt=ast.Call(func=func), generators=[made])
            ) if self.dotted_name(func) == "builtins.chr":
                codes = _character_codes(made.iter)
                return None if codes is None else glue.join(map(chr, codes))
            case ast.Call(func=func, args=[turned]) if self.dotted_name(func) == "builtins.reversed":
                text = self.text(turned)
                return None if text is None else glue.join(reversed(text))
            case _:
                return None

    def _join(self, glue: str, parts: Sequence[ast.expr]) -> str | None:
        texts = [self.text(part) for part in parts]
        return None if None in texts else glue.join(text for text in texts if text is not None)

    def _format(self, left: ast.expr, right: ast.expr) -> str | None:
        pattern = self.text(left)
        parts = right.elts if isinstance(right, ast.Tuple) else [right]
        texts = [self.text(part) for part in parts]
        return None if pattern is None or None in texts else pattern % tuple(texts)

    @staticmethod
    def _method(base: str | None, method: str, args: list[str | None]) -> str | None:
        if base is None or None in args or method in {"decode", "encode"}:
            return base
        return str(getattr(base, method)(*args))


def _decode(text: str | None, codec: str | None, way: str) -> str | None:
    if text is None or codec is None:
        return None
    turned = codec.lower().replace("_", "").replace("-", "")
    if turned == "rot13":
        return codecs.encode(text, "rot13")
    if way == "codecs.decode" and turned in {"hex", "hexcodec", "base64", "base64codec"}:
        return _DECODERS["binascii.unhexlify" if "hex" in turned else "base64.b64decode"](
            text.encode("latin-1")
        ).decode("latin-1")
    return text


def _integer(node: ast.expr | None) -> int | None:
    if node is None:
        return None
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
        case _:
            raise ValueError(ast.unparse(node))


def _character_codes(node: ast.expr) -> list[int] | None:
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            codes = [part.value for part in parts if isinstance(part, ast.Constant)]
            numbers = [code for code in codes if isinstance(code, int)]
            return numbers if parts and len(numbers) == len(parts) else None
        case ast.Constant(value=bytes(raw)):
            return list(raw)
        case _:
            return None
