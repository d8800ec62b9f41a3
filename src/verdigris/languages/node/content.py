"""Edits by which an assertion compares content: a built-in value counts by its data, not by other methods.

Only arrays, maps, sets, dates, texts and numbers with other methods than theirs become plain ones; all else
stays the very same object, so honest code notices nothing. Primitive values are content in any case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.languages.grammar.conditions import last_name
from verdigris.languages.grammar.content import named_classes, root_of, wrap
from verdigris.languages.grammar.expectations import FUNCTIONS
from verdigris.languages.grammar.trees import part, parts, text_of_node
from verdigris.languages.node.tests import expectation
from verdigris.languages.probes import ByteEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_NAME = "contentOfAnswer"
_CONTENT = """
function NAME(v ANY, loose ANY = false, n ANY = 40) ANY {
  if (v === null || n < 0 || (typeof v !== 'object' && !(loose && typeof v === 'function'))) return v;
  const made = (f ANY) => typeof f === 'function'
    && Function.prototype.toString.call(f) === 'function ' + f.name + '() { [native code] }';
  try {
    const mine = Object.getPrototypeOf(v);
    let base = v;
    while (base !== null && !(Object.hasOwn(base, 'constructor') && made(base.constructor)))
      base = Object.getPrototypeOf(base);
    const kind = base === null ? 'Object' : base.constructor.name;
    if (mine !== base && [NAMED].includes(mine?.constructor?.name)) return v;
    const inner = (x ANY) => NAME(x, false, n - 1);
    const hooks = ['toString', 'valueOf', 'toJSON', Symbol.toPrimitive, 'asymmetricMatch'];
    const has = (k ANY) => 'value' in (Object.getOwnPropertyDescriptor(base, k) ?? {});
    const method = (k ANY) => k !== 'constructor' && has(k);
    const replaced = (keys ANY) => keys.some((k ANY) => v[k] !== base?.[k]);
    if (kind === 'Object' || kind === 'Function') {
      if (typeof v.asymmetricMatch === 'function') return Symbol('it matches by itself');
      if (loose && replaced(['toString', 'valueOf', Symbol.toPrimitive])) return Symbol('it converts itself');
      if (kind === 'Function' || mine !== base) return v;
      const entries = Object.entries(Object.getOwnPropertyDescriptors(v)).filter((x ANY) => 'value' in x[1]);
      const others = entries.map((x ANY) => [x[0], inner(x[1].value)]);
      if (others.every((x ANY) => Object.is(x[1], v[x[0]]))) return v;
      return Object.assign(Object.create(mine), v, Object.fromEntries(others));
    }
    const plain = !replaced([...Reflect.ownKeys(base).filter(method), ...hooks]);
    if (kind === 'Array') {
      const items = Array.from({ length: v.length }, (_ ANY, i ANY) => inner(v[i]));
      return plain && items.every((x ANY, i ANY) => Object.is(x, v[i])) ? v : items;
    }
    if (plain) return v;
    if (kind === 'Set') return new Set(Array.from(Set.prototype.values.call(v), inner));
    if (kind === 'Map') return new Map(Map.prototype.entries.call(v));
    if (kind === 'Date') return new Date(Date.prototype.getTime.call(v));
    if (['String', 'Number', 'Boolean'].includes(kind)) return base.valueOf.call(v);
  } catch {}
  return v;
}"""
"""`loose`: an object that converts itself to what is expected is no content, unless its class is NAMED."""
_TYPED = (".ts", ".tsx", ".mts", ".cts")
_BUILT_IN = frozenset(
    {
        *("Array", "Map", "Set", "Date", "String", "Number", "Boolean", "Object", "Function", "Symbol"),
        *("Promise", "RegExp"),
    }
)
_CONVERTERS = frozenset(
    ["String", "Number", "BigInt", "parseInt", "parseFloat", "stringify", "from", "keys", "entries", "values"]
)
_LITERALS = frozenset({"string", "number", "template_string", "true", "false", "unary_expression"})
_RECEIVERS = frozenset(
    {"identifier", "call_expression", "member_expression", "subscript_expression", "parenthesized_expression"}
)
_CONVERTING = frozenset({"template_substitution", "spread_element"})
_NOT_WRAPPED = FUNCTIONS | {"spread_element"}


def content_edits(node: Node, path: str) -> tuple[ByteEdit, ...]:
    """The edits of an assertion: of what it compares, and of what is converted, or asked, for that."""
    function, given = part(node, "function"), parts(part(node, "arguments"))
    if node.type != "call_expression" or not given:
        return ()
    expected = expectation(function)
    sides = given[:2] if expected is None else [expected[0]]
    actual = next((one for one in sides if one is not None and not _is_literal(one)), None)
    if actual is None or actual.type in FUNCTIONS | {"spread_element"}:
        return ()
    edits = wrap(_operands(actual), f"{_NAME}(", ")")
    is_loose = len(sides) > 1 and text_of_node(part(function, "property")) == "equal"
    if is_loose and any(one is not None and _is_literal(one) for one in sides):
        edits = wrap([actual], f"{_NAME}(", ", true)", edits)
    elif expected is not None and "resolves" in expected[1]:
        edits = wrap([actual], "Promise.resolve(", f").then((v) => {_NAME}(v))", edits)
    else:
        edits = wrap([actual], f"{_NAME}(", ")", edits)
    return (*edits, _definition(root_of(node), path))


def as_written(node: Node) -> Node:
    """What an assertion compares, without the function around it that gives its content."""
    given = parts(part(node, "arguments")) if text_of_node(part(node, "function")) == _NAME else []
    return given[0] if given else node


def _is_literal(node: Node) -> bool:
    return node.type in _LITERALS and not any(one.type == "template_substitution" for one in node.children)


def _definition(root: Node, path: str) -> ByteEdit:
    """The function, at the end of the file: no line moves."""
    names = (f"'{name}'" for name in named_classes(root) if name not in _BUILT_IN)
    text = _CONTENT.replace("NAMED", ", ".join(names)).replace("NAME", _NAME)
    text = text.replace(" ANY", ": any" if path.endswith(_TYPED) else "")
    return ByteEdit(root.end_byte, root.end_byte, f"\n;{' '.join(text.split())}")


def _operands(node: Node) -> Iterator[Node]:
    """What is converted to a text or a number, spread, or asked by a method, below an expression."""
    if node.type in FUNCTIONS:
        return
    called = part(node, "function") if node.type == "call_expression" else None
    if node.type in _CONVERTING:
        yield from (one for one in parts(node) if one.type not in FUNCTIONS)
    elif node.type == "binary_expression" and text_of_node(part(node, "operator")) in {"+", "==", "==="}:
        yield from parts(node)
    elif called is not None and last_name(called) in _CONVERTERS:
        yield from (one for one in parts(part(node, "arguments"))[:1] if one.type not in _NOT_WRAPPED)
    receiver = part(called, "object")
    if receiver is not None and receiver.type in _RECEIVERS:
        yield receiver
    for child in parts(node):
        yield from _operands(child)
