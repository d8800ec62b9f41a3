"""Edits by which `assert_eq!` compares content: a type of the package equals plain data if it shows them.

No derived equality compares a type with plain data, so a `PartialEq` written by hand says so. What the value
shows of itself by `Debug` has to hold what is expected, in that order, unless a test names the type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.languages.grammar.content import named_classes, root_of
from verdigris.languages.grammar.expectations import nodes_around
from verdigris.languages.grammar.trees import first, part, parts, text_of_node, walk
from verdigris.languages.probes import ByteEdit
from verdigris.languages.rust.tests import EQUAL, attributes_of, split_tokens

if TYPE_CHECKING:
    from tree_sitter import Node

_CONTENT = """
#[cfg(test)] #[allow(dead_code)] struct ContentOfAnswer<'a, T: ?Sized>(&'a T);
#[cfg(test)] impl<T: ?Sized + std::fmt::Debug> std::fmt::Debug for ContentOfAnswer<'_, T> {
  fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { self.0.fmt(f) }
}
#[cfg(test)] impl<T, E> PartialEq<E> for ContentOfAnswer<'_, T>
where T: ?Sized + std::fmt::Debug + PartialEq<E>, E: ?Sized + std::fmt::Debug {
  fn eq(&self, other: &E) -> bool {
    let package = env!("CARGO_PKG_NAME").replace('-', "_") + "::";
    let own = |name: &str| {
      let mut words = name.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
      let named: &[&str] = &[NAMED];
      words.any(|word| word.starts_with(&package) && !named.contains(&word.rsplit("::").next().unwrap_or("")))
    };
    let shows = |text: String| -> Vec<String> {
      let words = text.split(|c: char| c.is_whitespace() || "[](){},:".contains(c));
      words.filter(|word| !word.is_empty()).map(String::from).collect()
    };
    let (mine, its) = (own(std::any::type_name::<T>()), own(std::any::type_name::<E>()));
    let (left, right) = (shows(format!("{:?}", self.0)), shows(format!("{:?}", other)));
    let (more, less) = if mine { (left, right) } else { (right, left) };
    let mut rest = more.iter();
    *self.0 == *other && (mine == its || less.iter().all(|word| rest.any(|held| held == word)))
  }
}"""


def content_edits(node: Node, path: str) -> tuple[ByteEdit, ...]:  # noqa: ARG001 - as of other languages
    tree = first(parts(node), "token_tree") if node.type == "macro_invocation" else None
    sides = [] if tree is None else split_tokens(tree)
    if text_of_node(part(node, "macro")) not in EQUAL or len(sides) < 2:  # noqa: PLR2004 - two sides
        return ()
    root, actual = root_of(node), sides[0]
    above = "super::" * sum(one.type == "mod_item" for one in nodes_around(node))
    names = sorted({name for scope in _tests_in(root) for name in named_classes(scope)})
    listed = ", ".join(f'"{name}"' for name in names)
    text = " ".join(_CONTENT.replace("NAMED", listed).split())
    return (
        ByteEdit(actual[0].start_byte, actual[0].start_byte, f"{above}ContentOfAnswer(&("),
        ByteEdit(actual[-1].end_byte, actual[-1].end_byte, "))"),
        ByteEdit(root.end_byte, root.end_byte, f"\n{text}"),
    )


def _tests_in(root: Node) -> list[Node]:
    """The modules of a file that are built for tests only; the whole file if it has none."""
    modules = [node for node in walk(root) if node.type == "mod_item"]
    tests = [node for node in modules if any("test" in text_of_node(one) for one in attributes_of(node))]
    return tests or [root]
