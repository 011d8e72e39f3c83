"""The layout of figures assumes a width of their texts. This assumed width is compared with the drawn width, whatever
fonts the machine has.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import report_synthetic as synthetic
from chromium import needs_chromium
from tabs import Tab, in_a_tab

from towtank.report import theme
from towtank.report.content import build_document
from towtank.report.html import lean, render

pytestmark = pytest.mark.waits

# Widths of the characters of names, numbers and units in Helvetica, in thousandths of the font size (Adobe Core 14 AFM,
# Helvetica.afm). Arial and Liberation Sans have the same widths.
_WIDTHS = {
    **dict.fromkeys("abdeghnopqu0123456789_", 556),
    **dict.fromkeys("cksvxyz", 500),
    **dict.fromkeys("tf. ,/:[]", 278),
    **dict.fromkeys("ijl", 222),
    "r": 333, "m": 833, "w": 722, "-": 333, "(": 333, ")": 333,
}  # fmt: skip
MEAN_AT_MOST, SINGLE_AT_MOST = 0.03, 0.10
# Script that returns each text of a figure with its drawn width, relative to its font size.
_TEXTS = """[...document.querySelectorAll(".static svg text, .live svg text")].flatMap((text) => {
  const shown = text.textContent, width = text.checkVisibility() ? text.getComputedTextLength() : 0;
  const { fontSize, fontWeight } = getComputedStyle(text);
  const size = parseFloat(fontSize);
  return width && size && Number(fontWeight) < 600 ? [[shown, width / size, Boolean(text.closest(".live"))]] : [];
})"""
_OPEN = "for (const part of document.querySelectorAll('details')) part.open = true; 0"


@pytest.fixture(scope="module")
def html() -> str:
    return render(build_document(synthetic.results(verdicts={"r002": "suspect"})))


def errors(texts: list[Any], *, live: bool) -> list[float]:
    """Return the relative errors of the assumed widths, compared with the drawn widths."""
    found = []
    for shown, width, is_live in texts:
        if is_live is live and len(shown) > 5 and all(letter in _WIDTHS for letter in shown):
            found.append(width / (sum(_WIDTHS[letter] for letter in shown) / 1000) - 1)
    return found


@needs_chromium
@pytest.mark.browser
@pytest.mark.xdist_group("browser")
def test_letters_of_figures_are_as_wide_as_the_figures_are_laid_out_for(tmp_path: Path, html: str) -> None:
    path, wide = tmp_path / "page.html", tmp_path / "wide.html"
    path.write_text(html, "utf-8")
    wide.write_text(html.replace("</style>", "svg text { letter-spacing: .06em; }</style>", 1), "utf-8")

    async def found(tab: Tab) -> list[Any]:
        seen = []
        for each in (path, wide):
            await tab.load(each)
            await tab.evaluate(_OPEN)
            drawn = await tab.evaluate(_TEXTS)
            await tab.load_live(each)
            await tab.evaluate(_OPEN)
            seen += [drawn, await tab.evaluate(_TEXTS)]
        return [*seen, tab.logged, tab.requested]

    drawn, live, spaced, _, logged, requested = in_a_tab(found)
    assert logged == requested == []
    for texts, is_live in ((drawn, False), (live, True)):
        off = errors(texts, live=is_live)
        assert len(off) > 50
        assert abs(sum(off) / len(off)) <= MEAN_AT_MOST
        assert max(map(abs, off)) <= SINGLE_AT_MOST
    off = errors(spaced, live=False)
    assert sum(off) / len(off) > MEAN_AT_MOST


def test_all_texts_of_a_drawing_have_the_font_of_its_root() -> None:
    text = f'<text font-family="{theme.FONT}" class="a" pointer-events="none" x="1.23456">x y="7.77777"</text>'
    drawing = f'<svg viewBox="0 0 7 5"><path d="M1,2.999999L3.14159,4" class="mark"/>{text}</svg>'
    assert lean(drawing) == (
        f'<svg font-family="{theme.FONT}" viewBox="0 0 7 5"><path d="M1,2.99L3.14,4"/>'
        '<text x="1.23">x y="7.77777"</text></svg>'
    )


def test_colours_of_a_drawing_are_short_and_what_is_opaque_by_itself_does_not_say_so() -> None:
    drawing = '<svg><path fill="rgb(171, 1, 230)" opacity="1"/><path opacity="0.1"/><text>rgb(1, 2, 3)</text></svg>'
    assert lean(drawing).partition("<path")[2] == (
        ' fill="#ab01e6"/><path opacity="0.1"/><text>rgb(1, 2, 3)</text></svg>'
    )


def test_the_page_and_its_figures_have_the_same_fonts(html: str) -> None:
    assert f"--sans: {theme.FONT};" in html
    families = set(re.findall(r'font-family[:=] ?"?([^";}]*)', html.split("<script>", maxsplit=1)[0]))
    foreign = [family for family in families if family not in (theme.FONT, "var(--sans)", "Report Sans", "inherit")]
    assert [family for family in foreign if "monospace" not in family and "DejaVu Sans Mono" not in family] == []
