"""Honest work of more than one turn: refactors, wrong tests, merges, and people who work alongside."""

from __future__ import annotations

import json
import sys
import sysconfig
from pathlib import Path

import pytest

from support.cli import Cli
from support.http_servers import JsonHandler, listening
from support.shape import accepted, claim, reds, start, whole, write

pytestmark = pytest.mark.slow

PRICES = """
--- shop/__init__.py
--- shop/prices.py
def gross(net):
    return net + net // 5


def label(net):
    return f"{gross(net)} EUR"


def unused(net):
    return gross(net) - net


def old_gross(net):
    return net * 6 // 5
--- tests/test_prices.py
from shop.prices import gross, label


def test_gross():
    assert gross(100) == 120


def test_label():
    assert label(100) == "120 EUR"
--- tests/test_old.py
from shop.prices import old_gross


def test_old_gross():
    assert old_gross(100) == 120
"""

NET_RED = """
--- tests/test_net.py
from shop import prices


def test_net():
    assert prices.net(120) == 100
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return start(tmp_path / "repo", PRICES)


def _edit(cli: Cli, path: str, old: str, new: str) -> None:
    text = cli.repo.read(path).decode()
    assert old in text
    cli.repo.write(path, text.replace(old, new))


def _net(cli: Cli) -> None:
    """One plain turn."""
    write(cli, NET_RED)
    claim(cli, "shop/prices.py")
    _edit(cli, "shop/prices.py", "def label", "def net(gross):\n    return gross * 5 // 6\n\n\ndef label")
    accepted(cli.tdd("settle", "--json"))


def test_dead_code_goes_and_with_its_tests_when_a_person_gives_them_up(cli: Cli) -> None:
    cli.ok("refactor", "begin")
    cli.ok("revise", "tests/test_old.py", "--why", "nobody calls old_gross")
    text = cli.repo.read("shop/prices.py").decode()
    cli.repo.write("shop/prices.py", text.partition("\n\n\ndef unused")[0] + "\n")
    (cli.root / "tests/test_old.py").unlink()
    accepted(cli.tdd("refactor", "end", "--json"))
    _net(cli)
    assert whole(cli)


def test_a_symbol_is_renamed_across_source_and_tests(cli: Cli) -> None:
    cli.ok("refactor", "begin")
    for path in ("shop/prices.py", "tests/test_prices.py", "tests/test_old.py"):
        text = cli.repo.read(path).decode()
        cli.repo.write(path, text.replace("gross", "with_tax").replace("net", "price"))
    accepted(cli.tdd("refactor", "end", "--json"))
    assert whole(cli)


def test_an_intended_change_that_breaks_two_other_tests(cli: Cli) -> None:
    write(
        cli,
        """
--- tests/test_reduced.py
from shop import prices


def test_reduced_rate():
    assert prices.gross(100, rate=10) == 110


def test_the_usual_rate_is_now_a_quarter():
    assert prices.gross(200) == 250
""",
    )
    ids = claim(cli, "shop/prices.py")
    _edit(
        cli,
        "shop/prices.py",
        "def gross(net):\n    return net + net // 5",
        "def gross(net, rate=25):\n    return net + net * rate // 100",
    )
    edited = cli.repo.read("shop/prices.py")
    cli.ok("test-bug", "tests/test_prices.py:5", "tests/test_prices.py:9", "the usual rate rises to 25 %")
    assert cli.repo.read("shop/prices.py") != edited
    _edit(cli, "tests/test_prices.py", "== 120", "== 125")
    _edit(cli, "tests/test_prices.py", '"120 EUR"', '"125 EUR"')
    assert set(claim(cli, "shop/prices.py")) > set(ids)
    assert cli.repo.read("shop/prices.py") == edited, "the edits came back with the claim"
    accepted(cli.tdd("settle", "--json"))
    assert whole(cli)


def test_a_requirement_that_changes_is_a_plain_turn_after_a_revision(cli: Cli) -> None:
    cli.ok("revise", "tests/test_prices.py", "--why", "labels show no currency any more")
    _edit(cli, "tests/test_prices.py", 'label(100) == "120 EUR"', 'label(100).endswith("120")')
    claim(cli, "shop/prices.py")
    _edit(cli, "shop/prices.py", "{gross(net)} EUR", "{gross(net)}")
    accepted(cli.tdd("settle", "--json"))
    assert whole(cli)


def test_main_is_merged_in_between_two_turns(cli: Cli) -> None:
    cli.repo.git("switch", "--quiet", "--create", "other")
    cli.repo.git("rm", "--quiet", "tests/test_old.py")
    cli.repo.write("shop/stock.py", "def left(have, sold):\n    return have - sold\n")
    cli.repo.write(
        "tests/test_stock.py",
        "from shop.stock import left\n\n\ndef test_left():\n    assert left(3, 1) == 2\n",
    )
    cli.repo.commit("a team mate's work")
    cli.repo.git("switch", "--quiet", "main")
    _net(cli)
    cli.repo.commit("ours")
    cli.ok("sync", "--", "merge", "--quiet", "--no-edit", "other")
    assert not (cli.root / "tests/test_old.py").exists()
    write(
        cli,
        """
--- tests/test_sold_out.py
from shop import stock


def test_sold_out():
    assert stock.sold_out(2, 2)
    assert not stock.sold_out(2, 1)
""",
    )
    claim(cli, "shop/stock.py")
    _edit(
        cli,
        "shop/stock.py",
        "sold\n",
        "sold\n\n\ndef sold_out(have, sold):\n    return left(have, sold) <= 0\n",
    )
    accepted(cli.tdd("settle", "--json"))
    assert whole(cli)


def test_a_person_saves_documents_and_another_module_in_the_middle_of_a_turn(cli: Cli) -> None:
    """The module twice, with the same text: it joins the claim, and nothing is lost."""
    write(cli, NET_RED)
    claim(cli, "shop/prices.py")
    cli.repo.write("README.md", "# Shop\n")
    cli.repo.write("docs/notes.txt", "ask Ann about the rates\n")
    cli.repo.write("shop/rates.py", "USUAL = 20\n")
    _edit(cli, "shop/prices.py", "def label", "def net(gross):\n    return gross * 5 // 6\n\n\ndef label")
    cli.repo.write("shop/rates.py", "USUAL = 20\n")
    cli.repo.git("add", "README.md")
    cli.repo.git("commit", "--quiet", "--message", "a person commits a document")
    refused = json.loads(cli.tdd("settle", "--json").out)
    assert [reason.partition(":1:")[0] for reason in refused["reasons"]] == ["unasked: shop/rates.py"]
    accepted(cli.tdd("settle", "--owe", "--json"))
    assert cli.repo.read("docs/notes.txt") == b"ask Ann about the rates\n"
    assert cli.repo.read("shop/rates.py") == b"USUAL = 20\n"
    assert whole(cli)


def test_an_editable_install_in_the_projects_own_environment(tmp_path: Path) -> None:
    """No path leads to the source but the one that the installation left in site-packages."""
    cli = start(
        tmp_path / "repo",
        """
--- .gitignore
.venv/
--- src/shop/__init__.py
--- src/shop/prices.py
def gross(net):
    return net + net // 5
--- tests/test_prices.py
from shop.prices import gross


def test_gross():
    assert gross(100) == 120
""",
        python=".venv/bin/python",
    )
    made = cli.root / ".venv"
    packages = made / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    packages.mkdir(parents=True)
    (made / "bin").mkdir()
    (made / "bin/python").symlink_to(sys.executable)
    (made / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix, 'bin')}\n")
    (packages / "shared.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    (packages / "__editable__.shop-0.1.pth").write_text(f"{cli.root / 'src'}\n")
    write(cli, NET_RED)
    claim(cli, "src/shop/prices.py")
    _edit(cli, "src/shop/prices.py", "def gross", "def net(gross):\n    return gross * 5 // 6\n\n\ndef gross")
    assert accepted(cli.tdd("settle", "--json")) == []
    assert whole(cli)


class _Stock(JsonHandler):
    def do_GET(self) -> None:  # noqa: N802 - as the library calls it
        self.answer_json(7)


def test_a_server_that_runs_on_the_machine_already(tmp_path: Path) -> None:
    before = """
--- stock.py
import os
from urllib.request import urlopen


def have():
    with urlopen(os.environ["SHOP_STOCK"]) as answer:
        return int(answer.read())
--- tests/test_stock.py
import stock


def test_have():
    assert stock.have() == 7
"""
    red = """
--- tests/test_left.py
import stock


def test_left():
    assert stock.left(sold=3) == 4
"""
    with listening(_Stock) as url:
        env = {"SHOP_STOCK": url}
        cli = start(tmp_path / "repo", before, env=env, network="host")
        write(cli, red)
        claim(cli, "stock.py", env)
        text = cli.repo.read("stock.py").decode()
        cli.repo.write("stock.py", text + "\n\ndef left(sold):\n    return have() - sold\n")
        assert accepted(cli.tdd("settle", "--json", env=env)) == []
    assert whole(cli)


def test_a_flaky_test_beside_the_work_is_a_concern(tmp_path: Path) -> None:
    """It fails once whenever it finds that something was left for it."""
    flaky = """
--- tests/test_flaky.py
import sys
from pathlib import Path

LEFT = Path(__file__).parents[1] / ".pytest_cache" / "left"


def test_flaky():
    assert not (LEFT.exists() and "shop.prices" in sys.modules)
"""
    cli = start(tmp_path / "repo", PRICES + flaky)
    write(cli, NET_RED)
    claim(cli, "shop/prices.py")
    _edit(cli, "shop/prices.py", "def label", "def net(gross):\n    return gross * 5 // 6\n\n\ndef label")
    cli.repo.write(".pytest_cache/left")
    concerns = accepted(cli.tdd("settle", "--json"))
    assert "tests/test_flaky.py::test_flaky" in str(concerns)
    assert whole(cli)


@pytest.mark.usefixtures("as_for_users")
def test_turns_follow_each_other_and_a_refactor(cli: Cli) -> None:
    _net(cli)
    cli.ok("refactor", "begin")
    _edit(cli, "shop/prices.py", "net + net // 5", "net + tax(net)")
    _edit(cli, "shop/prices.py", "def gross", "def tax(net):\n    return net // 5\n\n\ndef gross")
    accepted(cli.tdd("refactor", "end", "--json"))
    write(
        cli,
        """
--- tests/test_tax.py
from shop.prices import tax


def test_no_tax_on_little():
    assert tax(9) == 0
    assert tax(10) == 2
""",
    )
    claim(cli, "shop/prices.py")
    _edit(cli, "shop/prices.py", "return net // 5\n", "return net // 5 if net >= 10 else 0\n")
    accepted(cli.tdd("settle", "--json"))
    assert reds(cli) == []
    assert whole(cli)
