"""Right-to-left names, and names that change the text direction, are isolated in all outputs."""

from __future__ import annotations

import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import report_synthetic as synthetic
from chromium import needs_chromium
from tabs import Tab, in_a_tab

from towtank.report import bidi
from towtank.report.content import build_document
from towtank.report.html import render

pytestmark = pytest.mark.waits

HEBREW, ARABIC, TURNED = "\u05d0\u05d9\u05e0\u05d3\u05e7\u05e1-12", "\u0628\u062d\u062b_7", "photo\u202egnp.exe"
NAMES = [HEBREW, ARABIC, TURNED]
FSI, PDI = "\u2068", "\u2069"
_FOREIGN = re.compile("[\u0590-\u08ff\u202a-\u202e]")
# Script that checks each line of text: letters outside of `bdi` must run from left to right in the order of the text.
# The script returns the lines with letters in the wrong order.
_ORDER = """(() => {
  const wrong = [];
  let compared = 0;
  for (const block of document.querySelectorAll("h1, h2, h3, p, li, summary, figcaption, dd, dt, td, th")) {
    if (!block.checkVisibility() || !block.querySelector("bdi")) continue;
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    let last = null;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.parentElement.closest("bdi")) continue;
      for (let place = 0; place < node.length; place++) {
        if (!node.data[place].trim()) continue;
        const range = document.createRange();
        range.setStart(node, place);
        range.setEnd(node, place + 1);
        const [box] = range.getClientRects();
        if (!box || !box.width) continue;
        compared++;
        if (last && Math.abs(box.top - last.top) < 3 && box.left < last.left - 0.5) {
          wrong.push(block.textContent.trim().slice(0, 100));
          break;
        }
        last = box;
      }
    }
  }
  return { wrong, compared };
})()"""


class Texts(HTMLParser):
    """Collects all attributes of a page, and its texts outside of `bdi` elements, scripts and drawings."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []
        self.inside: list[str] = []
        self.attributes: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "br", "hr"):
            self.open.append(tag)
        self.attributes += [value for name, value in attrs if value and not name.startswith("data-")]

    def handle_endtag(self, tag: str) -> None:
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not {"script", "style", "svg", "title"}.intersection(self.open):
            (self.inside if "bdi" in self.open else self.outside).append(data)


@pytest.fixture(scope="module", params=NAMES, ids=["hebrew", "arabic", "turned"])
def page(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param, render(build_document(synthetic.hostile(request.param)))


def test_every_name_of_the_page_is_isolated(page: tuple[str, str]) -> None:
    name, html = page
    found = Texts(html)
    assert [text for text in found.outside if _FOREIGN.search(text)] == []
    assert len(found.inside) > 100
    assert {text for text in found.inside if name not in text} == set()
    bare = [text for text in found.attributes if re.sub(f"{FSI}[^{FSI}{PDI}]*{PDI}", "", text) != text]
    assert bare
    assert [text for text in found.attributes if _FOREIGN.search(re.sub(f"{FSI}[^{FSI}{PDI}]*{PDI}", "", text))] == []


def test_names_in_figures_are_isolated(page: tuple[str, str]) -> None:
    name, html = page
    isolated = f"{FSI}{name}{PDI}"
    specifications = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    texts = [text for specification in specifications for text in strings(json.loads(specification))]
    texts += re.findall(r"<text[^>]*>([^<]*)</text>", html)
    named = [text for text in texts if _FOREIGN.search(text)]
    assert len(named) > 20
    assert [text for text in named if _FOREIGN.search(text.replace(isolated, "")) and "…" not in text] == []


def strings(part: Any) -> list[str]:
    if isinstance(part, str):
        return [part]
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return [text for each in parts for text in strings(each)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("users <b>", "users &lt;b&gt;"),
        (f"with {HEBREW}, 5 ms", f"with <bdi>{HEBREW}</bdi>, 5 ms"),
        (f"“{ARABIC}”: met", f"“<bdi>{ARABIC}</bdi>”: met"),
        (f"a {HEBREW} {ARABIC} b", f"a <bdi>{HEBREW} {ARABIC}</bdi> b"),
        (f"dir/{HEBREW}.txt.", f"dir/{HEBREW}.txt.".replace(f"dir/{HEBREW}.txt", f"<bdi>dir/{HEBREW}.txt</bdi>")),
        (f"{TURNED} is full", f"<bdi>{TURNED}</bdi> is full"),
        # A word that opens a directional isolate gets the closing character at its end. A closing character without an
        # isolate is removed.
        ("a\u2067b c", f"<bdi>a\u2067b{PDI}</bdi> c"),
        (f"a{PDI}\u202eb c", "<bdi>a\u202eb</bdi> c"),
    ],
)  # fmt: skip
def test_words_from_right_to_left_are_isolated_without_what_stands_beside_them(text: str, expected: str) -> None:
    assert str(bidi.marked(text)) == expected
    as_plain = expected.replace("<bdi>", FSI).replace("</bdi>", PDI)
    assert bidi.plain(text) == as_plain.replace("&lt;", "<").replace("&gt;", ">")


def test_long_words_take_no_time() -> None:
    begin = time.process_time()
    bidi.marked("a" * 200_000 + " \u05d0 " + "\u202e" * 50_000)
    assert time.process_time() - begin < 5


def test_specifications_keep_data_and_scales_alike() -> None:
    name = f"{FSI}{HEBREW}{PDI}"
    asked = {"data": [{"x": HEBREW, "y": 1.5}], "scale": {"domain": [HEBREW, None]}}
    assert bidi.of_specification(asked) == {"data": [{"x": name, "y": 1.5}], "scale": {"domain": [name, None]}}


@needs_chromium
@pytest.mark.browser
@pytest.mark.xdist_group("browser")
def test_what_stands_beside_a_name_keeps_its_order(tmp_path: Path, page: tuple[str, str]) -> None:
    path, bare = tmp_path / "page.html", tmp_path / "bare.html"
    path.write_text(page[1], "utf-8")
    style = "<style>bdi, td, th, dd, code, caption { unicode-bidi: normal; }</style></head>"
    bare.write_text(page[1].replace("</head>", style, 1), "utf-8")

    async def found(tab: Tab) -> list[Any]:
        seen = []
        for each in (path, bare):
            await tab.load(each)
            await tab.evaluate("for (const part of document.querySelectorAll('details')) part.open = true; 0")
            seen.append(await tab.evaluate(_ORDER))
        return seen

    isolated, without = in_a_tab(found)
    assert isolated["wrong"] == []
    assert isolated["compared"] > 1000
    assert without["wrong"]
