"""Measures the time until Chromium first paints a report, and until the report is interactive.

A report contains static drawings, which scripts replace by interactive figures. It is interactive when the drawings in
and near the visible area are replaced, and the last task of more than 50 ms has ended. The page is loaded from a file.
The machine must be otherwise idle.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness

from towtank.errors import TargetError
from towtank.record.chromium import find_chromium
from towtank.report.content import build_document
from towtank.report.html import render
from towtank.report.source import Results, load_results

_TESTS = harness.HERE.parent / "tests"
sys.path[:0] = [str(_TESTS / "support"), str(_TESTS / "report")]

import report_synthetic as synthetic  # noqa: E402
from results_1 import copy_of_results_1  # noqa: E402
from tabs import Tab, in_a_tab  # noqa: E402

# Limits that a report must not exceed: time to first paint [s], time until interactive [s], file size [byte].
PAINT_S, INTERACTIVE_S, BYTES_AT_MOST = 0.3, 1.0, 3_000_000
# A long task is the last long task if no other follows within this time. [s]
_QUIET_S = 1.0
_COLLECT = """window.tasks = []; window.live = 0;
new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries()) window.tasks.push(startTime + duration);
}).observe({ type: "longtask", buffered: true });
document.addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
  window.live = performance.now();
}).observe(document.body, { subtree: true, attributeFilter: ["class"] }));"""
_TIMES = """({
  paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
  interactive: Math.max(performance.timing.domInteractive - performance.timing.navigationStart,
    window.live, ...window.tasks),
  views: document.querySelectorAll("figure.is-live").length,
  nodes: document.querySelectorAll("*").length,
})"""


def run(*, quick: bool) -> None:
    """Measure two reports: of a stored study, and of a synthetic study with 24 configurations of 60 transactions
    each.
    """
    try:
        find_chromium()
    except TargetError as error:
        raise harness.Skipped(f"{error}: {error.hint}") from error
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        made: dict[str, Callable[[], Results]] = {
            "8 runs": lambda: load_results(copy_of_results_1(folder / "results").path),
            "24 x 60": synthetic.many,
        }
        pages = {name: _written(folder / f"{place}.html", make()) for place, (name, make) in enumerate(made.items())}
        runs = harness.turns(
            list(pages), 3 if quick else 10, lambda name: in_a_tab(lambda tab: _once(tab, pages[name]))
        )
        sizes = {name: page.stat().st_size for name, page in pages.items()}
    medians = {}
    for name, size in sizes.items():
        rows = [row for row in runs if row["generator"] == name]
        paint, interactive = (harness.interval([row[key] for row in rows]) for key in ("paint_s", "interactive_s"))
        medians[name] = {"paint_s": paint, "interactive_s": interactive}
        print(f"  {name}: first paint {harness.shown(paint)} s, limit {PAINT_S:g} s")
        print(f"  {name}: interactive {harness.shown(interactive)} s, limit {INTERACTIVE_S:g} s")
        print(f"  {name}: {size / 1e6:.2f} MB, limit {BYTES_AT_MOST / 1e6:g} MB; {rows[0]['nodes']:,.0f} nodes")
    limits = {"paint_s": PAINT_S, "interactive_s": INTERACTIVE_S, "bytes": BYTES_AT_MOST}
    harness.keep("report-paint", {}, runs=runs, medians=medians, bytes=sizes, limits=limits)


def _written(path: Path, results: Results) -> Path:
    path.write_text(render(build_document(results)), "utf-8")
    return path


async def _once(tab: Tab, page: Path) -> dict[str, Any]:
    """Load a page once, in a new browser."""
    await tab.call("Page.addScriptToEvaluateOnNewDocument", source=_COLLECT)
    await tab.look(1280)
    await tab.load(page)
    await asyncio.sleep(_QUIET_S)
    found = await tab.evaluate(_TIMES)
    if not found["paint"] or not found["views"]:
        raise SystemExit("error: the browser painted nothing, or no figure became interactive")
    return {"paint_s": found["paint"] / 1e3, "interactive_s": found["interactive"] / 1e3, "nodes": found["nodes"]}
