"""What a refactor took out of code that stays, as mutants of the old file; what it put in its place."""

from __future__ import annotations

from textwrap import dedent

import pytest

from verdigris.languages.findings import Mutant, Removals
from verdigris.languages.registry import reader_of

PYTHON, NODE, GO, RUST = "pkg/m.py", "src/m.ts", "m.go", "src/m.rs"


def removals(path: str, before: str, after: str, elsewhere: str = "") -> Removals:
    old, new = ({path: dedent(text).encode()} for text in (before, after))
    folder, _, ending = path.rpartition(".")
    others = {f"{folder}_other.{ending}": dedent(elsewhere).encode()} if elsewhere else {}
    return reader_of(path).source.removals(old, new, others)


def asked(path: str, before: str, after: str, *, weak: bool = False) -> dict[str, str]:
    """Each mutant's line with what is gone, and the old line or lines as the mutant has them."""
    old = dedent(before).splitlines()
    return {
        f"{mutant.line} {_what(mutant)}": "|".join(
            line.strip() for line in mutant.data.decode().splitlines() if line not in old
        )
        for mutant in removals(path, before, after).mutants
        if mutant.weak is weak
    }


def _what(mutant: Mutant) -> str:
    return mutant.what if mutant.kind == "removal" else f"`{mutant.subject}` is gone"


def test_a_guard() -> None:
    before = "def share(a, n):\n    if n is None:\n        raise ValueError(n)\n    return a / n\n"
    after = "def share(a, n):\n    return a / n\n"
    assert list(asked(PYTHON, before, after)) == ["2 `n is None` is gone"]


TAKEN_OUT = {
    "a copy": (
        "def tags(post):\n    return list(post.tags)\n",
        "def tags(post):\n    return post.tags\n",
        {"2 `list(post.tags)` is gone": "return (post.tags)"},
    ),
    "a copy by a slice": (
        "def tags(post):\n    return post.tags[:]\n",
        "def tags(post):\n    return post.tags\n",
        {"2 `post.tags[:]` is gone": "return (post.tags)"},
    ),
    "a call that is a statement": (
        "def save(x):\n    check(x)\n    return x\n",
        "def save(x):\n    return x\n",
        {"2 `check(x)` is gone": "pass"},
    ),
    "a method of a value": (
        "def read(s):\n    return key(s.strip())\n",
        "def read(s):\n    return key(s)\n",
        {"2 `s.strip()` is gone": "return key((s))"},
    ),
    "a lock": (
        "def add(self, n):\n    with self.lock:\n        self.n += n\n",
        "def add(self, n):\n    self.n += n\n",
        {"2 `with self.lock` is gone": 'with __import__("contextlib").nullcontext():'},
    ),
    "a lock that is taken and given back": (
        "def add(self, n):\n    self.lock.acquire()\n    self.n += n\n    self.lock.release()\n",
        "def add(self, n):\n    self.n += n\n",
        {"2 `self.lock.acquire()` and `self.lock.release()` are gone": "pass|pass"},
    ),
    "a handler": (
        "def get(d, k):\n    try:\n        return d[k]\n    except KeyError:\n        return 0\n",
        "def get(d, k):\n    return d[k]\n",
        {"4 `except KeyError` is gone": "except ():"},
    ),
    "one class of several in a handler": (
        "def get(d):\n    try:\n        return d[1]\n    except (KeyError, TypeError):\n        return 0\n",
        "def get(d):\n    try:\n        return d[1]\n    except KeyError:\n        return 0\n",
        {"4 `except TypeError` is gone": "except (KeyError, ):"},
    ),
    "what is done in any case": (
        "def work(f):\n    try:\n        f.go()\n    finally:\n        f.close()\n",
        "def work(f):\n    f.go()\n    f.close()\n",
        {"4 `finally` is gone": "except ():|pass|else:"},
    ),
    "a decorator": (
        "@admin_only\ndef drop(user):\n    return user\n",
        "def drop(user):\n    return user\n",
        {"1 `@admin_only` is gone": ""},
    ),
    "a keyword": (
        "def ranked(rows):\n    return sorted(rows, key=size)\n",
        "def ranked(rows):\n    return sorted(rows)\n",
        {"2 `key=size` is gone": "return sorted(rows)"},
    ),
    "an argument": (
        "def name(row):\n    return getattr(row, 'name', None)\n",
        "def name(row):\n    return getattr(row, 'name')\n",
        {"2 `None` is gone": "return getattr(row, 'name')"},
    ),
    "a default that another one replaced": (
        "def check(text, strict=STRICT):\n    return text\n",
        "def check(text, strict=LOOSE):\n    return text\n",
        {"1 the default `STRICT` of `strict` became `LOOSE`": "def check(text, strict=LOOSE):"},
    ),
    "an exception's class": (
        "def no():\n    raise ValueError('no')\n",
        "def no():\n    raise TypeError('no')\n",
        {"2 `raise ValueError('no')` is gone": "raise Exception('no')"},
    ),
    "a base": (
        "class Row(Base, Checked):\n    n = 1\n",
        "class Row(Base):\n    n = 1\n",
        {"1 `base Checked` is gone": "class Row(Base):"},
    ),
    "a call inside a comparison": (
        "def f(s):\n    if s.strip() == 'a':\n        return 1\n    return 2\n",
        "def f(s):\n    if s == 'a':\n        return 1\n    return 2\n",
        {
            "2 `s.strip() == 'a'` is gone": "if ((s.strip() == 'a') and False):",
            "2 `s.strip()` is gone": "if (s) == 'a':",
        },
    ),
    "a value that is kept": (
        "def close(self):\n    self.closed = True\n    self.file.close()\n",
        "def close(self):\n    self.file.close()\n",
        {"2 `self.closed = True` is gone": "pass"},
    ),
    "something of a function that was renamed as well": (
        "def share(total, people):\n    audit(total)\n    return total / people\n",
        "def split(total, people):\n    return total / people\n",
        {"2 `audit(total)` is gone": "pass"},
    ),
}


@pytest.mark.parametrize("name", TAKEN_OUT)
def test_what_is_gone_is_taken_out_of_the_old_file(name: str) -> None:
    before, after, expected = TAKEN_OUT[name]
    assert asked(PYTHON, before, after) == expected


ELSEWHERE = {
    "node: a sanitizer": (
        NODE,
        "export function greet(name: string) {\n  return `<p>${escape(name)}</p>`;\n}\n",
        "export function greet(name: string) {\n  return `<p>${name}</p>`;\n}\n",
        {"2 `escape(name)` is gone": "return `<p>${(name)}</p>`;"},
    ),
    "node: a handler": (
        NODE,
        "function f(s: string) {\n  try { return JSON.parse(s); } catch (e) { return null; }\n}\n",
        "function f(s: string) {\n  return JSON.parse(s);\n}\n",
        {"2 `catch (e)` is gone": "try { return JSON.parse(s); } catch (e) { throw e; return null; }"},
    ),
    "node: an await": (
        NODE,
        "async function f(db: Db) {\n  await db.flush();\n  return 1;\n}\n",
        "async function f(db: Db) {\n  db.flush();\n  return 1;\n}\n",
        {"2 `await db.flush()` is gone": "db.flush();"},
    ),
    "node: a comparator": (
        NODE,
        "function f(rows: number[]) {\n  return rows.sort((a, b) => a - b);\n}\n",
        "function f(rows: number[]) {\n  return rows.sort();\n}\n",
        {"2 `(a, b) => a - b` is gone": "return rows.sort();"},
    ),
    "node: an option": (
        NODE,
        "function f(path: string) {\n  mk(path, { recursive: true, mode: 1 });\n}\n",
        "function f(path: string) {\n  mk(path, { mode: 1 });\n}\n",
        {"2 `recursive: true` is gone": "mk(path, {  mode: 1 });"},
    ),
    "go: a lock": (
        GO,
        "package a\n\nfunc (s *S) Add(n int) {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\ts.n += n\n}\n",
        "package a\n\nfunc (s *S) Add(n int) {\n\ts.n += n\n}\n",
        {"4 `s.mu.Lock()` and `s.mu.Unlock()` are gone": ";|;"},
    ),
    "go: a call of a package that nothing else uses": (
        GO,
        'package a\n\nimport "html"\n\nfunc Greet(n string) string {\n\treturn html.EscapeString(n)\n}\n',
        "package a\n\nfunc Greet(n string) string {\n\treturn n\n}\n",
        {"6 `html.EscapeString(n)` is gone": "return (n)|var _ = html.EscapeString"},
    ),
    "rust: a guard that is held": (
        RUST,
        "impl S {\n    fn add(&self) -> i32 {\n        let _held = self.gate.enter();\n        1\n    }\n}\n",
        "impl S {\n    fn add(&self) -> i32 {\n        1\n    }\n}\n",
        {"3 `self.gate.enter()` is gone": ";"},
    ),
    "rust: a derived trait": (
        RUST,
        "#[derive(Clone, Hash)]\nstruct S;\n\nimpl S {\n    fn f(&self) {}\n}\n",
        "#[derive(Clone)]\nstruct S;\n\nimpl S {\n    fn f(&self) {}\n}\n",
        {"1 `Hash` is gone": "#[derive(Clone)]"},
    ),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_gone_in_other_languages(name: str) -> None:
    path, before, after, expected = ELSEWHERE[name]
    assert asked(path, before, after) == expected


HONEST = {
    "a function is extracted": (
        PYTHON,
        "def save(x):\n    with lock:\n        check(x)\n",
        "def save(x):\n    with lock:\n        _store(x)\n\n\ndef _store(x):\n    check(x)\n",
    ),
    "two conditions become one": (
        PYTHON,
        "def f(a):\n    if a.n > 1:\n        g(a)\n\n\ndef h(a):\n    if a.n > 1:\n        k(a)\n",
        "def f(a):\n    b(a, g)\n\n\ndef h(a):\n    b(a, k)\n\n\ndef b(a, x):\n    if a.n > 1:\n        x()",
    ),
    "a function is written out": (
        PYTHON,
        "def save(x):\n    _check(x)\n    return x\n\n\ndef _check(x):\n    audit(x)\n",
        "def save(x):\n    audit(x)\n    return x\n",
    ),
    "a method is renamed with its callers": (
        PYTHON,
        "class A:\n    def do(self):\n        list(self.rows())\n\n    def rows(self):\n        return 1\n",
        "class A:\n    def do(self):\n        list(self.all())\n\n    def all(self):\n        return 1\n",
    ),
    "a call moves to the caller": (
        PYTHON,
        "def f(s):\n    return g(s)\n\n\ndef g(s):\n    return h(s.strip())\n",
        "def f(s):\n    return g(s.strip())\n\n\ndef g(s):\n    return h(s)\n",
    ),
    "os.path becomes pathlib": (
        PYTHON,
        "import os\n\n\ndef f(a, b):\n    return os.path.join(a, b)\n",
        "from pathlib import Path\n\n\ndef f(a, b):\n    return Path(a) / b\n",
    ),
    "a formatted text": (
        PYTHON,
        "def f(a):\n    return 'x {}'.format(a)\n",
        "def f(a):\n    return f'x {a}'\n",
    ),
    "a loop becomes a comprehension": (
        PYTHON,
        "def f(a):\n    out = []\n    for x in a:\n        out.append(x)\n    return out\n",
        "def f(a):\n    return [x for x in a]\n",
    ),
    "a copy in other words": (
        PYTHON,
        "def f(a):\n    return list(a)\n",
        "def f(a):\n    return [*a]\n",
    ),
    "get becomes a subscript": (
        PYTHON,
        "def f(a):\n    return a.get('x')\n",
        "def f(a):\n    return a['x'] if 'x' in a else None\n",
    ),
    "a positional argument gets its name": (
        PYTHON,
        "def f(a):\n    return g(a, 3)\n",
        "def f(a):\n    return g(a, size=3)\n",
    ),
    "names inside a key are renamed": (
        PYTHON,
        "def ranked(rows):\n    return sorted(rows, key=lambda row: row.size)\n",
        "def ranked(rows):\n    return sorted(rows, key=lambda r: r.size)\n",
    ),
    "a key gets a name": (
        PYTHON,
        "def ranked(rows):\n    return sorted(rows, key=lambda row: row.size)\n",
        "def ranked(rows):\n    size = lambda row: row.size\n    return sorted(rows, key=size)\n",
    ),
    "what only a type checker reads": (
        PYTHON,
        "from typing import final\n\n\n@final\nclass A:\n    n = 1\n",
        "class A:\n    n = 1\n",
    ),
    "a structural base": (
        PYTHON,
        "class A:\n    def f(self):\n        return 1\n",
        "from abc import ABC\n\n\nclass A(ABC):\n    def f(self):\n        return 1\n",
    ),
    "node: then becomes await": (
        NODE,
        "function f(a: A) {\n  return a.go().then((x) => x);\n}\n",
        "async function f(a: A) {\n  return await a.go();\n}\n",
    ),
    "node: a function is extracted": (
        NODE,
        "export function f(a: A) {\n  audit(a);\n  return a.x.trim();\n}\n",
        "export const f = (a: A) => { audit(a); g(a); }\nfunction g(a: A) {\n  return a.x.trim();\n}\n",
    ),
    "go: a function is extracted": (
        GO,
        "package a\n\nfunc F(s *S) int {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\treturn s.n\n}\n",
        (
            "package a\n\nfunc F(s *S) int {\n\treturn read(s)\n}\n\n"
            "func read(s *S) int {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\treturn s.n\n}\n"
        ),
    ),
    "rust: a function is extracted": (
        RUST,
        "fn f(s: &S) -> String {\n    s.name.trim().to_string()\n}\n",
        "fn f(s: &S) -> String {\n    g(s)\n}\n\nfn g(s: &S) -> String {\n    s.name.trim().to_string()\n}\n",
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_what_moved_or_is_said_in_other_words_is_not_gone(name: str) -> None:
    path, before, after = HONEST[name]
    assert asked(path, before, after) == {}
    assert removals(path, before, after).swaps == ()


def test_a_function_that_did_not_change_may_do_it_now() -> None:
    before, after = "def f(s):\n    audit(s)\n    return s\n", "def f(s):\n    return record(s)\n"
    assert removals(PYTHON, before, after).calls == {"record"}
    helper = "def record(s):\n    audit(s)\n    return s\n"
    assert removals(PYTHON, before, after, helper).mutants == ()


def test_a_function_that_is_gone_as_a_whole_is_not_asked_about() -> None:
    before = "def f(s):\n    return s\n\n\ndef old(s):\n    if s:\n        audit(s)\n"
    assert removals(PYTHON, before, "def f(s):\n    return s\n").mutants == ()


def test_what_is_said_to_people_is_only_noted() -> None:
    before, after = "def f(s):\n    log.info('f %s', s)\n    return s\n", "def f(s):\n    return s\n"
    assert asked(PYTHON, before, after) == {}
    assert "2 `log.info('f %s', s)` is gone" in asked(PYTHON, before, after, weak=True)


SWAPPED = {
    "a comparison in constant time": (
        PYTHON,
        "import hmac\n\n\ndef same(a, b):\n    return hmac.compare_digest(a, b)\n",
        "def same(a, b):\n    return a == b\n",
        ("hmac.compare_digest", "=="),
        True,
    ),
    "a name from another package": (
        PYTHON,
        "from secrets import choice\n\n\ndef pick(a):\n    return choice(a)\n",
        "from random import choice\n\n\ndef pick(a):\n    return choice(a)\n",
        ("secrets.choice", "random.choice"),
        True,
    ),
    "what runs its argument": (
        PYTHON,
        "def number(text):\n    return int(text)\n",
        "def number(text):\n    return eval(text)\n",
        ("int", "eval"),
        True,
    ),
    "another function of a library": (
        PYTHON,
        "from lib import first\n\n\ndef f(a):\n    return first(a)\n",
        "from other import head\n\n\ndef f(a):\n    return head(a)\n",
        ("first", "head"),
        False,
    ),
    "a wider handler": (
        PYTHON,
        "def f(d):\n    try:\n        return d[1]\n    except KeyError:\n        return 0\n",
        "def f(d):\n    try:\n        return d[1]\n    except Exception:\n        return 0\n",
        ("except KeyError", "except Exception"),
        True,
    ),
    "the key of a sort": (
        PYTHON,
        "def ranked(rows):\n    return sorted(rows, key=by_name)\n",
        "def ranked(rows):\n    return sorted(rows, key=by_size)\n",
        ("key=by_name", "key=by_size"),
        False,
    ),
    "a part of the key of a sort": (
        PYTHON,
        "def ranked(rows):\n    return sorted(rows, key=lambda p: (-p[1], p[0]))\n",
        "def ranked(rows):\n    return sorted(rows, key=lambda p: -p[1])\n",
        ("key=lambda p: (-p[1], p[0])", "key=lambda p: -p[1]"),
        False,
    ),
    "node: a comparator": (
        NODE,
        "function f(rows: R[]) {\n  return rows.sort((a, b) => a.n - b.n);\n}\n",
        "function f(rows: R[]) {\n  return rows.sort((a, b) => a.m - b.m);\n}\n",
        ("(a, b) => a.n - b.n", "(a, b) => a.m - b.m"),
        False,
    ),
    "a base from outside": (
        PYTHON,
        "class Row:\n    n = 1\n",
        "from collections import UserList\n\n\nclass Row(UserList):\n    n = 1\n",
        ("", "base UserList"),
        True,
    ),
    "a decorator from outside": (
        PYTHON,
        "def f(a):\n    return a\n",
        "from functools import lru_cache\n\n\n@lru_cache\ndef f(a):\n    return a\n",
        ("", "decorator @lru_cache"),
        False,
    ),
    "node: a comparison in constant time": (
        NODE,
        "import { timingSafeEqual } from 'crypto';\nconst f = (a: B, b: B) => timingSafeEqual(a, b);\n",
        "const f = (a: B, b: B) => a === b;\n",
        ("timingSafeEqual", "==="),
        True,
    ),
    "go: another package of the same name": (
        GO,
        'package a\n\nimport "crypto/rand"\n\nfunc F(b []byte) int {\n\treturn rand.Read(b)\n}\n',
        'package a\n\nimport "math/rand"\n\nfunc F(b []byte) int {\n\treturn rand.Read(b)\n}\n',
        ("crypto.Read", "math.Read"),
        True,
    ),
}


@pytest.mark.parametrize("name", SWAPPED)
def test_what_replaced_something_is_named(name: str) -> None:
    path, before, after, expected, unsafe = SWAPPED[name]
    [swap] = removals(path, before, after).swaps
    assert ((swap.was, swap.now), swap.unsafe) == (expected, unsafe)
