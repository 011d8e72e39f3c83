"""HTML output of results in notebooks: verdict, figure and table. Names and messages from files never become markup."""

from __future__ import annotations

import base64
import dataclasses
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from results_1 import RESULTS_1

import towtank
from towtank.analysis import Comparison
from towtank.api import judged
from towtank.report import Results as Source

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)> & "\''
ELEMENTS = {
    "div", "p", "strong", "ul", "li", "figure", "img", "figcaption", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip


class Page(HTMLParser):
    """Elements, attributes, texts and figures of an HTML page.

    Attributes
    ----------
    styles : list of str
        Values of all `style` attributes.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.styles: list[str] = []
        self.sources: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        given = dict(attrs)
        self.styles += [given["style"] or ""] if "style" in given else []
        self.sources += [given["src"] or ""] if "src" in given else []

    def handle_data(self, data: str) -> None:
        self.text += data

    def is_harmless(self) -> bool:
        """Return True if the page and its figures contain no scripts, no requests, and no fixed colours of text or
        background.
        """
        drawn = [ElementTree.fromstring(base64.b64decode(source.partition(",")[2])) for source in self.sources]
        return (
            self.elements <= ELEMENTS
            and self.attributes <= {"class", "style", "alt", "src"}
            and all(source.startswith("data:image/svg+xml;base64,") for source in self.sources)
            and not any(re.search(r"(?<!-)(color|background)", style) for style in self.styles)
            and not any(each.tag.endswith("script") for drawing in drawn for each in drawing.iter())
        )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> towtank.Results:
    folder = tmp_path_factory.mktemp("html") / "results"
    shutil.copytree(RESULTS_1, folder)
    return towtank.open(folder)


def measured(folder: Path, name: str) -> Path:
    path = folder / name
    lines = [f"{number / 100},{10 + number % 7}" for number in range(3000)]
    path.write_text("\n".join(["start_s,elapsed_ms", *lines, ""]), "utf-8")
    return path


def test_a_run_shows_verdict_figure_and_times(results: towtank.Results) -> None:
    shown = Page(results.runs[0]._repr_html_())
    assert shown.is_harmless() and len(shown.sources) == 1
    assert "r001 (users 48, search_index absent): " in shown.text and "verdict: suspect" in shown.text
    assert str(results.runs[0].response_time_s.p95) in shown.text


def test_a_run_without_results_shows_its_state(results: towtank.Results) -> None:
    run = dataclasses.replace(results.runs[0], status="failed", throughput_per_s=None, _summary={})
    shown = Page(run._repr_html_())
    assert shown.is_harmless() and shown.sources == []
    assert "–, failed" in shown.text


def test_comparisons_and_judgements_show_verdicts_and_numbers(results: towtank.Results, tmp_path: Path) -> None:
    path = measured(tmp_path, "a.csv")
    judged_file, compared = towtank.judge(path), towtank.compare(path, measured(tmp_path, "b.csv"))
    shown = Page(judged_file._repr_html_())
    assert shown.is_harmless()
    assert "0 of 3000 failed" in shown.text and f"verdict: {judged_file.verdict}" in shown.text
    assert str(judged_file.response_time_ms.p95) in shown.text
    shown = Page(compared._repr_html_())
    assert shown.is_harmless()
    assert f"verdict: {compared.verdict}" in shown.text and str(compared.metrics[0].ratio) in shown.text
    first = results.compare("search_index", metric="throughput_per_s")[0]
    shown = Page(first._repr_html_())
    assert shown.is_harmless()
    assert "search_index: absent compared with present" in shown.text and str(first.ratio) in shown.text


def test_predictions_show_their_range_or_why_there_are_none() -> None:
    rate = towtank.Quantity(52.2, "1/s", towtank.Interval(51.1, 53.2))
    shown = Page(towtank.Prediction(60.0, "between", rate, None)._repr_html_())
    assert shown.is_harmless()
    assert "at load 60, between measured loads" in shown.text and "52.2 [51.1, 53.2] /s" in shown.text
    refused = Page(towtank.Prediction(6000.0, "beyond", None, None, "too far")._repr_html_())
    assert "verdict: refusedtoo far" in refused.text and "beyond the measured loads" in refused.text


def test_relaxed_limits_are_stated(results: towtank.Results) -> None:
    source: Source = dataclasses.replace(results._source)
    summary = {**source.summary, "verdict": {**source.summary["verdict"], "relaxed_limits": [{"limit": "errors"}]}}
    changed = dataclasses.replace(results, _source=dataclasses.replace(source, summary=summary))
    assert "verdict: suspect with relaxed limits" in Page(changed._repr_html_()).text


def hostile(results: towtank.Results, tmp_path: Path) -> dict[str, Any]:
    """Return objects of each kind whose names and messages contain markup."""
    doubt = {"kind": HOSTILE, "level": "suspect", "message": HOSTILE}
    run = results.runs[0]
    summary = {**run.summary, "verdict": {"level": "suspect", "reasons": [doubt]}, "factors": {HOSTILE: HOSTILE}}
    compared = {"metric": HOSTILE, "factor": HOSTILE, "from": HOSTILE, "to": HOSTILE, "load": 3, "differs": True}
    path = measured(tmp_path, f"{HOSTILE.replace('/', '')}.csv")
    return {
        "run": dataclasses.replace(run, name=HOSTILE, factors={HOSTILE: HOSTILE}, status=HOSTILE, _summary=summary,
                                   verdict=towtank.Verdict.of(summary["verdict"])),
        "comparison": judged.comparison_of(Comparison.model_validate(compared)),
        "judged": towtank.judge(path),
        "compared": towtank.compare(path, measured(tmp_path, "b.csv")),
        "prediction": towtank.Prediction(1.0, HOSTILE, None, None, HOSTILE),
        "frame": towtank.Frame.of({HOSTILE: [HOSTILE]}),
    }  # fmt: skip


def test_hostile_names_stay_text(results: towtank.Results, tmp_path: Path) -> None:
    for kind, each in hostile(results, tmp_path).items():
        page = each._repr_html_()
        assert Page(page).is_harmless(), kind
        assert 'alert("x")' in Page(page).text or "alert(" in Page(page).text, kind


def test_every_kind_of_result_shows_itself() -> None:
    kinds = [
        towtank.Comparison, towtank.ComparedResults, towtank.Judged, towtank.Prediction, towtank.Run, towtank.Sizing,
        towtank.Fit, towtank.Results, towtank.Drive, towtank.Solution, towtank.Rating, towtank.Frame,
    ]  # fmt: skip
    assert [kind.__name__ for kind in kinds if not hasattr(kind, "_repr_html_")] == []
