"""The page: one file, whole, safe, and the same for the same results."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
import report_synthetic as synthetic

from towtank.report.content import SECTIONS, build_document
from towtank.report.document import Document
from towtank.report.html import numbering, render
from towtank.report.source import Results

# Names of XML namespaces and of the schema are identifiers: nothing is ever loaded from them.
_IDENTIFIERS = re.compile(r"https?://(www\.w3\.org|vega\.github\.io/schema)/")
_NO_CONTENT = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Elements, texts and references of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.faults: list[str] = []
        self.text = ""
        self.scripts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _NO_CONTENT:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif not self.open or self.open[-1] != "style":
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Attributes of all elements of a name."""
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def document() -> Document:
    return build_document(synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"}))


@pytest.fixture(scope="module")
def html(document: Document) -> str:
    return render(document)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_every_element_is_closed(page: Page) -> None:
    assert page.faults == []
    assert page.open == []


def test_nothing_is_loaded_from_anywhere(page: Page) -> None:
    references = [
        value
        for _, attributes in page.elements
        for name, value in attributes.items()
        if name in ("src", "href", "xlink:href", "action", "data", "srcset", "poster") and value
    ]
    assert references
    assert [value for value in references if not value.startswith("#")] == []
    assert page.all("link") == []
    assert "@import" not in page.text


def test_no_address_outside_the_runtime_but_identifiers(html: str, page: Page) -> None:
    runtime = max(page.scripts, key=len)
    rest = html.replace(runtime, "")
    assert [found for found in re.findall(r"https?://[^\s\"'<]*", rest) if not _IDENTIFIERS.match(found)] == []


def test_page_forbids_network_by_policy(page: Page) -> None:
    (policy,) = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "unsafe-eval" not in policy


def test_the_page_runs_no_scripts_but_its_own(html: str, page: Page) -> None:
    (policy,) = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert len(scripts) == 2
    assert "\r" not in "".join(scripts), "browsers read it as another end of the line"
    assert f"; script-src 'sha256-{digests[0]}' 'sha256-{digests[1]}';" in str(policy)


def test_every_section_is_there_in_order(page: Page) -> None:
    made = [build(synthetic.results()) for build in SECTIONS]
    names = [section.name for section in made if section is not None]
    assert [attributes["id"] for attributes in page.all("section")] == names
    assert [attributes["href"] for attributes in page.all("a")] == [f"#{name}" for name in names]


def test_appendix_is_lettered(document: Document) -> None:
    numbers = numbering(document.sections)
    assert numbers["summary"] == "1"
    assert numbers["reproducibility"] == "A"


def test_every_figure_has_words_picture_and_numbers(document: Document, page: Page) -> None:
    figures = page.all("figure")
    assert len(figures) == len(document.figures()) == 8
    pictures = [attributes for attributes in page.all("div") if attributes.get("class") == "static"]
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in pictures)
    assert len(page.all("details")) == sum(figure.table is not None for figure in document.figures()) == 7


def test_specifications_in_the_page_are_the_figures(document: Document, page: Page) -> None:
    written = [json.loads(script) for script in page.scripts if script.startswith('{"$schema"')]
    assert written == [figure.spec for figure in document.figures() if figure.spec]


def test_runtime_is_inlined_once(html: str) -> None:
    assert html.count("window.vegaEmbed=") == 1


def test_heads_of_tables_have_a_scope(page: Page) -> None:
    assert {attributes.get("scope") for attributes in page.all("th")} == {"col", "row"}


def test_identifiers_are_unique(page: Page) -> None:
    found = [attributes["id"] for _, attributes in page.elements if attributes.get("id")]
    assert len(found) == len(set(found))


def test_references_inside_pictures_are_resolved(html: str, page: Page) -> None:
    static = html.replace(max(page.scripts, key=len), "")
    known = {attributes["id"] for _, attributes in page.elements if attributes.get("id")}
    assert {*re.findall(r"url\(#([^)]+)\)", static)} <= known


def test_same_results_give_the_same_bytes(html: str) -> None:
    again = build_document(synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"}))
    assert render(again) == html


def test_hostile_names_stay_text() -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&{{ 7*7 }}"
    page = Page(render(build_document(hostile(evil))))
    assert page.faults == []
    assert page.all("img") == []
    assert not any("onerror" in attributes for _, attributes in page.elements)
    assert [script for script in page.scripts if script.startswith("alert")] == []
    assert evil in page.text
    assert len(page.all("script")) == 7 + 2  # specifications, runtime, and what replaces the pictures


def hostile(evil: str) -> Results:
    """A study in which every name that a user can choose is hostile."""
    results = synthetic.results()
    document = json.dumps(
        [results.manifest, results.summary, [(r.run_id, r.manifest, r.summary) for r in results.runs]]
    )
    for name in (
        "content-users",
        "Content server: users and the search index",
        "open_all_searches",
        "present",
    ):
        document = document.replace(name, json.dumps(evil)[1:-1])
    manifest, summary, runs = json.loads(document)
    kept = tuple(
        dataclasses.replace(run, manifest=m, summary=s) for run, (_, m, s) in zip(results.runs, runs, strict=True)
    )
    return dataclasses.replace(results, name=evil, manifest=manifest, summary=summary, runs=kept)


@pytest.mark.parametrize(
    "results",
    [
        synthetic.results(missing=tuple(f"r{n:03d}" for n in range(1, 9))),
        synthetic.results(verdicts={f"r{n:03d}": "invalid" for n in range(1, 9)}),
        synthetic.results(levels=(30,), indices=("present",)),
        Results("bare", {}, {}),
    ],
    ids=["all missing", "none valid", "one run", "nothing at all"],
)
def test_partial_results_give_a_whole_page(results: Results) -> None:
    page = Page(render(build_document(results)))
    assert page.faults == []
    assert len(page.all("section")) == sum(build(results) is not None for build in SECTIONS)
    assert "nan" not in page.text.lower().split()
    assert "None" not in page.text
