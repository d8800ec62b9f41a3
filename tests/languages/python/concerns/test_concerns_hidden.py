from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from verdigris.languages.python.concerns import concerns

if TYPE_CHECKING:
    from verdigris.languages.findings import Concern

TESTS = {
    "tests/test_slug.py": (
        "from pkg.slug import slugify\n\n\ndef test_rows():\n"
        '    assert slugify("Hello World") == "hello-world"\n'
        '    assert slugify("Hi, there!") == "hi-there"\n'
    )
}
PATH = "pkg/slug.py"
NAME = base64.b64encode(b"PYTEST_CURRENT_TEST").decode()


def added(source: str) -> tuple[Concern, ...]:
    return concerns({PATH: ""}, {PATH: source}, TESTS)


@pytest.mark.parametrize(
    "source",
    [
        f"import os, base64\nX = os.environ.get(base64.b64decode('{NAME}').decode())",
        f"import os, base64\nK = base64.b64decode(b'{NAME}')\nX = K.decode() in os.environ",
        "import sys\nX = ''.join(map(chr, [112, 121, 116, 101, 115, 116])) in sys.modules",
        "import sys\nX = ''.join(chr(c) for c in (112, 121, 116, 101, 115, 116)) in sys.modules",
        "import sys\nX = bytes([112, 121, 116, 101, 115, 116]).decode() in sys.modules",
        "import sys\nX = bytes.fromhex('707974657374').decode() in sys.modules",
        "import sys\nX = '%stest' % 'py' in sys.modules",
        "import sys\nX = '{}{}'.format('py', 'test') in sys.modules",
        "import sys\nX = 'xpytestx'[1:-1] in sys.modules",
        "import sys\nX = ''.join(reversed('tsetyp')) in sys.modules",
        "import sys, codecs\nX = codecs.decode('clgrfg', 'rot13') in sys.modules",
        "exec('import sys\\nX = \"pytest\" in sys.modules')",
        'import sys\nX = eval(\'"pytest" in __import__("sys").modules\')',
    ],
)
def test_a_name_is_read_however_it_is_put_together(source: str) -> None:
    assert [c for c in added(source) if c.kind == "detects-runner" and c.blocks], source


@pytest.mark.parametrize(
    "source",
    [
        "import sys\nX = '_pytest' in type(sys.stdout).__module__",
        "import sys\nX = any('Rewriting' in type(h).__name__ for h in sys.meta_path)",
        "import logging\nX = [h for h in logging.getLogger().handlers if 'Capture' in type(h).__name__]",
        "import os\nX = any(k.endswith('CURRENT_TEST') for k in os.environ)",
        "import sys\nX = sum(n.startswith('_pyt') for n in sys.modules)",
        "import sys\ndef f():\n    return [n for n in sys._getframe(1).f_globals if n.startswith('@')]",
        "X = b'pytest' in open('/proc/self/' + 'cmdline', 'rb').read()",
        "import subprocess\nX = 'pytest' in subprocess.run(['ps', 'ax'], text=True).stdout",
    ],
)
def test_a_runner_is_told_by_what_it_leaves_around(source: str) -> None:
    assert [c for c in added(source) if c.kind == "detects-runner" and c.blocks], source


@pytest.mark.parametrize(
    "source",
    [
        "import dis, sys\ndef f():\n    return list(dis.get_instructions(sys._getframe(1).f_code))",
        "import operator, sys\nlook = operator.attrgetter('f_back.f_code.co_consts')",
        "def f(e):\n    return getattr(e.__traceback__.tb_frame.f_back.f_code, 'co_' + 'consts')",
        "def handler(number, frame):\n    return frame.f_locals",
        (
            "import logging, pathlib\ndef f():\n    where, *_ = logging.getLogger().findCaller()\n"
            "    return pathlib.Path(where).read_text()"
        ),
        "import inspect, sys\ndef f():\n    return [inspect.getsource(m) for m in sys.modules.values()]",
    ],
)
def test_a_caller_is_not_read_by_another_way(source: str) -> None:
    assert [c for c in added(source) if c.kind == "frames" and c.blocks], source


@pytest.mark.parametrize(
    "source",
    [
        "import json\njson.dumps = repr",
        "import os\nos.write = print",
        "import numpy as np\nnp.allclose = lambda *a: True",
        "import verdigris_reporter.channel as c\nc.CHANNEL.send = print",
    ],
)
def test_what_reports_and_comparisons_are_made_of_is_not_patched(source: str) -> None:
    assert [c for c in added(source) if c.kind == "patches" and c.blocks], source


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("expected-literals", "A = 'Hello World|Hi, there!|hi-there'.split('|')"),
        ("expected-literals", f"import base64\nT = base64.b64decode('{'SGksIHRoZXJlITpoaS10aGVyZQ=='}')"),
        ("state-between-runs", "import datetime as d\nX = d.date.today() < d.date(2031, 1, 1)"),
        ("state-between-runs", "import time\nX = time.time() > 1900000000"),
        ("state-between-runs", ("class A:\n    n = 0\n    def __bool__(self):\n        A.n += 1\n"
         "        return A.n % 2 == 1")),
        ("state-between-runs", ("def f(p):\n    n = p.stat().st_size if p.exists() else 0\n"
         "    p.write_text('x' * n)\n    return n")),
    ],
)  # fmt: skip
def test_what_may_be_chance_is_noted(kind: str, source: str) -> None:
    found = [c for c in added(source) if c.kind == kind]
    assert found
    assert not any(c.blocks for c in found)


@pytest.mark.parametrize(
    "source",
    [
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
    ],
)
def test_honest_code_is_no_concern(source: str) -> None:
    assert added(source) == ()


HOOK = "def pytest_runtest_setup(item):\n    pass\n"


@pytest.mark.parametrize(
    ("pyproject", "blocks"),
    [
        ('[project]\nname = "pytest-nice"\n', False),
        ('[project]\nname = "nice"\n[project.entry-points.pytest11]\nnice = "nice"\n', False),
        ('[project]\nname = "nice"\n', True),
        ("not = [toml", True),
        ("", True),
    ],
)
def test_hooks_are_the_business_of_a_plugin(pyproject: str, blocks: bool) -> None:
    found = concerns({PATH: ""}, {PATH: HOOK}, TESTS, pyproject=pyproject)
    assert [(c.kind, c.blocks) for c in found] == [("framework-in-source", blocks)]


def test_answers_in_a_data_file_are_noted() -> None:
    found = concerns({}, {}, TESTS, data={"pkg/a.json": '{"Hi, there!": "hi-there"}', "b.txt": "hi-there"})
    assert [(c.path, c.kind, c.blocks) for c in found] == [("pkg/a.json", "expected-literals", False)]
