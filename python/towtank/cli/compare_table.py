"""Renders the output of `towtank compare` as text and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from towtank.analysis import AtLoad, Compared, Finding
from towtank.estimates import few_digits
from towtank.terminal import visible

_COLUMNS = ("figure", "transaction", "B / A", "95 %", "verdict")
_DIFFERENCES_SHOWN = 12
_MARKS = re.compile(r"[\\`*\[\]<>|#~!]|(?<!\w)_|_(?!\w)|^[-+](?=\s)")
_PARTED = {"@": "@<!-- -->", "\\#": "\\#<!-- -->", "://": ":\\//", "www.": "www\\."}
_LINKS = re.compile(r"@|\\#|://|www\.", re.IGNORECASE)
_SHORT = re.compile(r"^response_time_|_per_transaction$")


def compare_table(compared: Compared) -> Iterator[RenderableType]:
    """Yield the output of a comparison: the verdict, the table of metrics, and further lines."""
    yield visible(headline(compared))
    if compared.findings:
        table = Table(*_columns(compared))
        for row in _rows(compared):
            table.add_row(*(escape(visible(cell)) for cell in row))
        yield table
    yield from (visible(line) for line in details(compared))


def compare_markdown(compared: Compared) -> str:
    """Return the comparison as Markdown."""
    columns = (*_columns(compared), "detectable")
    found = ((*row, detectable(each)) for row, each in zip(_rows(compared), _shown(compared), strict=True))
    rows = [columns, tuple("---" for _ in columns), *found]
    table = "\n".join(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows) if compared.findings else ""
    listed = "\n".join(f"- {_cell(line)}" for line in details(compared))
    return "\n\n".join(part for part in (f"**{_cell(headline(compared))}**", table, listed) if part)


def headline(compared: Compared) -> str:
    """Render the verdict of a comparison, with its reason, in one line."""
    runs = f"{len(compared.a.usable)} and {len(compared.b.usable)} runs{_lost(compared)}{_missing(compared)}"
    if compared.is_invalid and not compared.is_worse:
        return f"not valid: A or B has no usable run ({runs})"
    found = [each for each in compared.findings if each.verdict == compared.verdict]
    because = ""
    if compared.verdict in ("worse", "better"):
        worst = max(found, key=_size)
        because = f": {name_of(worst)} {decisive(worst)}" + (f", and {len(found) - 1} more" if len(found) > 1 else "")
    says = {"undecided": f"undecided{_of_each(compared)}", "same": f"B is the same{_of_each(compared)}"}.get(
        compared.verdict, f"B is {compared.verdict}{because}"
    )
    return f"{says} ({runs})"


def _of_each(compared: Compared) -> str:
    """List the metrics that are the same, and the undecided metrics, over all transactions; empty if no metric is the
    same.
    """
    same, undecided = (
        [
            _SHORT.sub("", found.name)
            for found in compared.findings
            if found.transaction is None and found.verdict == verdict
        ]
        for verdict in ("same", "undecided")
    )
    if not same:
        return ""
    within = f": {_listed(same)} the same within {few_digits(100 * compared.threshold)} %"
    return within + (f"; {_listed(undecided)} undecided" if undecided else "")


def _listed(names: Sequence[str]) -> str:
    """Join names to a list, followed by "is" or "are".

    Examples
    --------
    >>> _listed(["p99", "errors"]), _listed(["throughput"]), _listed(["errors"])
    ('p99 and errors are', 'throughput is', 'errors are')
    """
    *before, last = names
    listed = f"{', '.join(before)} and {last}" if before else last
    return f"{listed} {'are' if before or last == 'errors' else 'is'}"


def _lost(compared: Compared) -> str:
    """Render the number of runs that the comparison leaves out because requests failed."""
    sides = (("A", compared.a), ("B", compared.b))
    return "".join(
        f"; {len(side.lost)} of {len(side.runs)} of {name} left out because requests failed"
        for name, side in sides
        if side.lost
    )


def _missing(compared: Compared) -> str:
    """Render the transactions that only the other result contains."""
    return "".join(
        f"; {side} has no {', '.join(names)}" for side, names in zip("AB", compared.missing, strict=True) if names
    )


def _size(found: Finding | AtLoad) -> float:
    own = max(found.ratio, 1 / found.ratio) if found.ratio else float("inf")
    # If A had no failures, the ratio of the failures of B to those of A is infinite.
    return _size(found.worst) if isinstance(found, Finding) and _decides(found) and found.worst else own


def _decides(found: Finding) -> bool:
    """Return True if the verdict rests on a single load at which B is worse."""
    return found.worst is not None and found.worst.verdict == "worse"


def decisive(found: Finding) -> str:
    """Render the ratio B / A that decides the verdict: over all loads, or at the load with the worst ratio."""
    return _at_load(found.worst) if found.worst is not None and _decides(found) else _ratio(found)


def _at_load(worst: AtLoad) -> str:
    return f"{_ratio(worst)} at {worst.load or 'no load'}"


def name_of(found: Finding) -> str:
    return f"{found.name} of {found.transaction}" if found.transaction else str(found.name)


def _columns(compared: Compared) -> tuple[str, ...]:
    return (*_COLUMNS, "B worst") if any(found.worst for found in compared.findings) else _COLUMNS


def _shown(compared: Compared) -> Iterator[Finding]:
    """Yield the findings to show; the failures of a transaction without any failure are left out."""
    yield from (each for each in compared.findings if not each.transaction or each.shares != (0.0, 0.0))


def _rows(compared: Compared) -> Iterator[tuple[str, ...]]:
    has_loads = len(_columns(compared)) > len(_COLUMNS)
    for found in _shown(compared):
        row = (str(found.name), found.transaction or "all", _ratio(found), interval(found), str(found.verdict))
        yield (*row, "-" if found.worst is None else _at_load(found.worst)) if has_loads else row


def interval(found: Finding) -> str:
    """Return the 95 % interval of a ratio; `-` if it is unknown."""
    return "-" if found.low is None or found.high is None else f"{found.low:.3f} to {found.high:.3f}"


def detectable(found: Finding) -> str:
    """Return the smallest change of a metric that the runs detect with a probability of 80 %; `-` if it is unknown."""
    return "-" if found.least_detectable is None else f"{few_digits(100 * found.least_detectable)} %"


def _ratio(found: Finding | AtLoad) -> str:
    if found.shares is not None:
        return " to ".join(f"{few_digits(100 * share)} %" for share in found.shares)
    return "-" if found.ratio is None else f"{found.ratio:.3f}"


def details(compared: Compared) -> Iterator[str]:
    """Yield the lines below the table: detectable change, number of runs needed, doubts, and differences of
    configuration.
    """
    if compared.findings:
        yield f"changes below {few_digits(100 * compared.threshold)} % are ignored"
    if compared.least_detectable is not None:
        least = few_digits(100 * compared.least_detectable)
        yield f"these runs detect a change of the mean response time by {least} % with a probability of 80 %"
    elif compared.findings:
        yield "these runs do not show which change they would detect"
    if compared.runs_needed is not None:
        yield f"about {compared.runs_needed:,} runs of each result would probably decide whether they differ"
    yield from compared.doubts
    differing = compared.differs_in
    for each in differing[:_DIFFERENCES_SHOWN]:
        yield f"differs: {each.what}: {each.a or '-'} and {each.b or '-'}"
    if len(differing) > _DIFFERENCES_SHOWN:
        yield f"{len(differing) - _DIFFERENCES_SHOWN} further differences (--json lists them)"


def _cell(text: str) -> str:
    r"""Escape a text, which may come from files of other programs, so that Markdown shows it unchanged in one line.

    Notes
    -----
    Sites such as GitHub convert `@name`, `#1`, `www.` and `://` to links even if these characters are escaped. An HTML
    comment or an escape within the text prevents this.

    Examples
    --------
    >>> print(_cell("![x](http://y) of @name, **a|b**"))
    \!\[x\](http:\//y) of @<!-- -->name, \*\*a\|b\*\*
    """
    plain = visible(" ".join(text.split()))
    escaped = _MARKS.sub(lambda mark: f"\\{mark[0]}", plain).replace("&", "&amp;")
    return _LINKS.sub(lambda mark: _PARTED[mark[0].lower()], escaped)
