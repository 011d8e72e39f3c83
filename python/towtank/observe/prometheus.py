"""Scrapes pages in the Prometheus text format.

The format (version 0.0.4) is described at https://prometheus.io/docs/instrumenting/exposition_formats/.
"""

from __future__ import annotations

import math
import re

from towtank.observe.page import Page, PageScraper
from towtank.observe.scraper import ScrapeError

# Possessive quantifiers prevent backtracking, so that a malformed line is rejected in time proportional to its length.
_LABELS = r'\{(?:[^"}]++|"(?:[^"\\]++|\\.)*+")*+\}'
_SAMPLE = re.compile(rf"([a-zA-Z_:][a-zA-Z0-9_:]*+)[ \t]*+({_LABELS})?[ \t]*+(\S++)(?:[ \t]++-?\d++)?[ \t]*+$")
_CREATED = "_created"


def parse(page: str) -> dict[str, float]:
    """Parse a page of metrics, and return its numbers by series name.

    Parameters
    ----------
    page : str
        Page in text format 0.0.4.

    Returns
    -------
    dict of str to float
        Numbers in the order of the page. Values that are not finite are left out, and so are series whose names end
        in `_created`, because they only contain the times at which other series began.

    Raises
    ------
    ScrapeError
        If a line is not in the format.

    Examples
    --------
    >>> parse('# TYPE a counter\\na_total{b="c d"} 3\\nload 0.5\\nunknown NaN\\n')
    {'a_total{b="c d"}': 3.0, 'load': 0.5}
    """
    values: dict[str, float] = {}
    for number, line in enumerate(page.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _SAMPLE.match(line.strip())
        if match is None:
            raise ScrapeError(f"line {number} must be `name{{labels}} value`, got {line[:80]!r} instead")
        name, labels, text = match.groups()
        try:
            value = float(text)
        except ValueError:
            raise ScrapeError(f"line {number}: must end in a number, got {text[:40]!r} instead") from None
        if math.isfinite(value) and not name.endswith(_CREATED):
            values[name + (labels or "")] = value
    return values


class PrometheusScraper(PageScraper):
    """Scraper of a page in the Prometheus text format, `http://host:port/metrics`, over a persistent connection."""

    source = "prometheus"

    def __init__(self, service: str, kind: str, url: str) -> None:
        self.service, self.kind = service, kind
        self._page = Page(url, "text/plain;version=0.0.4")
        self.url = self._page.url

    def scrape(self) -> dict[str, float]:
        """Request the page of metrics, and return its numbers by series name."""
        page = self._page.get()
        try:
            return parse(page)
        except ScrapeError:
            self.close()
            raise
