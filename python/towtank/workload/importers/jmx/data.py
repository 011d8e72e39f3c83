"""Converts CSV data sets of JMeter to data pools."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Literal

from towtank.workload.importers.draft import DraftPool, ImportDraft, identifier, unique
from towtank.workload.importers.jmx.texts import Texts
from towtank.workload.importers.jmx.tree import Item
from towtank.workload.importers.textfile import beside, relative_to_workload

# Number of rows of a data file that are copied into the workload if the file itself cannot serve as a pool. [1]
ROWS_AT_MOST = 5000
_DELIMITERS = {"\\t": "\t", "": ","}


def add_pool(item: Item, draft: ImportDraft, texts: Texts, folder: Path) -> str | None:
    """Add a pool for a CSV data set and return the name of the pool; None if the data set has no columns. File names
    become relative to `folder`, that of the workload file.
    """
    file = texts.static(item.text("filename")).strip()
    path = beside(draft.source, file)
    delimiter = item.text("delimiter", ",")
    delimiter = _DELIMITERS.get(delimiter, delimiter)[:1]
    # Commas separate the column names, even if the values have another separator (CSVDataSet of JMeter 5.5).
    names = [name.strip() for name in item.text("variableNames").split(",") if name.strip()]
    recycles = item.flag("recycle", default=True)
    skips, quotes = item.flag("ignoreFirstLine"), item.flag("quotedData")
    rows = _rows(item, path, delimiter, draft, quotes=quotes)
    header = rows[0] if rows and not names else None
    columns = names or header or []
    _sharing(item, draft)
    if not columns:
        draft.notes.add(
            item.place,
            f"CSV data set {file!r}",
            "left out: neither the data set nor the first line of the file names variables",
        )
        return None
    fresh = [unique(identifier(column, "column"), []) for column in columns]
    pool = unique(identifier(Path(file).stem, "data"), draft.data)
    quoted = quotes or not any('"' in value for row in rows or [] for value in row)
    usable = delimiter == "," and quoted and fresh == header and len(rows or []) > 1
    known = (rows or [])[1 if header is not None or skips else 0 :]
    if path is not None and usable:
        draft.data[pool] = DraftPool(relative_to_workload(path, folder))
    else:
        draft.data[pool] = DraftPool(columns=fresh, rows=_inline(item, known, fresh, draft))
    draft.data[pool].order = "sequential" if recycles else "unique"
    for index, (column, each) in enumerate(zip(columns, fresh, strict=True)):
        texts.columns[column] = pool, each
        texts.rows[pool, each] = [row[index] if index < len(row) else "" for row in known]
    return pool


def _sharing(item: Item, draft: ImportDraft) -> None:
    """Add notes about the differences in how JMeter and the workload assign rows to virtual users."""
    shared = item.text("shareMode", "shareMode.all").strip()
    if shared not in {"", "shareMode.all"}:
        why = "in JMeter, each group or thread reads all rows; in the workload all users draw from one pool"
        draft.notes.add(item.place, f"CSVDataSet {item.name!r}: shareMode = {shared!r}", why)
    stops = item.flag("stopThread")
    if not item.flag("recycle", default=True):
        goes = "the thread stops" if stops else "variables become <EOF>"
        why = f"at the end of the file {goes} in JMeter; in the workload, transactions without a row fail"
        draft.notes.add(item.place, f"CSVDataSet {item.name!r}: recycle = 'false'", why)


def _rows(item: Item, path: Path | None, delimiter: str, draft: ImportDraft, *, quotes: bool) -> list[list[str]] | None:
    """Return the first rows of a data file; None if the file cannot be read."""
    encoding = item.text("fileEncoding").strip() or "utf-8-sig"
    placeholders = "one row with placeholders replaces it"
    if path is None:
        why = f"is not a file in the folder of the plan or below, and other files are not read: {placeholders}"
        draft.notes.add(item.place, f"CSV data set {item.name!r}", why)
        return None
    try:
        with path.open(encoding=encoding, newline="") as stream:
            rows: list[list[str]] = []
            quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
            for row in csv.reader(stream, delimiter=delimiter, quoting=quoting):
                if len(rows) > ROWS_AT_MOST:
                    break
                rows += [row] if any(row) else []
            return rows
    except (OSError, ValueError, LookupError, csv.Error):
        why = f"the file {path.name!r} cannot be read as CSV: {placeholders}"
        draft.notes.add(item.place, f"CSV data set {item.name!r}", why)
        return None


def _inline(item: Item, rows: list[list[str]], columns: list[str], draft: ImportDraft) -> list[list[str]]:
    if len(rows) > ROWS_AT_MOST:
        why = f"only {ROWS_AT_MOST} rows are copied; to use the whole file, add a first line with its column names"
        draft.notes.add(item.place, f"CSV data set {item.name!r}", why)
    whole = [(row + [""] * len(columns))[: len(columns)] for row in rows[:ROWS_AT_MOST]]
    return whole or [[f"change-me-{column}" for column in columns]]
