"""Reads pages of the documentation: fenced code blocks, headings, links and inline code, each with its line number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "examples", "studies", "reference")
_FENCE = re.compile(r"^(?P<indent>\s*)(?P<fence>`{3,})(?P<language>[\w-]*)\s*$")
_HEADING = re.compile(r"^#{1,6} +(?P<text>.*?) *#*$")
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\((?P<target>[^()\s]+)(?: \"[^\"]*\")?\)")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(?P<text>.+?)(?<!`)\1(?!`)")


@dataclass(frozen=True)
class Block:
    """Fenced code block of a page. `line` is the number of the line with the opening fence."""

    page: str
    line: int
    language: str
    text: str

    @property
    def first(self) -> str:
        """First line that is not blank, without indentation."""
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.first[:60]}"


@dataclass(frozen=True)
class Found:
    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


@dataclass(frozen=True)
class Page:
    """Page of the documentation: fenced code blocks, and numbered lines of prose."""

    name: str
    blocks: tuple[Block, ...]
    prose: tuple[tuple[int, str], ...]

    @property
    def path(self) -> Path:
        return ROOT / self.name

    def anchors(self) -> set[str]:
        """Return the anchors of the headings of the page, in the form that GitHub generates."""
        seen: Counter[str] = Counter()
        found = set()
        for _, line in self.prose:
            if heading := _HEADING.match(line):
                name = slug(heading["text"])
                found.add(f"{name}-{seen[name]}" if seen[name] else name)
                seen[name] += 1
        return found

    def links(self) -> Iterator[Found]:
        for number, line in self.prose:
            for link in _LINK.finditer(_CODE.sub("``", line)):
                yield Found(self.name, number, link["target"])

    def code(self) -> Iterator[Found]:
        for number, line in self.prose:
            for code in _CODE.finditer(line):
                yield Found(self.name, number, code["text"].strip())


def slug(heading: str) -> str:
    """Return the anchor of a heading in lower case, without punctuation, with hyphens in place of spaces.

    Examples
    --------
    >>> slug("Recordings (`har`)"), slug("A run is suspect or invalid")
    ('recordings-har', 'a-run-is-suspect-or-invalid')
    """
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def parse(name: str, text: str) -> Page:
    """Split a page into code blocks and prose. Raise an error if a code block is not closed."""
    blocks: list[Block] = []
    prose: list[tuple[int, str]] = []
    lines = enumerate(text.splitlines(), start=1)
    for number, line in lines:
        fence = _FENCE.match(line)
        if fence is None:
            if line.lstrip().startswith("```"):
                raise ValueError(f"{name}:{number}: unknown form of a code fence: {line}")
            prose.append((number, line))
            continue
        inside: list[str] = []
        for _, content in lines:
            if content.strip() == fence["fence"]:
                break
            inside.append(content.removeprefix(fence["indent"]))
        else:
            raise ValueError(f"{name}:{number}: a code block is not closed")
        blocks.append(Block(name, number, fence["language"], "".join(f"{content}\n" for content in inside)))
    return Page(name, tuple(blocks), tuple(prose))


@cache
def pages() -> tuple[Page, ...]:
    """Return all pages of the documentation, sorted by path."""
    paths = [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))]
    return tuple(parse(str(path.relative_to(ROOT)), path.read_text("utf-8")) for path in sorted(paths))


def page(name: str) -> Page:
    return next(page for page in pages() if page.name == name)
