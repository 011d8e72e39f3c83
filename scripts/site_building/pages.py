"""Gathers the pages of the site: those of the repository at their places, with the files that they link to."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tracked import tracked

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "target" / "site-pages"
_LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
_QUESTION = re.compile(r"^\*\*Question\.\*\* (.+)$", re.MULTILINE)
_DIAGRAM = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TABS = {"Guides": "docs/guides", "Reference": "docs/reference", "Background": "docs/background"}


def published() -> list[Path]:
    """Return the files of the repository that the site shows."""
    names = tracked(ROOT, "*.md", "docs", "studies", "examples")
    return [name for name in names if name.parts[0] not in ("tests", "changelog.d")]


def copied() -> None:
    """Copy the pages and the files that they link to. A link to a folder without a page shows a list of its files."""
    shutil.rmtree(PAGES, ignore_errors=True)
    for name in published():
        put(name)
    for page in sorted(PAGES.rglob("*.md")):
        text = page.read_text("utf-8")
        for target in set(_LINK.findall(text)):
            found = (page.parent / unquote(target)).resolve()
            if urlsplit(target).scheme or not found.is_relative_to(PAGES):
                continue
            place = found.relative_to(PAGES)
            if (ROOT / place).is_dir():
                listed(place)
                text = text.replace(f"]({target})", f"]({target.rstrip('/')}/README.md)")
            elif not found.exists() and tracked(ROOT, str(place)):
                put(place)
        page.write_text(text, "utf-8")


def put(name: Path) -> None:
    """Copy a file of the repository to its place among the pages."""
    (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / name, PAGES / name)


def listed(folder: Path) -> None:
    """Write a page with the files of a folder, unless the folder has a page."""
    page = PAGES / folder / "README.md"
    if page.exists():
        return
    page.parent.mkdir(parents=True, exist_ok=True)
    names = [path for path in tracked(ROOT / folder) if len(path.parts) == 1]
    for path in names:
        put(folder / path.name)
    lines = [f"- [{path.name}]({path.name})" for path in names]
    page.write_text(f"# {folder}\n\n" + "\n".join(lines) + "\n", "utf-8")


def title(page: Path) -> str:
    """Return the first heading of a page."""
    found = _HEADING.search(page.read_text("utf-8"))
    return found[1].replace("`", "") if found else page.stem


def gallery() -> None:
    """Write the page of all studies: question, diagram of the system, command."""
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
        parts.append(f"`towtank run {study.name} --quick`\n")
    (PAGES / "studies" / "README.md").write_text("\n".join(parts), "utf-8")


def navigation() -> list[Any]:
    """Return the tabs of the site with their pages."""

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
    shown = {path for tab in tabs for path in paths_in(tab)}
    rest = (path for path in PAGES.rglob("*.md") if str(path.relative_to(PAGES)) not in shown)
    tabs.append({"More": by_title(rest)})
    return tabs


def paths_in(entry: Any) -> Iterator[str]:
    """Yield the paths of an entry of the navigation."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for value in entry.values():
            yield from paths_in(value)
    else:
        for value in entry:
            yield from paths_in(value)
