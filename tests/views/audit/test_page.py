from __future__ import annotations

import json
import re
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from support import audits
from support.browser import first_pixel, run_chromium
from verdigris.core.value import replace
from verdigris.views.audit.page import render_page

PAGE = render_page(audits.EVERYTHING)
EVIL = "\"><img src=x onerror=alert(1)>'</script><script>alert(2)</script>"


class _Reader(HTMLParser):
    """Each tag with its attributes, and whether every element that is opened is closed in order."""

    VOID = frozenset({"meta", "br", "input", "img", "link"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.quick
def test_elements_are_closed_and_nothing_is_fetched() -> None:
    read = _Reader(PAGE)
    assert read.open == []
    links = [attrs[name] for _, attrs in read.tags for name in ("src", "href", "srcset") if name in attrs]
    assert links == [f"#u{number}" for number in range(1, 11)]
    assert "url(" not in PAGE
    assert "@import" not in PAGE
    assert "default-src 'none'" in PAGE


@pytest.mark.quick
def test_what_comes_from_the_repository_is_escaped_everywhere() -> None:
    unit = replace(
        audits.DRIVEN,
        commit=replace(audits.DRIVEN.commit, title=EVIL, author=EVIL, date=EVIL),
        why=EVIL,
        reds=tuple(
            replace(red, id=EVIL, why=EVIL, path=EVIL, message=EVIL, stub=EVIL) for red in audits.DRIVEN.reds
        ),
        regressed=tuple(replace(one, what=EVIL, path=EVIL) for one in audits.REGRESSED.regressed),
        weakened=tuple(
            replace(one, kind=EVIL, path=EVIL, before=EVIL, after=EVIL) for one in audits.WEAKENED.weakened
        ),
        uncovered=tuple(replace(one, what=EVIL, path=EVIL) for one in audits.UNTESTED.uncovered),
        concerns=tuple(replace(one, what=EVIL, kind=EVIL) for one in audits.DRIVEN.concerns),
        hollow=(EVIL,),
        notes=(EVIL,),
        environment=EVIL,
        paths=(EVIL,),
    )
    page = render_page(replace(audits.report(unit), range=EVIL, version=EVIL, settings={EVIL: EVIL}))
    tags = [tag for tag, _ in _Reader(page).tags]
    assert (tags.count("img"), tags.count("script")) == (0, 1)
    assert not any(name.startswith("on") for _, attrs in _Reader(page).tags for name in attrs)


@pytest.mark.quick
def test_each_unit_unfolds_and_what_blames_is_open_already() -> None:
    units = [a for tag, a in _Reader(PAGE).tags if tag == "details" and "unit" in (a["class"] or "")]
    assert [unit["id"] for unit in units] == [f"u{number}" for number in range(1, 11)]
    assert ["open" in unit for unit in units] == [False, True, True, True, True] + [False] * 5


@pytest.mark.quick
def test_a_unit_shows_reds_stub_losses_and_lines() -> None:
    text = unescape(re.sub("<[^>]+>", "", PAGE))
    for said in (
        "tests/test_cart.py::test_prices_are_added import",
        "+def total(prices):  # STUB:TDD",
        "- assert total([3, 4]) == 7\n+ assert total([3, 4])",
        "   10      value = float(value)\n   11      return round(value, 2)",
        "the value 7 stands in a test too (literal)",
        "liveness was not tried",
        "assert 8 == 7, 50% more",
    ):
        assert said in text


@pytest.mark.quick
def test_outcomes_differ_by_a_mark_and_not_by_colour_alone() -> None:
    dots = re.findall(r'class="dot (\w+)"[^>]*>(.)</a>', PAGE)
    assert len({mark for _, mark in dots}) == 10
    assert {group for group, _ in dots} == {"sound", "blame", "unknown"}


@pytest.mark.quick
def test_of_a_long_list_the_rest_unfolds() -> None:
    reds = tuple(replace(audits.DRIVEN.reds[1], id=f"t.py::test_{number}") for number in range(50))
    page = render_page(audits.report(replace(audits.DRIVEN, reds=reds)))
    assert "<summary>30 more</summary>" in page
    assert page.count("<code class=id>") == 50
    assert _Reader(page).open == []


@pytest.mark.quick
def test_an_empty_range_says_so() -> None:
    assert "There is no commit in this range." in render_page(audits.report())


_UNFOLD = """
<script>
onload = () => {
  const page = document.querySelector("iframe").contentDocument;
  const shown = (what) => [...page.querySelectorAll(what)].filter((one) => one.offsetHeight).length;
  const body = page.querySelector("#u1 .body");
  const seen = {switches: shown("[data-filter]"), units: shown(".unit"), before: body.checkVisibility()};
  page.querySelector("#u1 summary").click();
  document.body.dataset.seen = JSON.stringify({...seen, after: body.checkVisibility()});
};
</script>
"""
_MEASURE = """
<script>
const seen = {};
const frames = [...document.querySelectorAll("iframe")];
onload = () => {
  for (const frame of frames) {
    const page = frame.contentDocument, root = page.documentElement;
    const visible = () => [...page.querySelectorAll(".unit")].filter((unit) => unit.offsetHeight).length;
    const first = {overflow: root.scrollWidth - frame.clientWidth, units: visible()};
    const box = page.querySelector("[data-filter=weakened]");
    box.click();
    first.filtered = visible();
    first.boxShown = box.offsetHeight > 0;
    page.querySelectorAll("[data-filter]").forEach((each) => each.checked && each.click());
    first.none = page.getElementById("none").offsetHeight > 0;
    seen[frame.id] = first;
  }
  document.body.dataset.seen = JSON.stringify(seen);
};
</script>
"""


@pytest.mark.slow
def test_a_browser_shows_it_at_both_widths_and_the_filter_works(tmp_path: Path) -> None:
    long = replace(audits.UNTESTED, why="x" * 400, paths=("a/" * 200,))
    shown = escape(render_page(audits.report(*audits.UNITS, long)))
    frames = "".join(
        f'<iframe id=w{width} style="width:{width}px;height:900px" srcdoc="{shown}"></iframe>'
        for width in (375, 1400)
    )
    harness = tmp_path / "harness.html"
    harness.write_text(f"<!doctype html><body>{frames}{_MEASURE}", "utf-8")
    dumped = run_chromium(tmp_path, "--dump-dom", "--virtual-time-budget=4000", harness.as_uri())
    found = re.search(r'data-seen="([^"]*)"', dumped)
    assert found is not None
    seen = json.loads(unescape(found[1]))
    right = {"overflow": 0, "units": 11, "filtered": 10, "boxShown": True, "none": True}
    assert seen == {"w375": right, "w1400": right}


@pytest.mark.slow
def test_a_screenshot_follows_light_and_dark(tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    page.write_text(PAGE, "utf-8")
    corners = []
    for name, flags in (("light", ()), ("dark", ("--blink-settings=preferredColorScheme=0",))):
        png = tmp_path / f"{name}.png"
        run_chromium(tmp_path, *flags, "--window-size=1400,1000", f"--screenshot={png}", page.as_uri())
        corners.append(first_pixel(png))
    assert corners == [(0xFB, 0xFA, 0xF7), (0x13, 0x18, 0x16)]


@pytest.mark.slow
def test_without_javascript_there_are_no_switches_and_units_unfold(tmp_path: Path) -> None:
    frame = f'<iframe sandbox="allow-same-origin" srcdoc="{escape(PAGE)}"></iframe>'
    harness = tmp_path / "harness.html"
    harness.write_text(f"<!doctype html><body>{frame}{_UNFOLD}", "utf-8")
    dumped = run_chromium(tmp_path, "--dump-dom", "--virtual-time-budget=4000", harness.as_uri())
    found = re.search(r'data-seen="([^"]*)"', dumped)
    assert found is not None
    assert json.loads(unescape(found[1])) == {"switches": 0, "units": 10, "before": False, "after": True}


@pytest.mark.quick
def test_what_a_change_did_unfolds_where_it_is_known() -> None:
    page = render_page(audits.EVERYTHING, {audits.UNTESTED.commit.id: f"-old\n+{EVIL}"})
    assert page.count("what changed in source and tests") == 1
    assert f"<del>-old</del>\n<ins>+{escape(EVIL)}</ins>" in page
    assert _Reader(page).open == []
    assert "what changed in source and tests" not in PAGE
