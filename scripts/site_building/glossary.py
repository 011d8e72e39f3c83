"""Links terms on the pages of the documentation site to the glossary."""

from __future__ import annotations

import re
from html import escape, unescape
from os.path import relpath
from pathlib import Path

_ARTICLE = re.compile(r"(<article\b[^>]*>)(.*?)(</article>)", re.DOTALL)
_TAG = re.compile(r"(<[^>]+>)")
_CLOSED = frozenset(("a", "code", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "script", "style", "svg"))
_ROW = re.compile(r"<tr>\s*<td[^>]*>(.*?)</td>", re.DOTALL)


def terms_of(glossary: str) -> dict[str, str]:
    """Return the anchor of each term in the tables of the glossary.

    Examples
    --------
    >>> terms_of("| term | meaning |\\n|---|---|\\n| think time | Pause. |\\n")
    {'think time': 'term-think-time'}
    """
    rows = re.findall(r"^\| *([^|]+?) *\|", glossary, re.MULTILINE)
    names = [name for name in rows if name != "term" and not name.startswith("-")]
    shown = [name for name in names if re.fullmatch(r"[\w /-]{4,}", name)]
    return {name: "term-" + re.sub(r"\W+", "-", name.lower()) for name in shown}


def with_links(html: str, terms: dict[str, str], address: str) -> str:
    """Link the first occurrence of each term on a page to the glossary, except in headings, links and code.

    Parameters
    ----------
    html : str
        Content of the page.
    terms : dict of str to str
        Anchor of each term.
    address : str
        Address of the glossary, relative to the page.

    Examples
    --------
    >>> with_links("<p>Users and <code>users</code></p>", {"users": "term-users"}, "g.html")
    '<p><a class="term" href="g.html#term-users">Users</a> and <code>users</code></p>'
    """
    if not terms:
        return html
    longest_first = sorted(terms, key=len, reverse=True)
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, longest_first)) + r")(s?)\b", re.IGNORECASE)
    seen: set[str] = set()

    def link(match: re.Match[str]) -> str:
        name = match[1].lower()
        if name in seen:
            return match[0]
        seen.add(name)
        return f'<a class="term" href="{escape(address)}#{terms[name]}">{match[0]}</a>'

    parts, closed = [], 0
    for part in _TAG.split(html):
        if part.startswith("<"):
            name = re.match(r"</?(\w*)", part)
            if name and name[1].lower() in _CLOSED:
                closed += -1 if part.startswith("</") else 1
            parts.append(part)
        else:
            parts.append(part if closed else pattern.sub(link, part))
    return "".join(parts)


def with_anchors(html: str, terms: dict[str, str]) -> str:
    """Add the terms' anchors to the table rows of the glossary page."""

    def row(match: re.Match[str]) -> str:
        anchor = terms.get(unescape(re.sub(r"<[^>]+>", "", match[1])).strip())
        return match[0].replace("<td", f'<td id="{anchor}"', 1) if anchor else match[0]

    return _ROW.sub(row, html)


def link_terms(site: Path, glossary: Path, text: str) -> None:
    """Add anchors to the glossary page of a built site, and link the terms on all other pages to these anchors.

    Parameters
    ----------
    site : Path
        Folder of the built site.
    glossary : Path
        Path of the glossary page in `site`.
    text : str
        Markdown of the glossary.
    """
    terms = terms_of(text)
    small = {name.lower(): anchor for name, anchor in terms.items()}
    for page in sorted(site.rglob("*.html")):
        address = relpath(glossary, page.parent)

        def changed(match: re.Match[str], own: bool = page == glossary, address: str = address) -> str:
            content = with_anchors(match[2], terms) if own else with_links(match[2], small, address)
            return match[1] + content + match[3]

        page.write_text(_ARTICLE.sub(changed, page.read_text("utf-8"), count=1), "utf-8")
