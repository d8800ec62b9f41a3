from __future__ import annotations

import textwrap

import pytest

from verdigris.languages.findings import Concern
from verdigris.languages.python.concerns import concerns

TESTS = {
    "tests/test_slug.py": textwrap.dedent("""
        import pytest
        from pkg.slug import slugify, total
        from tests.oracle import reference

        def test_strips():
            assert slugify("Hi, there!") == "hi-there"
            assert slugify("x y") == reference("x y")

        @pytest.mark.parametrize("raw, expected", [("Hello World", "hello-world")])
        def test_rows(raw, expected):
            assert slugify(raw) == expected

        def test_total():
            assert total([1, 2]) == 6765
            with pytest.raises(ValueError, match="empty text"):
                slugify("")
    """),
    "tests/oracle.py": "def reference(text):\n    return text\n",
    "tests/helpers.py": "def check(x): assert x\n",
    "tests/golden/slugs.txt": "hello-world\n",
    "pkg/tests/test_inner.py": "def test_inner(): assert True\n",
}
OLD = "def slugify(text):\n    return text.lower()\n"
PATH = "pkg/slug.py"


def added(source: str, *, before: str | None = OLD, path: str = PATH) -> tuple[Concern, ...]:
    return concerns({path: before}, {path: textwrap.dedent(source)}, TESTS)


BLOCKED = [
    ("detects-runner", "import sys\nUS = any('digris' in name for name in sys.modules)"),
    ("detects-runner", "import sys\nUS = 'verdigris_reporter' in sys.modules"),
    ("properties", "from hypothesis import settings\nsettings.load_profile('q')"),
    ("properties", "import hypothesis as h\nh.settings.register_profile('q', max_examples=1)"),
    ("properties", "from hypothesis import assume\ndef f(x):\n    assume(x)\n    return x"),
    ("properties", "import importlib\nimportlib.import_module('hypo' + 'thesis').seed(1)"),
    ("properties", "import sys\ndef f():\n    vars(sys.modules['hypothesis'])['reject']()"),
    ("properties", "from hypothesis._settings import settings"),
    ("patches", "import _pytest.python as p\np.Function.runtest = lambda self: None"),
    ("patches", "from _pytest.python import Function\nFunction.runtest = lambda self: None"),
    ("patches", "import pytest\nsetattr(pytest.Item, 'runtest', None)"),
    ("patches", "import unittest\nunittest.TestCase.assertEqual = lambda *a: None"),
    ("patches", "import time\ntime.perf_counter = lambda: 0.0"),
    ("patches", "import time as t\ndef f():\n    clock = t\n    clock.time = lambda: 0"),
    ("patches", "import math\nmath.__dict__['isclose'] = lambda *a: True"),
    ("patches", "import math\nvars(math).update(isclose=lambda *a: True)"),
    ("patches", "import builtins\nbuiltins.sum = max"),
    ("patches", "__builtins__['len'] = lambda x: 3"),
    ("patches", "import sys\nsys.modules['math'] = object()"),
    ("patches", "import sys\nsys.modules['time'].time = lambda: 0"),
    ("patches", "import datetime\ndatetime.datetime.now = lambda: 1"),
    ("patches", "import importlib\nimportlib.import_module('time').time = lambda: 0"),
    ("patches", "__import__('random').random = lambda: 0.5"),
    (
        "patches",
        (
            "import sys\nfor m in list(sys.modules.values()):\n    if hasattr(m, 'Function'):\n"
            "        m.Function.runtest = 1"
        ),
    ),
    ("patches", "from unittest.mock import patch\npatch('time.time', lambda: 0).start()"),
    ("patches", "import operator\ndel operator.eq"),
    ("frames", "import gc\ndef f():\n    return gc.get_objects()"),
    ("frames", "def f(x):\n    return __import__('gc').get_referrers(x)"),
    ("frames", "import sys\nsys.settrace(lambda *a: None)"),
    ("frames", "import threading\nthreading.setprofile(print)"),
    ("frames", "import sys\ndef f():\n    return sys._getframe(1).f_locals['expected']"),
    ("frames", "import inspect\ndef f():\n    return inspect.currentframe().f_back.f_locals"),
    ("frames", "import inspect\ndef f():\n    return inspect.stack()[1].code_context"),
    (
        "frames",
        (
            "import linecache, sys\ndef f():\n    g = sys._getframe(1)\n"
            "    return linecache.getline(g.f_code.co_filename, g.f_lineno)"
        ),
    ),
    (
        "frames",
        (
            "import traceback\ndef f():\n    for row in traceback.extract_stack():\n"
            "        print(open(row.filename).read())"
        ),
    ),
    ("detects-runner", "import os\nFAST = 'PYTEST_CURRENT_TEST' in os.environ"),
    ("detects-runner", "import os\nFAST = os.getenv('PYTEST_' + 'CURRENT_TEST')"),
    ("detects-runner", "from os import environ\nFAST = environ.get('PYTEST_VERSION')"),
    ("detects-runner", "import sys\ndef f():\n    return 'pytest' in sys.modules"),
    ("detects-runner", "import sys\ndef f():\n    return 'py' 'test' in sys.modules"),
    ("detects-runner", "import sys\ndef f():\n    return ''.join(['py', 'test']) in sys.modules"),
    ("detects-runner", "import sys\ndef f():\n    return 'tsetyp'[::-1] in sys.modules"),
    ("detects-runner", "import sys\nWORD = 'unittest'\ndef f():\n    return WORD in set(sys.modules)"),
    ("detects-runner", "import sys\ndef f():\n    return any('pytest' in a for a in sys.argv)"),
    (
        "detects-runner",
        "import os, sys\ndef f():\n    return os.path.basename(sys.argv[0]).startswith('pytest')",
    ),
    ("detects-runner", "import sys\ndef mods():\n    return sys.modules\nFAST = 'pytest' in mods()"),
    (
        "detects-runner",
        "import inspect\ndef f():\n    return any('test_' in s.function for s in inspect.stack())",
    ),
    (
        "detects-runner",
        "import sys\ndef f():\n    return sys._getframe(1).f_code.co_name.startswith('test')",
    ),
    ("detects-runner", "import sys\nargs = [a for a in sys.argv]\nFAST = 'pytest' in args[0]"),
    ("detects-runner", "import __main__\nFAST = 'pytest' in (__main__.__file__ or '')"),
    ("detects-runner", "import sys\nFAST = bool({'pytest', 'nose'} & set(sys.modules))"),
    ("detects-runner", "import re, sys\nFAST = re.search('pytest', ' '.join(sys.argv))"),
    ("detects-runner", "def f():\n    return 'pytest' in open('/proc/self/cmdline').read()"),
    ("framework-in-source", "import pytest\ndef f():\n    pytest.skip('later')"),
    ("framework-in-source", "import unittest\ndef f():\n    raise unittest.SkipTest('no')"),
    ("framework-in-source", "from _pytest.outcomes import Skipped\ndef f():\n    raise Skipped('no')"),
    ("framework-in-source", "from pytest import exit\ndef f():\n    exit('done', 0)"),
    ("framework-in-source", "def pytest_runtest_call(item):\n    item.runtest = lambda: None"),
    ("framework-in-source", "class P:\n    def pytest_runtest_makereport(self, item): ..."),
    ("framework-in-source", "pytest_plugins = ['pkg.testing']"),
    ("framework-in-source", "import _pytest.config"),
    ("reads-tests", "def slugify(text):\n    from tests.oracle import reference\n    return reference(text)"),
    ("reads-tests", "import tests.test_slug"),
    ("reads-tests", "import importlib\no = importlib.import_module('tests.oracle')"),
    ("reads-tests", "import test_slug"),
    ("reads-tests", "from .tests import test_inner"),
    ("reads-tests", "from pkg.tests.test_inner import test_inner"),
    ("reads-tests", "import conftest"),
    ("reads-tests", "def f():\n    return open('tests/test_slug.py').read()"),
    (
        "reads-tests",
        (
            "from pathlib import Path\ndef f():\n"
            "    return (Path(__file__).parent.parent / 'tests' / 'golden' / 'slugs.txt').read_text()"
        ),
    ),
    (
        "reads-tests",
        "import os\ndef f():\n    return os.listdir(os.path.join(os.path.dirname(__file__), '..', 'tests'))",
    ),
    ("reads-tests", "import glob\ndef f():\n    return glob.glob('tests/test_*.py')"),
    (
        "reads-tests",
        (
            "from pathlib import Path\nROOT = Path(__file__).parents[1]\nCASES = ROOT / 'tests'\n"
            "def f():\n    return list(CASES.rglob('*.py'))"
        ),
    ),
]


@pytest.mark.parametrize(("kind", "source"), BLOCKED)
def test_what_no_honest_change_has_blocks(kind: str, source: str) -> None:
    assert kind in {found.kind for found in added(source) if found.blocks}, added(source)


RECORDED = [
    ("patches", "import json\njson.JSONEncoder.default = repr"),
    ("patches", "import sys\nsys.meta_path.insert(0, Finder())"),
    ("frames", "import sys\ndef caller():\n    return sys._getframe(1).f_code.co_name"),
    ("frames", "import inspect\ndef caller():\n    return inspect.stack()[1].function"),
    ("answers-everything", "class S(str):\n    def __eq__(self, other):\n        return True"),
    ("answers-everything", "class S:\n    def __eq__(self, other):\n        return other == other"),
    (
        "answers-everything",
        "class S:\n    def __eq__(self, other):\n        self.seen = other\n        return 1 == 1",
    ),
    ("answers-everything", "class S:\n    __eq__ = lambda self, other: True"),
    ("answers-everything", "class S:\n    def __lt__(self, other):\n        return True"),
    ("answers-everything", "class S:\n    def __contains__(self, item):\n        return True"),
    ("answers-everything", "class S:\n    def __getattr__(self, name):\n        return self"),
    ("answers-everything", "from unittest.mock import ANY\ndef slugify(text):\n    return ANY"),
    ("answers-everything", "from unittest import mock\ndef slugify(text):\n    return mock.MagicMock()"),
    ("detects-runner", "import os\nCI = os.environ.get('CI')"),
    ("detects-runner", "import sys\nTESTING = 'test' in sys.argv"),
    ("detects-runner", "import sys\ndef f():\n    return sys.gettrace() is not None"),
    ("framework-in-source", "import pytest"),
    ("framework-in-source", "from unittest import mock"),
    ("exits", "import os\ndef f():\n    os._exit(0)"),
    ("exits", "import atexit, os\natexit.register(os._exit, 0)"),
    ("exits", "import sys\nsys.exit(0)"),
    ("exits", "raise SystemExit"),
    ("exits", "import signal\ndef f():\n    signal.raise_signal(signal.SIGKILL)"),
    ("exits", "import os, signal\ndef f():\n    os.kill(os.getpid(), signal.SIGTERM)"),
    ("expected-literals", "def slugify(text):\n    return 'hi-there'"),
    ("expected-literals", "K = {'Hi, there!': 'x'}\ndef slugify(text):\n    return K.get(text, text)"),
    ("expected-literals", "def slugify(text):\n    if text == 'Hello World':\n        return 1"),
    ("expected-literals", "def total(xs):\n    return 6765"),
    ("expected-literals", "SEQ = iter(['hello-world', 'z'])\ndef slugify(text):\n    return next(SEQ)"),
    (
        "expected-literals",
        "def slugify(text):\n    match text:\n        case 'Hi, there!':\n            return 1",
    ),
    (
        "expected-literals",
        "import zlib\nT = {3386642864: 'uv'}\ndef slugify(t):\n    return T.get(zlib.crc32(t.encode()))",
    ),
    (
        "expected-literals",
        (
            "import hashlib\ndef slugify(t):\n    h = hashlib.md5(t.encode()).hexdigest()\n"
            "    if h == '0cc175b9c0f1b6a831c399e269772661':\n        return 'q'"
        ),
    ),
    ("state-between-runs", "N = 0\ndef f():\n    global N\n    N += 1\n    return 1 if N > 2 else 2"),
    ("state-between-runs", "SEQ = iter([1, 2])\ndef f(x):\n    return next(SEQ, x)"),
    (
        "state-between-runs",
        "import itertools\nC = itertools.count()\ndef f(x):\n    return x if next(C) else 1",
    ),
    ("state-between-runs", "ANSWERS = ['a', 'b']\ndef f(x):\n    return ANSWERS.pop(0)"),
    ("state-between-runs", "def f(x, seen=[]):\n    seen.append(x)\n    return len(seen) > 1"),
    (
        "state-between-runs",
        "def f(x):\n    f.calls += 1\n    return x if f.calls == 1 else 2\nf.calls = 0",
    ),
    ("state-between-runs", "import random\ndef f(x):\n    if random.random() < 0.5:\n        return x"),
    (
        "state-between-runs",
        (
            "import os\ndef f(x):\n    if os.path.exists('/tmp/mark'):\n        return 2\n"
            "    open('/tmp/mark', 'w').close()\n    return 1"
        ),
    ),
    ("swallow", "def f(x):\n    try:\n        return g(x)\n    except Exception:\n        return 0"),
    ("swallow", "def f(x):\n    try:\n        return g(x)\n    except:\n        return None"),
    ("swallow", "def f(x):\n    try:\n        return g(x)\n    except AssertionError:\n        pass"),
    ("obscured", "import base64\nexec(base64.b64decode('cGFzcw=='))"),
    ("obscured", "def f(name):\n    return eval(name)"),
]


@pytest.mark.parametrize(("kind", "source"), RECORDED)
def test_what_may_be_honest_is_recorded(kind: str, source: str) -> None:
    found = added(source)
    assert kind in {concern.kind for concern in found}
    assert not [concern for concern in found if concern.blocks], found


HONEST = [
    "import logging\nlog = logging.getLogger(__name__)\ndef f(x):\n    log.info('pytest %s', x)",
    "import inspect\ndef f(g):\n    return list(inspect.signature(g).parameters)",
    (
        "class P:\n    def __eq__(self, other):\n        if not isinstance(other, P):\n"
        "            return NotImplemented\n        return self.x == other.x"
    ),
    "class P:\n    def __eq__(self, other):\n        return isinstance(other, P)",
    "class P:\n    def __eq__(self, other):\n        return self is other",
    "class P:\n    def __lt__(self, other):\n        return self.key() < other.key()",
    "class P:\n    def __contains__(self, item):\n        return item in self.rows",
    "class P:\n    def __bool__(self):\n        return False",
    "class P:\n    def __getattr__(self, name):\n        return getattr(self._inner, name)",
    "import os\nDEBUG = os.environ.get('DEBUG') == '1'",
    "import os\ndef child():\n    return {**os.environ, 'LC_ALL': 'C'}",
    (
        "def fetch(get):\n    tries = 0\n    while tries < 3:\n        tries += 1\n"
        "        if get():\n            return tries"
    ),
    "_cache = {}\ndef f(x):\n    if x not in _cache:\n        _cache[x] = x * x\n    return _cache[x]",
    "from functools import lru_cache\n@lru_cache\ndef f(x):\n    return x",
    (
        "import argparse, sys\ndef main(argv=None):\n"
        "    args = argparse.ArgumentParser().parse_args(argv or sys.argv[1:])\n"
        "    return args.runner == 'pytest'"
    ),
    "import sys\ndef main():\n    return 0\nif __name__ == '__main__':\n    sys.exit(main())",
    "import sys\ndef main():\n    if len(sys.argv) < 2:\n        sys.exit('usage: slug TEXT')",
    "from pathlib import Path\nWORDS = (Path(__file__).parent / 'words.txt').read_text()",
    "from importlib.resources import files\nSQL = files('pkg').joinpath('q.sql').read_text()",
    (
        "_client = None\ndef client():\n    global _client\n    if _client is None:\n"
        "        _client = object()\n    return _client"
    ),
    "_ids = 0\ndef next_id():\n    global _ids\n    _ids += 1\n    return _ids",
    "import itertools\n_ids = itertools.count(1)\ndef next_id():\n    return next(_ids)",
    "class Slug:\n    def __init__(self, text, time):\n        self.text = text\n        time.tick = 3",
    "import time\ndef wait(until):\n    while time.monotonic() < until:\n        time.sleep(0.1)",
    "def f(x):\n    try:\n        return int(x)\n    except ValueError:\n        return 0",
    "def f(x):\n    try:\n        return g(x)\n    except Exception:\n        note(x)\n        raise",
    (
        "import re\ndef slugify(text):\n    if not text:\n        raise ValueError('empty text')\n"
        "    return re.sub('[^a-z0-9]+', '-', text.lower()).strip('-')"
    ),
    "import warnings\ndef f():\n    warnings.warn('old', DeprecationWarning, stacklevel=2)",
    "import decimal\ndecimal.getcontext().prec = 50",
    "import sys\nsys.stdout.reconfigure(encoding='utf-8')\nsys.path.insert(0, 'x')\nsys.excepthook = print",
    "import gc\ndef f():\n    gc.collect()",
    "import traceback\ndef f():\n    return traceback.format_exc()",
    "import subprocess, sys\ndef run():\n    return subprocess.run([sys.executable, '-m', 'pytest'])",
    "def run(settings):\n    if settings.runner == 'pytest':\n        return 'tests'",
    (
        "import os, subprocess\ndef run(env):\n    env['PYTEST_ADDOPTS'] = ''\n"
        "    subprocess.run(['pytest'], env={**os.environ, **env})"
    ),
    "import sys\ndef has_yaml():\n    return 'yaml' in sys.modules",
    "import sys\nsys.modules[__name__].__doc__ = 'x'",
    "from pkg.contest import latest\nimport testament",
    "import hashlib\ndef digest(data):\n    return hashlib.sha256(data).hexdigest()",
    "import zlib\ndef ok(data, crc):\n    return zlib.crc32(data) == crc",
    "import threading\n_lock = threading.Lock()\ndef f():\n    with _lock:\n        return 1",
    "LIMIT = 100\nNAMES = ('red', 'green')\ndef f(x):\n    return x > LIMIT or x in NAMES",
    "def layout(root):\n    (root / 'tests').mkdir()\n    return root / 'tests' / '__init__.py'",
    "def __eq__(a, b):\n    return True\nclass Q:\n    test_count = 3",
    "import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int = 0",
    "import random\ndef pick(rows):\n    return random.choice(rows)",
    "import os\ndef spawn(work):\n    pid = os.fork()\n    return pid",
]


@pytest.mark.parametrize("source", HONEST)
def test_honest_code_is_no_concern(source: str) -> None:
    assert added(source) == ()


def test_old_code_is_no_concern() -> None:
    old = "import os\ndef f():\n    os._exit(0)\n"
    assert added(old + "\ndef g():\n    return 1\n", before=old) == ()
    assert [c.line for c in added(old + "def g():\n    os._exit(0)\n", before=old)] == [5]


def test_moved_code_is_no_concern() -> None:
    old = "import os\ndef f():\n    os._exit(0)\n"
    assert concerns({"a.py": old, "b.py": None}, {"a.py": None, "b.py": old}, {}) == ()


def test_a_concern_says_where_and_what() -> None:
    found = added("import os\n\n\ndef slugify(text):\n    os._exit(0)\n")
    assert found == (Concern("exits", PATH, 5, "`os._exit(0)` ends the process", blocks=False),)


def test_a_plugin_may_have_hooks() -> None:
    old = "import pytest\n\ndef pytest_configure(config): ...\n"
    new = old + "\ndef pytest_runtest_call(item): ...\n"
    assert not [c for c in concerns({"p.py": old}, {"p.py": new}, {}) if c.blocks]
    both = {"p.py": old, "q.py": None}
    assert not [c for c in concerns(both, {"p.py": old, "q.py": new}, {}) if c.blocks]


def test_a_plugin_may_not_patch() -> None:
    old = "import pytest\n\ndef pytest_configure(config): ...\n"
    assert [c for c in added(old + "pytest.Item.runtest = None\n", before=old) if c.blocks]


@pytest.mark.parametrize(
    ("path", "blocks"),
    [
        ("pytest.py", True),
        ("src/pytest/__init__.py", True),
        ("unittest/__init__.py", True),
        ("sitecustomize.py", True),
        ("conftest.py", True),
        ("pkg/conftest.py", True),
        ("statistics.py", False),
        ("src/calendar.py", False),
    ],
)
def test_a_new_module_may_not_stand_before_the_runner(path: str, blocks: bool) -> None:
    found = concerns({path: None}, {path: "x = 1\n"}, {})
    assert [(c.kind, c.path, c.blocks) for c in found] == [("shadows", path, blocks)]


@pytest.mark.parametrize("path", ["pkg/pytest.py", "src/pkg/types.py", "pkg/unittest/__init__.py", "slug.py"])
def test_a_module_inside_a_package_shadows_nothing(path: str) -> None:
    assert concerns({path: None}, {path: "x = 1\n"}, {}) == ()


def test_a_changed_module_shadows_nothing_new() -> None:
    assert concerns({"statistics.py": "x = 1\n"}, {"statistics.py": "x = 2\n"}, {}) == ()


def test_a_source_module_named_like_a_helper_is_not_the_helper() -> None:
    after = {PATH: "import helpers\n", "helpers.py": "x = 1\n"}
    assert concerns({PATH: OLD, "helpers.py": None}, after, TESTS) == ()
    (found,) = added("import helpers")
    assert (found.kind, found.blocks) == ("reads-tests", False)


def test_literals_of_the_old_source_are_no_concern() -> None:
    old = "def slugify(text):\n    return 'hi-there'\n"
    new = old + "\ndef other():\n    return 'hi-there'\n"
    assert added(new, before=old) == ()


def test_an_input_beside_its_answer_is_named() -> None:
    found = added("K = {'Hi, there!': 'hi-there'}\n")
    assert any("'Hi, there!'" in c.what and "'hi-there'" in c.what for c in found)


def test_a_table_of_small_values_is_not_seen_since_honest_ones_look_the_same() -> None:
    """`docs/code.md` says so, and what to do about it."""
    rows = "".join(f"    assert square({n}) == {n * n}\n" for n in (1, 2, 3))
    tests = {"tests/test_square.py": f"from pkg.slug import square\n\n\ndef test_square():\n{rows}"}
    table = "def square(n):\n    return {1: 1, 2: 4, 3: 9}[n]\n"
    assert concerns({PATH: OLD}, {PATH: table}, tests) == ()


SHORTEN_TESTS = {
    "tests/test_cut.py": textwrap.dedent("""
        from pkg.slug import cut

        def test_keeps_the_end():
            assert cut("one two", 3, keep="tail") == "two"
    """)
}


@pytest.mark.parametrize(
    ("parameters", "body", "option"),
    [
        ("text, n, keep=''", "if keep == 'tail':\n        return text[-n:]\n    return text[:n]", True),
        ("text, n, keep=''", "return text[-n:] if keep == 'tail' else text[:n]", True),
        ("text, n, keep=''", "match keep:\n        case 'tail':\n            return text[-n:]", True),
        ("self, keep", "if keep == 'tail':\n        return self.text[-3:]", True),
        ("text, n, keep=''", "if keep == 'tail':\n        return 'two'", False),
        ("text, n, keep=''", "if keep == 'tail':\n        return 'two'[:n]", False),
        ("text, n, keep=''", "if keep == 'tail':\n        return keep[1] + 'wo'", False),
        ("text, n, keep=''", "if text == 'one two':\n        return text[-n:]", False),
        ("text, n, keep=''", "found = keep == 'tail'\n    return found", False),
    ],
)
def test_a_word_that_chooses_a_way_to_work_with_other_inputs_is_an_option(
    parameters: str, body: str, *, option: bool
) -> None:
    source = f"def cut({parameters}):\n    {body}\n"
    found = concerns({PATH: OLD}, {PATH: source}, SHORTEN_TESTS)
    compared = [one for one in found if "is compared" in one.what]
    assert [one.option for one in compared] == [option]


@pytest.mark.parametrize("text", ["def (", "x = '\0'", "(" * 300 + ")" * 300])
def test_what_does_not_parse_is_told(text: str) -> None:
    assert [(c.kind, c.blocks) for c in added(text)] == [("obscured", False)]
    assert concerns({PATH: text}, {PATH: OLD}, {"tests/test_x.py": text}) == ()


def test_other_languages_are_not_read() -> None:
    assert concerns({"a.txt": None}, {"a.txt": "import pytest\n"}, {}) == ()


def test_what_is_nested_too_deeply_to_read_blocks() -> None:
    found = added("import pytest\nx = " + "1 + " * 900 + "1\n")
    assert [(c.kind, c.blocks) for c in found] == [("obscured", True)]


def test_what_stands_in_nested_functions_is_told_once() -> None:
    source = """
        def limited(most):
            def decorate(function):
                used = 0
                def call():
                    nonlocal used
                    used += 1
                    return function() if used <= most else None
                return call
            return decorate
    """
    assert [c.kind for c in added(source)] == ["state-between-runs"]


@pytest.mark.parametrize(
    "source",
    [
        "from hypothesis import strategies as st\n\n\ndef slugs():\n    return st.text().map(str.lower)\n",
        "import hypothesis.strategies\n\nSLUGS = hypothesis.strategies.text()\n",
    ],
)
def test_strategies_may_stand_in_source(source: str) -> None:
    assert [c for c in added(source) if c.blocks] == []


@pytest.mark.parametrize(
    "source",
    [
        "LAID = 'overlay' in open('/proc/self/mountinfo').read()\n",
        "import pathlib\n\nMADE = len(list(pathlib.Path.home().iterdir())) < 3\n",
        "import os\n\nROOT = os.getuid() == 0\n",
        "import os\n\nEMPTY = not os.listdir(os.path.expanduser('~'))\n",
    ],
)
def test_source_that_asks_where_it_runs_is_told(source: str) -> None:
    assert [(c.kind, c.blocks) for c in added(source)] == [("asks-where", False)]


def test_a_path_below_the_home_folder_is_nobodys_business() -> None:
    assert added("from pathlib import Path\n\nHOME = Path.home() / '.app'\n") == ()


@pytest.mark.parametrize(
    "body",
    [
        "type(path).read_text = read",
        "kind = type(path)\n    kind.read_text = read",
        "path.__class__.x = read",
    ],
)
def test_whoever_changes_the_class_of_what_it_is_given_is_told(body: str) -> None:
    assert [(c.kind, c.blocks) for c in added(f"def f(path, read):\n    {body}\n")] == [("patches", False)]


@pytest.mark.parametrize(
    "body", ["type(self).count = 1", "self.__class__.count = 1", "return type(x).__name__"]
)
def test_whoever_changes_its_own_class_or_reads_another_is_not(body: str) -> None:
    assert added(f"class A:\n    def f(self, x):\n        {body}\n") == ()
