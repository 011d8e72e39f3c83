"""Checks the links of the built site."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Links(HTMLParser):
    """Links, resources and anchors of a page of the site."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Store the addresses and the identifier of an element."""
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("img", "script", "iframe") and "src" in given:
            self.resources.append(given["src"])
        elif tag == "link" and given.get("rel") not in ("canonical", "next", "prev", "edit"):
            self.resources.append(given.get("href", ""))


def faults(site: Path) -> list[str]:
    """Return a message for each broken link of the site, and for each resource of another host."""
    read: dict[Path, Links] = {}
    for path in sorted(site.rglob("*.html")):
        read[path] = Links()
        read[path].feed(path.read_text("utf-8"))
    found = []
    for path, page in read.items():
        name = path.relative_to(site)
        if name.name == "404.html":
            continue
        for address in (*page.links, *page.resources):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.resources and parts.scheme != "data":
                    found.append(f"{name}: {address}: of another host")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append(f"{name}: {address}: no such file")
            elif parts.fragment and target in read and unquote(parts.fragment) not in read[target].anchors:
                found.append(f"{name}: {address}: no such anchor")
    return found
