"""The HTML page of a report: a single file that is complete, safe, and identical for identical results."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import report_synthetic as synthetic

from towtank.report import html as writer
from towtank.report.content import SECTIONS, build_document
from towtank.report.document import ALSO_NOT_ANSWERED, Callout, Document, Table, numbering, strong, text
from towtank.report.html import css_string, render
from towtank.report.source import Results
from towtank.report.theme import short

# URLs of XML namespaces and of the Vega schema are only identifiers. A browser never loads them.
_IDENTIFIERS = re.compile(r"https?://(www\.w3\.org|vega\.github\.io/schema)/")
_NO_CONTENT = {"meta", "link", "br", "hr", "img", "input"}
# For each table element: the elements that its start tag closes. `_ENDED_BY_END` lists those that its end tag closes.
_ENDED_BY_START = {"td": {"td", "tr"}, "tr": {"tr"}}
_ENDED_BY_END = {"td": {"tbody"}, "tr": {"tbody"}}


class Page(HTMLParser):
    """Collects the elements, texts and references of an HTML page."""

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
        self._end_cells(tag, _ENDED_BY_START)
        if tag not in _NO_CONTENT:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._end_cells(tag, _ENDED_BY_END)
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def _end_cells(self, tag: str, ended_by: dict[str, set[str]]) -> None:
        while self.open and tag in ended_by.get(self.open[-1], ()):
            self.open.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif not self.open or self.open[-1] != "style":
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of all elements with the given name."""
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
    icon = "data:image/svg+xml;base64,"
    assert [value for value in references if not value.startswith(("#", icon))] == []
    assert [each["rel"] for each in page.all("link")] == ["icon"]
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
    assert len(scripts) == 3
    assert "\r" not in "".join(scripts), "browsers change a carriage return to a line feed, so the digest would differ"
    named = " ".join(f"'sha256-{digest}'" for digest in digests)
    assert f"; script-src {named};" in str(policy)


def test_every_section_is_there_in_order(page: Page) -> None:
    made = [build(synthetic.results()) for build in SECTIONS]
    names = [section.name for section in made if section is not None]
    assert [attributes["id"] for attributes in page.all("section")] == names
    contents = [attributes["href"] for attributes in page.all("a") if not attributes.get("class")]
    assert contents == [f"#{name}" for name in names]


def test_appendix_is_lettered(document: Document) -> None:
    numbers = numbering(document.sections)
    assert numbers["summary"] == "1"
    assert (numbers["configuration"], numbers["audit"]) == ("A", "B")
    assert numbers["reproducibility"] == max(numbers.values())


def test_every_figure_has_words_picture_and_numbers(document: Document, page: Page) -> None:
    figures = page.all("figure")
    assert len(figures) == len(document.figures()) == 13
    pictures = [attributes for attributes in page.all("div") if attributes.get("class") == "picture"]
    assert len(pictures) == 13
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in pictures)
    # The picture has a description as a whole, so screen readers must skip the elements inside it.
    insides = [each for each in page.all("div") if each.get("class") in ("static", "live")]
    assert all(attributes["aria-hidden"] == "true" for attributes in insides)
    numbers = [each["data-of"] for each in page.all("details") if each.get("class") == "numbers"]
    assert numbers == [f"figure-{figure.name}" for figure in document.figures() if figure.table]


def test_descriptions_are_short_enough_to_be_listened_to(document: Document, page: Page) -> None:
    described = [each["aria-label"] or "" for each in page.all("div") if each.get("class") == "picture"]
    assert all(0 < len(each) <= 300 for each in described)


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("One sentence.", "One sentence."),
        ("First. " + "x" * 300, "First."),
        ("y" * 400, "y" * 299 + "…"),
        ("z" * 300, "z" * 300),
    ],
)
def test_a_description_ends_with_a_whole_sentence(description: str, expected: str) -> None:
    assert short(description) == expected


def test_sections_figures_and_tables_can_be_linked_to(document: Document, page: Page) -> None:
    targets = {(each["href"] or "")[1:] for each in page.all("a") if each.get("class") == "permalink"}
    known = {attributes["id"] for _, attributes in page.elements if attributes.get("id")}
    tables = sum(isinstance(block, Table) for section in document.sections for block in section.blocks)
    assert targets <= known
    assert {section.name for section in document.sections} <= targets
    assert {f"figure-{figure.name}" for figure in document.figures()} <= targets
    assert {f"table-{number}" for number in range(1, tables + 1)} <= targets


def test_the_first_link_skips_to_the_content(page: Page) -> None:
    assert page.all("a")[0] == {"class": "skip", "href": "#content"}
    assert [each["id"] for each in page.all("main")] == ["content"]


def test_title_and_description_say_what_was_found(document: Document, html: str, page: Page) -> None:
    assert "suspect" in document.verdict
    # The verdict has one place on the first screen: the title of the callout with the doubts.
    body = html[html.index("</header>") :]
    assert body.count(f'<p class="callout-title">{document.verdict}</p>') == html.count(f">{document.verdict}</p>") == 1
    assert f"{document.title}: {document.verdict}" in page.text
    named = {each.get("name") or each.get("property"): each.get("content") for each in page.all("meta")}
    assert named["description"] == named["og:description"] == document.answer != ""
    assert "  " not in document.answer and " ," not in document.answer
    summary = page.all("header")[0]["data-summary"] or ""
    assert all(part in summary for part in (document.question, document.answer, document.verdict))


def test_a_title_cannot_leave_the_style_sheet(document: Document) -> None:
    hostile = dataclasses.replace(document, title='x"; } </style><script>alert(1)</script> \\" ä')
    page = Page(render(hostile))
    assert page.faults == []
    assert not any("alert" in script for script in page.scripts if len(script) < 100)
    assert css_string('a"\\<\n') == "a\\000022\\00005c\\00003c\\00000a"


def test_specifications_in_the_page_are_the_figures(document: Document, page: Page) -> None:
    written = [json.loads(script) for script in page.scripts if script.startswith('{"$schema"')]
    assert written == [figure.spec for figure in document.figures() if figure.spec]


def test_runtime_is_inlined_once(html: str) -> None:
    assert html.count("window.vegaEmbed=") == 1


def test_the_kept_runtime_is_that_of_the_locked_library() -> None:
    kept = Path(writer.__file__).parent / "templates" / writer.kept_runtime()
    assert sorted(kept.parent.glob("vega-*")) == [kept], "run scripts/vega-runtime"
    assert gzip.decompress(kept.read_bytes()).decode() == writer.make_runtime(), "run scripts/vega-runtime"


def test_another_version_of_the_library_makes_its_own_runtime(
    document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer.vl_convert, "get_vega_version", lambda: "0.1")
    monkeypatch.setattr(writer, "make_runtime", lambda: "let made = '</script>'")
    writer._bundle.cache_clear()
    try:
        page = render(document)
    finally:
        writer._bundle.cache_clear()
    assert "let made = '<\\/script>'" in page


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
    evil = synthetic.EVIL
    page = Page(render(build_document(synthetic.hostile(evil))))
    assert page.faults == []
    assert page.all("img") == []
    assert not any("onerror" in attributes for _, attributes in page.elements)
    assert [script for script in page.scripts if script.startswith("alert")] == []
    assert evil in page.text
    # The page has 9 specifications of figures, and 3 scripts: the runtime, the replacement of pictures, and the
    # buttons.
    assert len(page.all("script")) == 9 + 3


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


def test_parts_without_an_answer_follow_the_verdict_on_a_phone() -> None:
    document = build_document(synthetic.results())
    answers = tuple(text(strong(f"{head}. "), "So it is.") for head in ("Found", ALSO_NOT_ANSWERED, "What to do"))
    (summary,) = [section for section in document.sections if section.name == "summary"]
    blocks = tuple(
        dataclasses.replace(block, content=answers)
        if isinstance(block, Callout) and block.level == "headline"
        else block
        for block in summary.blocks
    )
    sections = tuple(
        dataclasses.replace(each, blocks=blocks) if each is summary else each for each in document.sections
    )
    page = render(dataclasses.replace(document, sections=sections))
    assert re.findall(r"<p( class=\"later\")?>\s*<strong>(Found|Also open|What to do)\. </strong>So it is", page) == [
        ("", "Found"), (' class="later"', "Also open"), ("", "What to do"),
    ]  # fmt: skip
