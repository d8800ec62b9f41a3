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
    ("detects-runner", "import sys\nUS = 'verdigris_reporter' in sys.modules"),
    ("detects-runner", "import os\nFAST = 'PYTEST_CURRENT_TEST' in os.environ"),
    ("detects-runner", "import os\nFAST = os.getenv('PYTEST_' + 'CURRENT_TEST')"),
    ("detects-runner", "from os import environ\nFAST = environ.get('PYTEST_VERSION')"),
    ("detects-runner", "import sys\ndef f():\n    return 'pytest' in sys.modules"),
    ("detects-runner", "import sys\ndef f():\n    return 'py' 'test' in sys.modules"),
    ("detects-runner", "import sys\nWORD = 'unittest'\ndef f():\n    return WORD in set(sys.modules)"),
    ("detects-runner", "import sys\ndef f():\n    return any('pytest' in a for a in sys.argv)"),
    (
        "detects-runner",
        "import os, sys\ndef f():\n    return os.path.basename(sys.argv[0]).startswith('pytest')",
    ),
    ("detects-runner", "import __main__\nFAST = 'pytest' in (__main__.__file__ or '')"),
    ("detects-runner", "import sys\nFAST = bool({'pytest', 'nose'} & set(sys.modules))"),
    ("detects-runner", "import re, sys\nFAST = re.search('pytest', ' '.join(sys.argv))"),
    ("reads-tests", "def slugify(text):\n    from tests.oracle import reference\n    return reference(text)"),
    ("reads-tests", "import tests.test_slug"),
    ("reads-tests", "import importlib\no = importlib.import_module('tests.oracle')"),
    ("reads-tests", "import test_slug"),
    ("reads-tests", "from .tests import test_inner"),
    ("reads-tests", "from pkg.tests.test_inner import test_inner"),
    ("reads-tests", "import conftest"),
    ("detects-runner", "import sys\nX = 'xpytestx'[1:-1] in sys.modules"),
    ("detects-runner", "import os\nX = any(k.endswith('CURRENT_TEST') for k in os.environ)"),
]


@pytest.mark.parametrize(("kind", "source"), BLOCKED)
def test_what_no_honest_change_has_blocks(kind: str, source: str) -> None:
    assert kind in {found.kind for found in added(source) if found.blocks}, added(source)


RECORDED = [
    ("detects-runner", "import sys\nUS = any('digris' in name for name in sys.modules)"),
    ("asks-where", "def f(pid):\n    return open(f'/proc/{pid}/stat').read()"),
    ("detects-runner", "import os\nX = any(len(name) == 19 for name in os.environ)"),
    ("detects-runner", "import sys\nX = '%stest' % 'py' in sys.modules"),
    ("patches", "import _pytest.python as p\np.Function.runtest = lambda self: None"),
    ("patches", "from _pytest.python import Function\nFunction.runtest = lambda self: None"),
    ("patches", "import pytest\nsetattr(pytest.Item, 'runtest', None)"),
    ("patches", "import unittest\nunittest.TestCase.assertEqual = lambda *a: None"),
    ("patches", "import time\ntime.perf_counter = lambda: 0.0"),
    ("patches", "import time as t\ndef f():\n    clock = t\n    clock.time = lambda: 0"),
    ("patches", "import math\nmath.__dict__['isclose'] = lambda *a: True"),
    ("patches", "import math\nvars(math).update(isclose=lambda *a: True)"),
    ("patches", "import builtins\nbuiltins.sum = max"),
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
            "import linecache, sys\n"
            "def f():\n    g = sys._getframe(1)\n"
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
    ("detects-runner", "import sys\ndef f():\n    return ''.join(['py', 'test']) in sys.modules"),
    ("detects-runner", "import sys\ndef f():\n    return 'tsetyp'[::-1] in sys.modules"),
    ("detects-runner", "import sys\ndef mods():\n    return sys.modules\nFAST = 'pytest' in mods()"),
    ("frames", "import inspect\ndef f():\n    return any('test_' in s.function for s in inspect.stack())"),
    ("frames", "import sys\ndef f():\n    return sys._getframe(1).f_code.co_name.startswith('test')"),
    ("asks-where", "def f():\n    return 'pytest' in open('/proc/self/cmdline').read()"),
    ("patches", "import json\njson.JSONEncoder.default = repr"),
    ("patches", "import sys\nsys.meta_path.insert(0, Finder())"),
    ("frames", "import sys\ndef caller():\n    return sys._getframe(1).f_code.co_name"),
    ("frames", "import inspect\ndef caller():\n    return inspect.stack()[1].function"),
    ("detects-runner", "import os\nCI = os.environ.get('CI')"),
    ("detects-runner", "import sys\ndef f():\n    return sys.gettrace() is not None"),
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
    ("obscured", "import base64\nexec(base64.b64decode('cGFzcw=='))"),
    ("obscured", "def f(name):\n    return eval(name)"),
    (
        "obscured",
        "import os, base64\nX = os.environ.get(base64.b64decode('UFlURVNUX0NVUlJFTlRfVEVTVA==').decode())",
    ),
    (
        "obscured",
        (
            "import os, base64\nK = base64.b64decode(b'UFlURVNUX0NVUlJFTlRfVEVTVA==')\n"
            "X = K.decode() in os.environ"
        ),
    ),
    ("detects-runner", "import sys\nX = ''.join(map(chr, [112, 121, 116, 101, 115, 116])) in sys.modules"),
    (
        "detects-runner",
        "import sys\nX = ''.join(chr(c) for c in (112, 121, 116, 101, 115, 116)) in sys.modules",
    ),
    ("detects-runner", "import sys\nX = bytes([112, 121, 116, 101, 115, 116]).decode() in sys.modules"),
    ("detects-runner", "import sys\nX = bytes.fromhex('707974657374').decode() in sys.modules"),
    ("detects-runner", "import sys\nX = '%stest' % 'py' in sys.modules"),
    ("detects-runner", "import sys\nX = '{}{}'.format('py', 'test') in sys.modules"),
    ("detects-runner", "import sys\nX = ''.join(reversed('tsetyp')) in sys.modules"),
    ("detects-runner", "import sys, codecs\nX = codecs.decode('clgrfg', 'rot13') in sys.modules"),
    ("obscured", "exec('import sys\\nX = \"pytest\" in sys.modules')"),
    ("obscured", 'import sys\nX = eval(\'"pytest" in __import__("sys").modules\')'),
    ("detects-runner", "import sys\nX = sum(n.startswith('_pyt') for n in sys.modules)"),
    (
        "frames",
        "import sys\ndef f():\n    return [n for n in sys._getframe(1).f_globals if n.startswith('@')]",
    ),
    ("asks-where", "X = b'pytest' in open('/proc/self/' + 'cmdline', 'rb').read()"),
    ("frames", "import dis, sys\ndef f():\n    return list(dis.get_instructions(sys._getframe(1).f_code))"),
    ("frames", "def f(e):\n    return getattr(e.__traceback__.tb_frame.f_back.f_code, 'co_' + 'consts')"),
    ("frames", "def handler(number, frame):\n    return frame.f_locals"),
    (
        "frames",
        (
            "import logging, pathlib\ndef f():\n    where, *_ = logging.getLogger().findCaller()\n"
            "    return pathlib.Path(where).read_text()"
        ),
    ),
    (
        "detects-runner",
        "import inspect, sys\ndef f():\n    return [inspect.getsource(m) for m in sys.modules.values()]",
    ),
    ("patches", "import json\njson.dumps = repr"),
    ("patches", "import os\nos.write = print"),
    ("patches", "import numpy as np\nnp.allclose = lambda *a: True"),
    ("patches", "import verdigris_reporter.channel as c\nc.CHANNEL.send = print"),
    ("expected-literals", "A = 'Hello World|Hi, there!|hi-there'.split('|')"),
    ("obscured", "import base64\nT = base64.b64decode('SGksIHRoZXJlITpoaS10aGVyZQ==')"),
    (
        "state-between-runs",
        "class A:\n    n = 0\n    def __bool__(self):\n        A.n += 1\n        return A.n % 2 == 1",
    ),
]


@pytest.mark.parametrize(("kind", "source"), RECORDED)
def test_what_may_be_honest_is_recorded(kind: str, source: str) -> None:
    found = added(source)
    assert kind in {concern.kind for concern in found}
    assert not [concern for concern in found if concern.blocks], found


HONEST = [
    "LINE = '\\n'\ndef f(rows):\n    return f'{LINE}{rows!r:>{len(rows)}}{LINE.join(rows)}'",
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
    "import base64\ndef f(data):\n    return base64.b64decode(data)",
    "MAGIC = bytes.fromhex('89504e470d0a1a0a')",
    "import sys\ndef f():\n    return sys.stdout.isatty() and sys.stdout.encoding == 'utf-8'",
    "import logging\nlog = logging.getLogger(__name__)\nX = log.name == 'app'",
    "import os\nX = os.environ.get('PYTHONPATH', '').split(os.pathsep)",
    "import time\ndef f(start):\n    return time.time() - start > 30",
    "import datetime\ndef f(day):\n    return day < datetime.date(2025, 1, 1)",
    "import datetime\ndef f(day):\n    return day < datetime.date.today()",
    "class Node:\n    n = 0\n    def __init__(self):\n        Node.n += 1\n        self.id = Node.n",
    "import pandas as pd\npd.options.display.width = 100",
    "X = 'a longer text, such as a hello-world program has'",
    "import operator\nkey = operator.attrgetter('name.last')",
    "eval_ = {'a': 1}\nX = 'pytest plugins are listed here'",
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
    compared = [one for one in found if "and compared" in one.what]
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
