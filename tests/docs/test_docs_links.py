"""Links, anchors and paths on the pages must have a target. Of links to other sites, only the form is checked."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from pages import ROOT, Page, page, pages, parse, slug

# Folders of the repository. Inline code that begins with the name of one of them is a path; `<name>` and `*` in such a
# path stand for any name.
_FOLDERS = ("benches", "crates", "docs", "examples", "python", "reference", "schema", "scripts", "studies", "tests")
_PATH = re.compile(r"[\w./<>*{},-]+")
# Files that a make target such as `make certify` writes; a fresh checkout does not contain them.
_WRITTEN = frozenset(re.findall(r"^\t\w+=\$\(CURDIR\)/(\S+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def faults_of(found: Page) -> list[str]:
    """Return the broken links of a page."""
    faults = []
    for link in found.links():
        address = urlsplit(link.text)
        if address.scheme:
            if address.scheme not in ("https", "http", "mailto") or not (address.netloc or address.path):
                faults.append(f"{link}: not an address")
            continue
        target = (found.path.parent / address.path).resolve() if address.path else found.path
        if not target.exists():
            faults.append(f"{link}: no such file")
        elif address.fragment:
            own = target == found.path
            other = found if own else page(str(target.relative_to(ROOT))) if target.suffix == ".md" else None
            if other is None or address.fragment not in other.anchors():
                faults.append(f"{link}: no such heading")
    return faults


@pytest.mark.parametrize("found", pages(), ids=lambda found: found.name)
def test_links_lead_somewhere(found: Page) -> None:
    assert faults_of(found) == []


def exists(path: str) -> bool:
    """Return True if a path exists in the repository or is written by a make target; `<name>` stands for any name."""
    pattern = re.sub(r"<[^>]*>", "*", path).rstrip("/")
    return path in _WRITTEN or bool(list(ROOT.glob(pattern)))


@pytest.mark.parametrize("found", pages(), ids=lambda found: found.name)
def test_paths_of_the_repository_exist(found: Page) -> None:
    missing = [
        str(code)
        for code in found.code()
        for word in code.text.split()
        if word.startswith(tuple(f"{name}/" for name in _FOLDERS)) and _PATH.fullmatch(word) and not exists(word)
    ]
    assert missing == []


def test_only_paths_that_make_writes_may_be_missing() -> None:
    assert exists("docs/certification.md")
    assert not exists("docs/certificate.md")


def test_every_page_of_the_documentation_is_linked() -> None:
    linked = {
        (found.path.parent / urlsplit(link.text).path).resolve()
        for found in pages()
        for link in found.links()
        if not urlsplit(link.text).scheme and urlsplit(link.text).path
    }
    unlinked = [
        found.name
        for found in pages()
        if found.name.startswith("docs/") and found.path not in linked and found.name != "docs/README.md"
    ]
    assert unlinked == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    text = "# One `a`\n\n[a](#one-a) [b](#three) [c](nowhere.md)\n[d](README.md#nothing) `[e](no)` [f](https://a.example)\n"
    broken = [fault.split(": ")[1] for fault in faults_of(parse("README.md", text))]
    assert broken == ["#three", "nowhere.md", "README.md#nothing"]


def test_anchors_are_those_of_github() -> None:
    assert slug("In `a_b`: what, [who](x.md)?") == "in-a_b-what-who"
    assert parse("x.md", "# A\n# A\n").anchors() == {"a", "a-1"}
