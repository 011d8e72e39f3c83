"""The first screen of a report is compared with a stored picture, and the length and size of reports are limited.

The picture is reduced to a quarter of its width and height, so that the fonts of other machines change it little. After
an intended change of the page, replace the stored picture by the new picture, whose path the failure prints.
"""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
import report_synthetic as synthetic
from chromium import DARK, dump, needs_chromium, run
from results_1 import copy_of_results_1
from tabs import Tab, in_a_tab

from towtank.report.content import build_document
from towtank.report.html import render
from towtank.report.source import load_results

pytestmark = [pytest.mark.waits, pytest.mark.browser, needs_chromium, pytest.mark.xdist_group("browser")]

KEPT = Path(__file__).parent / "first-screen.png"
WIDTH, HEIGHT = 1280, 900
# Largest allowed mean difference of the pixels, and largest allowed fraction of blocks whose mean differs by more than
# 3 % of the scale. Other fonts only move letters; a missing table moves everything below it. [1]
MEAN_AT_MOST, BLOCKS_AT_MOST = 0.02, 0.06
MANY_BYTES_AT_MOST = 3_000_000
MANY_SCREENS_AT_MOST, KEPT_SCREENS_AT_MOST = 12, 11
# Height of a small screen, which must show question, answer, figure, results and doubts together. [px]
SMALL_HEIGHT = 800
# Size of a phone. [px]
PHONE_WIDTH, PHONE_HEIGHT = 390, 844
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
_LENGTH = """<script>window.addEventListener("load", () => setTimeout(() => say(
  { height: document.documentElement.scrollHeight }), 4000));</script>"""
_FRONT = """<script>window.addEventListener("load", () => setTimeout(() => say(
  [...document.querySelectorAll("#summary .callout, #summary table, #summary .picture")].filter((part) =>
  part.checkVisibility()).map((part) => part.getBoundingClientRect().bottom)), 4000));</script>"""
_SAY = """<script>const say = (found) => {
  const element = document.body.appendChild(document.createElement("pre"));
  element.id = "said";
  element.style.display = "none";
  element.textContent = JSON.stringify(found);
};</script>"""
_COMPARE = """<script>
const reduced = (image) => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [320, 224];
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return [canvas, context.getImageData(0, 0, canvas.width, canvas.height).data];
};
window.addEventListener("load", () => {
  const [canvas, seen] = reduced(document.getElementById("seen"));
  const png = canvas.toDataURL("image/png");
  const image = document.getElementById("kept");
  if (!image) return say({ png });
  const [, kept] = reduced(image);
  const blocks = new Float64Array(20 * 14);
  let sum = 0;
  for (let y = 0; y < 224; y++) {
    for (let x = 0; x < 320; x++) {
      for (let channel = 0; channel < 3; channel++) {
        const place = 4 * (320 * y + x) + channel;
        const difference = (seen[place] - kept[place]) / 255;
        sum += Math.abs(difference);
        blocks[20 * Math.floor(y / 16) + Math.floor(x / 16)] += difference / (3 * 256);
      }
    }
  }
  const changed = blocks.filter((block) => Math.abs(block) > 0.03);
  say({ png, mean: sum / (3 * 320 * 224), blocks: changed.length / blocks.length });
});</script>"""


def said(folder: Path, page: str, script: str) -> Any:
    """Run a script in a page, and return its result.

    The content security policy of the page is removed, because it would block the script.
    """
    path = folder / "measured.html"
    page = _POLICY.sub("", page, count=1)
    end = page.rindex("</body>")
    path.write_text(f"{page[:end]}{_SAY}{script}{page[end:]}", "utf-8")
    shown, log = dump(path, folder / "profile", f"--window-size={WIDTH},{HEIGHT}")
    found = re.search(r'<pre id="said"[^>]*>(.*?)</pre>', shown, re.DOTALL)
    assert found is not None, log
    return json.loads(html.unescape(found[1]))


def screen_of(folder: Path, page: str, *options: str) -> Path:
    """Return a picture of the first screen of a page."""
    path, picture = folder / "page.html", folder / "screen.png"
    path.write_text(page, "utf-8")
    run(path, folder / "profile", f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}", *options)
    return picture


def compared(folder: Path, picture: Path) -> Any:
    """Compare a picture with the stored picture. Write the reduced picture into the folder of the test."""
    images = "".join(
        f'<img id="{name}" src="data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}">'
        for name, path in (("seen", picture), ("kept", KEPT))
        if path.exists()
    )
    found = said(folder, f"<!DOCTYPE html><html><body>{images}</body></html>", _COMPARE)
    (folder / KEPT.name).write_bytes(base64.b64decode(found["png"].partition(",")[2]))
    return found


@pytest.fixture(scope="module")
def page() -> str:
    return render(build_document(synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"})))


def test_the_first_screen_looks_like_the_kept_picture(tmp_path: Path, page: str) -> None:
    found = compared(tmp_path, screen_of(tmp_path, page))
    assert KEPT.exists(), f"tests/report/first-screen.png is missing: create it from {tmp_path / KEPT.name}"
    assert found["mean"] <= MEAN_AT_MOST, (
        f"the first screen changed; if intended, replace tests/report/first-screen.png by {tmp_path / KEPT.name}"
    )
    assert found["blocks"] <= BLOCKS_AT_MOST, (
        f"the first screen changed; if intended, replace tests/report/first-screen.png by {tmp_path / KEPT.name}"
    )


def test_a_first_screen_without_its_table_is_found(tmp_path: Path, page: str) -> None:
    bare = page.replace("</style>", ".numbered-table { display: none; } main { padding-top: 9rem; }</style>", 1)
    found = compared(tmp_path, screen_of(tmp_path, bare))
    assert found["mean"] > MEAN_AT_MOST or found["blocks"] > BLOCKS_AT_MOST


def test_a_dark_first_screen_is_found(tmp_path: Path, page: str) -> None:
    found = compared(tmp_path, screen_of(tmp_path, page, DARK))
    assert found["blocks"] > BLOCKS_AT_MOST


def screens(folder: Path, page: str) -> float:
    """Return the length of a page at a width of 1280 pixels, in screens of 900 pixels."""
    found = said(folder, page, _LENGTH)
    return float(found["height"]) / HEIGHT


def test_many_configurations_and_transactions_stay_short_and_small(tmp_path: Path) -> None:
    page = render(build_document(synthetic.many()))
    assert len(page.encode()) <= MANY_BYTES_AT_MOST
    assert screens(tmp_path, page) <= MANY_SCREENS_AT_MOST


def test_a_study_of_two_configurations_stays_short(tmp_path: Path) -> None:
    folder = copy_of_results_1(tmp_path / "results").path
    assert screens(tmp_path, render(build_document(load_results(folder)))) <= KEPT_SCREENS_AT_MOST


def test_question_answer_figure_results_and_doubts_stand_on_one_small_screen(tmp_path: Path, page: str) -> None:
    for each in (page, render(build_document(load_results(copy_of_results_1(tmp_path / "results").path)))):
        bottoms = said(tmp_path, each, _FRONT)
        assert len(bottoms) == 4
        assert max(bottoms) <= SMALL_HEIGHT


_PHONE = """(() => {
  const bottom = (name) => document.querySelector(name).getBoundingClientRect().bottom;
  const picture = document.querySelector("#summary .picture");
  const paragraphs = [...document.querySelectorAll("#summary .headline p:not(.later)")];
  const heads = paragraphs.map((each) => each.querySelector("strong")?.textContent.trim() ?? "");
  return {
    sideways: picture.scrollWidth - picture.clientWidth,
    answer: Math.max(...paragraphs.map((each) => each.getBoundingClientRect().bottom)),
    results: bottom("#summary .numbered-table tbody tr"),
    verdict: bottom("#summary .callout:not(.headline)"),
    heads,
    covered: [...document.querySelectorAll("#summary .tools button, #summary .numbers summary")].filter((each) => {
      each.scrollIntoView({ block: "center" });
      const box = each.getBoundingClientRect();
      const at = (x) => document.elementFromPoint(x, (box.top + box.bottom) / 2);
      return ![box.left + 4, box.left + box.width / 2, box.right - 4].every((x) => each.contains(at(x)));
    }).map((each) => each.textContent),
  };
})()"""


@pytest.mark.parametrize("study", ["disturbed", "kept"])
def test_a_phone_shows_question_answer_figure_results_and_verdict_on_its_first_screen(
    tmp_path: Path, page: str, study: str
) -> None:
    kept = study == "kept"
    shown = render(build_document(load_results(copy_of_results_1(tmp_path / "results").path))) if kept else page
    path = tmp_path / "phone.html"
    path.write_text(shown, "utf-8")

    async def found(tab: Tab) -> Any:
        await tab.look(PHONE_WIDTH, height=PHONE_HEIGHT)
        await tab.load(path)
        await tab.until("document.querySelector('figure.is-live')")
        return await tab.evaluate(_PHONE)

    seen = in_a_tab(found)
    assert seen["sideways"] <= 0
    heads = ["Found.", "How sure.", "What to do."] if kept else []
    assert [head for head in seen["heads"] if head] == heads
    assert seen["answer"] <= PHONE_HEIGHT / 2
    # The title, question and answer of the kept study are longer, so that only its figure is on the first screen.
    assert kept or seen["results"] < seen["verdict"] <= PHONE_HEIGHT
    assert seen["covered"] == []
