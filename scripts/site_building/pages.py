"""Copies the repository's pages and the files that these pages link to into the source folder of the site."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tracked import tracked

from site_building.measured import description, drawing, measured, note

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "target" / "site-pages"
_LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
_QUESTION = re.compile(r"^\*\*Question\.\*\* (.+)$", re.MULTILINE)
_DIAGRAM = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FIGURE = "measured.svg"
_SHOWN = ("docs", "studies", "examples")
_FIRST_FOUND = ("docs/tutorial", "docs/guides")
_BOOST = 4
_TABS = {"Guides": "docs/guides", "Reference": "docs/reference", "Background": "docs/background"}


@cache
def repository() -> tuple[Path, ...]:
    """Return all tracked files of the repository; the site contains no other files."""
    return tuple(tracked(ROOT))


def shown() -> list[Path]:
    """Return the Markdown pages of the repository, and all files of the folders with pages."""
    return [
        name
        for name in repository()
        if (name.suffix == ".md" or name.parts[0] in _SHOWN) and name.parts[0] not in ("tests", "changelog.d")
    ]


def copied() -> list[str]:
    """Copy the pages and the linked files. For a linked folder without a page, write a page that lists its files.

    Returns
    -------
    list of str
        A message for each link to a file that the repository does not contain.
    """
    shutil.rmtree(PAGES, ignore_errors=True)
    for name in shown():
        put(name)
    missing = []
    for page in sorted(PAGES.rglob("*.md")):
        text = page.read_text("utf-8")
        for target in sorted(set(_LINK.findall(text))):
            if urlsplit(target).scheme:
                continue
            found = (page.parent / unquote(target)).resolve()
            place = found.relative_to(PAGES) if found.is_relative_to(PAGES) else None
            if place is not None and files_of(place):
                listed(place)
                text = text.replace(f"]({target})", f"]({target.rstrip('/')}/README.md)")
            elif place is not None and place in repository():
                if not found.exists():
                    put(place)
            else:
                missing.append(f"{page.relative_to(PAGES)}: {target}: the repository has no such file")
        page.write_text(text, "utf-8")
    return missing


def boosted() -> None:
    """Rank tutorial and guides higher in the search of the site than reference pages, which contain most words."""
    for folder in _FIRST_FOUND:
        for page in sorted((PAGES / folder).glob("*.md")):
            page.write_text(f"---\nsearch:\n  boost: {_BOOST}\n---\n{page.read_text('utf-8')}", "utf-8")


def files_of(folder: Path) -> list[Path]:
    """Return the tracked files directly in a folder; if there are none, the files in its subfolders. Empty for a
    file.
    """
    below = [name for name in repository() if name.is_relative_to(folder) and name != folder]
    return [name for name in below if name.parent == folder] or below


def put(name: Path) -> None:
    """Copy a file of the repository to the same relative path in `PAGES`."""
    (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / name, PAGES / name)


def listed(folder: Path) -> None:
    """Write a page that lists the files of a folder, unless the folder has a page."""
    page = PAGES / folder / "README.md"
    if page.exists():
        return
    page.parent.mkdir(parents=True, exist_ok=True)
    names = sorted(files_of(folder))
    for name in names:
        put(name)
    lines = [f"- [{place}]({place})" for place in (name.relative_to(folder) for name in names)]
    page.write_text(f"# {folder}\n\n" + "\n".join(lines) + "\n", "utf-8")


def title(page: Path) -> str:
    """Return the first heading of a page."""
    found = _HEADING.search(page.read_text("utf-8"))
    return found[1].replace("`", "") if found else page.stem


def gallery() -> None:
    """Write the page of all studies: for each study its question, the diagram of the system, a figure and the
    command.
    """
    parts = ["# Studies\n", "Each study is a folder that `towtank run NAME --quick` runs and reports.\n"]
    for study in sorted(path.parent for path in (PAGES / "studies").glob("*/README.md")):
        text = (study / "README.md").read_text("utf-8")
        question = _QUESTION.search(text)
        diagram = _DIAGRAM.search(text)
        parts.append(f"## [{title(study / 'README.md')}]({study.name}/README.md)\n")
        if question:
            parts.append(question[1] + "\n")
        if diagram:
            parts.append(diagram[0] + "\n")
        parts += figure(study, text)
        parts.append(f"`towtank run {study.name} --quick`\n")
    (PAGES / "studies" / "README.md").write_text("\n".join(parts), "utf-8")


def figure(study: Path, text: str) -> list[str]:
    """Return the Markdown of a study's figure: of its measured values, or else from `docs/figures`; empty without a
    figure.
    """
    series = measured(text)
    if series is None:
        drawn = Path("docs") / "figures" / f"{study.name}.svg"
        return [f"![Figure of the study {study.name}](../{drawn})\n"] if (PAGES / drawn).is_file() else []
    (study / _FIGURE).write_text(drawing(series), "utf-8")
    words = description(series).replace("[", "(").replace("]", ")")
    return [f"![{words}]({study.name}/{_FIGURE})\n", f"{note(series)}\n"]


def navigation() -> list[Any]:
    """Return the navigation of the site: its tabs with their pages."""

    def entry(path: Path) -> Any:
        return {title(path): str(path.relative_to(PAGES))}

    def by_title(paths: Iterator[Path]) -> list[Any]:
        return [entry(path) for path in sorted(paths, key=lambda path: title(path).lower())]

    tabs: list[Any] = [{"Towtank": "README.md"}]
    tabs.append({"Tutorial": by_title((PAGES / "docs" / "tutorial").glob("*.md"))})
    for name, folder in _TABS.items():
        tabs.append({name: by_title((PAGES / folder).glob("*.md"))})
    studies = (path for path in (PAGES / "studies").glob("*/README.md"))
    tabs.append({"Studies": ["studies/README.md", *by_title(studies)]})
    taken = {path for tab in tabs for path in paths_in(tab)}
    rest = (path for path in PAGES.rglob("*.md") if str(path.relative_to(PAGES)) not in taken)
    tabs.append({"More": by_title(rest)})
    return tabs


def paths_in(entry: Any) -> Iterator[str]:
    """Yield the paths of all pages of an entry of the navigation."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for value in entry.values():
            yield from paths_in(value)
    else:
        for value in entry:
            yield from paths_in(value)
