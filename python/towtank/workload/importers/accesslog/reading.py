"""Reads access logs of web servers into drafts with a mix of pages, fitted think times, sessions, and arrivals over
time.

The log is read once, line by line, in bounded memory. `lines` reads requests, `paths` builds path patterns, `sessions`
tracks clients, and `thinking` fits distributions to the gaps between pages.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np

from towtank.estimates import few_digits
from towtank.units import format_duration
from towtank.workload.importers.accesslog.lines import Hit, read_access_log, split_url
from towtank.workload.importers.accesslog.paths import Key, Pattern, Patterns, shortened
from towtank.workload.importers.accesslog.sessions import LEAST_GAP, Sessions
from towtank.workload.importers.draft import (
    METHODS,
    DraftGroup,
    DraftPool,
    ImportDraft,
    ImportOptions,
    Pause,
    Step,
    identifier,
    literal,
    request,
    rounded,
    seconds,
    unique,
    weights,
)
from towtank.workload.importers.encoded import QUERY_SAFE, survives
from towtank.workload.importers.expected import Expected
from towtank.workload.importers.thinking import GAPS_AT_LEAST, fit_gaps

# Largest number of transactions. Less frequent pages are omitted and reported in a note. [1]
TRANSACTIONS_AT_MOST = 40
# Smallest share of a page's visits in which a static file must be requested, so that it becomes part of the page.
# [ratio]
ASSET_SHARE = 0.5
# Significance level. A fitted distribution of the gaps between pages is rejected if its p-value is smaller. [1]
_P_AT_LEAST = 0.05

_ROBOT = re.compile(r"bot\b|crawl|spider|slurp|monitor|health-?check|kube-probe|uptime", re.IGNORECASE)
_PATH_SAFE = "%:@!$&'()*+,;=~-._"


def read(path: Path, options: ImportOptions) -> ImportDraft:
    """Read an access log into a draft of a workload."""
    draft = ImportDraft(
        str(path), "accesslog", identifier(path.name.partition(".")[0], "log"), f"Access log {path.name}"
    )
    patterns = Patterns()
    sessions = Sessions(patterns)
    for hit in read_access_log(path, draft.notes):
        if _wanted(hit, draft, options):
            sessions.add(hit)
    sessions.finish()
    patterns.collapse()
    kept = _kept(patterns, draft)
    if not kept:
        return draft
    for key, pattern in kept.items():
        _transaction(key, pattern, draft)
    mix = weights(dict(zip(draft.transactions, (float(pattern.count) for pattern in kept.values()), strict=True)))
    pause, mean = _think_time(sessions, draft)
    draft.groups = {"users": DraftGroup(mix, pause)}
    if sessions.lonely:
        why = f"left out: {sessions.lonely} requests for static files by clients that had requested no page"
        draft.notes.add((1, 0), "static files without a page", why)
    _findings(sessions, patterns, draft, mean)
    return draft


def _wanted(hit: Hit, draft: ImportDraft, options: ImportOptions) -> bool:
    place = (hit.number, 0)
    if hit.method not in METHODS:
        known = hit.method if hit.method in {"OPTIONS", "CONNECT", "TRACE", "PROPFIND"} else "another method"
        draft.notes.add(
            place, f"request with {known}", f"left out: a workload supports the methods {', '.join(sorted(METHODS))}"
        )
        return False
    if _ROBOT.search(hit.agent):
        draft.notes.add(place, "robot", "left out: a robot does not behave like a user")
        return False
    if shortened(hit.url):
        why = "20 names of a query and 500 characters of a value are kept; a name without `=` is sent with `=`"
        draft.notes.add(place, "long URL, or name without `=`", why)
    host = split_url(hit.url).hostname if not hit.url.startswith("/") else None
    if host:
        draft.notes.add(place, "host of a request", "is not kept: all requests go to one target")
    if host and options.hosts and host not in options.hosts:
        draft.notes.add(
            place, "request to another host", f"left out: the host is not selected with {options.host_option}"
        )
        return False
    return True


def _kept(patterns: Patterns, draft: ImportDraft) -> dict[Key, Pattern]:
    """Return the most frequent patterns, which become transactions. All other patterns are reported in notes."""
    by_count = sorted(patterns.patterns.items(), key=lambda item: (-item[1].count, item[1].line))
    kept: dict[Key, Pattern] = {}
    for key, pattern in by_count:
        label = f"{key.method} {shown(key)}"
        if pattern.failures * 2 > pattern.count:
            why = f"left out: {pattern.failures} of {pattern.count} requests failed"
        elif len(kept) >= TRANSACTIONS_AT_MOST:
            why = f"left out: {pattern.count} requests; only the {TRANSACTIONS_AT_MOST} most frequent patterns are kept"
        else:
            kept[key] = pattern
            continue
        draft.notes.add((pattern.line, 0), label, why)
    if patterns.forgotten:
        why = f"left out: {patterns.forgotten} requests, because the log has too many different paths"
        draft.notes.add((1, 0), "rare paths", why)
    return kept


def shown(key: Key) -> str:
    """Return a pattern as readable text, such as `/orders/{}?lang`."""
    path = "/" + "/".join("{}" if part is None else part for part in key.parts)
    names = [unquote(name) if survives(name, in_query=True) else name for name in key.query]
    return path + (f"?{'&'.join(names)}" if names else "")


def _transaction(key: Key, pattern: Pattern, draft: ImportDraft) -> None:
    label = f"{key.method} {shown(key)}"
    prefix = "" if key.method == "GET" else f"{key.method} "
    names, rows, decoded = _decoded(key, pattern)
    words = [part for part in key.parts if part] + (["by", *names] if names else [])
    name = unique(identifier(prefix + " ".join(words), "home"), draft.transactions)
    columns = _columns(key)
    steps: list[Step] = []
    if columns and len(rows) > 1:
        draft.data[name] = DraftPool(
            columns=[*columns, "weight"], rows=[[*row, times] for row, times in rows], weight="weight"
        )
        steps.append({"draw": name})
        values = [f"${{{name}.{column}}}" for column in columns]
    else:
        values = [literal(value) for value in rows[0][0]] if rows else []
    parameters = iter(values)
    parts = [literal(_encoded(part)) if part is not None else _path_value(next(parameters)) for part in key.parts]
    pairs = list(zip(names, parameters, strict=True))
    path, query = "/" + "/".join(parts), dict(pairs)
    # A mapping cannot represent a repeated name, or text that is not decoded. Such a query becomes part of the path.
    if len(query) < len(pairs) or not decoded:
        path, query = f"{path}?{'&'.join(_query_part(*pair, decoded=decoded) for pair in pairs)}", {}
    if key.method in {"POST", "PUT", "PATCH"}:
        draft.notes.add(
            (pattern.line, 0), f"{label}: body", "a log contains no bodies: the request is sent without a body"
        )
    if pattern.not_kept:
        why = f"{pattern.not_kept} requests had values beyond the {len(rows)} different rows that are kept"
        draft.notes.add((pattern.line, 0), f"{label}: values", why)
    step = request(key.method, path, name=label, query=query, check=_check(pattern))
    draft.transactions[name] = [*steps, step, *_assets(label, pattern, draft)]


def _columns(key: Key) -> list[str]:
    """Return a name for each parameter of a pattern: the path part before the parameter, or the name in the query."""
    columns: list[str] = []
    for index, part in enumerate(key.parts):
        if part is None:
            before = next((each for each in reversed(key.parts[:index]) if each), "path")
            columns.append(unique(f"{identifier(before, 'path')}_id", [*columns, "weight"]))
    for name in map(unquote, key.query):
        columns.append(unique(identifier(name, "value"), [*columns, "weight"]))
    return columns


def _encoded(part: str) -> str:
    """Percent-encode a path part from a log. Parts that are encoded already, as most parts are, stay unchanged."""
    return quote(part, safe=_PATH_SAFE)


def _path_value(value: str) -> str:
    return value if value.startswith("${") else _encoded(value)


def _decoded(key: Key, pattern: Pattern) -> tuple[tuple[str, ...], list[tuple[tuple[str, ...], int]], bool]:
    """Return query names, rows of values with their counts, and `decoded`.

    Names and values are decoded only if encoding them again restores every query.

    Returns
    -------
    names : tuple of str
    rows : list of (tuple of str, int)
    decoded : bool
        False if names and values of the query are as logged.
    """
    rows, first = pattern.rows.most_common(), sum(part is None for part in key.parts)
    texts = [*key.query, *(value for row, _ in rows for value in row[first:])]
    if not all(survives(text, in_query=True) for text in texts):
        return key.query, rows, False
    merged: Counter[tuple[str, ...]] = Counter()
    for row, times in rows:
        merged[(*row[:first], *map(unquote, row[first:]))] += times
    return tuple(map(unquote, key.query)), merged.most_common(), True


def _query_part(name: str, value: str, *, decoded: bool) -> str:
    safe = "" if decoded else QUERY_SAFE
    if value.startswith("${"):
        text = f"{value[:-1]}|url}}" if decoded else value
    else:
        text = literal(quote(value.replace("$${", "${"), safe=safe))
    return f"{literal(quote(name, safe=safe))}={text}"


def _check(pattern: Pattern) -> Expected | None:
    """Return a check that accepts the status codes below 400 in the log; None if no request had such a status.

    304 (not modified) counts as 200, because virtual users have no cache.
    """
    statuses = sorted({200 if status == 304 else status for status in pattern.statuses if 100 <= status < 400})
    return Expected().status(*statuses) if statuses else None


def _assets(label: str, pattern: Pattern, draft: ImportDraft) -> list[Step]:
    """Return requests for the static files that at least half of the visits of a page requested.

    Other static files are reported in notes, unless the page or the file was requested too rarely.
    """
    steps: list[Step] = []
    for url, times in pattern.assets.most_common():
        if times < ASSET_SHARE * pattern.count:
            why = f"left out: only {times} of {pattern.count} visits requested the file" if times > 1 else None
            if why is not None and pattern.count >= 10:
                draft.notes.add((pattern.line, 0), f"{label}: {url[:80]}", why)
            continue
        parts = split_url(url)
        path = "/".join(_encoded(part) for part in parts.path.split("/")) + (
            f"?{quote(parts.query, safe=_PATH_SAFE)}" if parts.query else ""
        )
        steps.append(request("GET", literal(path), on_failure="go_on"))
    return steps


def _think_time(sessions: Sessions, draft: ImportDraft) -> tuple[Pause, float]:
    """Return the pause of a think step with the best-fitting distribution, and the mean pause [s].

    All fits are added to the findings of the draft.
    """
    if sessions.gap_count < GAPS_AT_LEAST:
        why = f"{sessions.gap_count} pauses are too few to fit a distribution"
        mean = sessions.gap_sum / sessions.gap_count if sessions.gap_count else 1.0
        draft.notes.add((1, 0), "think times", f"{why}: exponential with mean {format_duration(mean)}")
        draft.findings["think_times"] = {"count": sessions.gap_count, "fits": []}
        return {"exponential": seconds(mean)}, mean
    sample = np.array([gap for gap in sessions.gaps if gap > LEAST_GAP])
    fits = fit_gaps(sample, LEAST_GAP)
    best = next(fit for fit in fits if fit.pause is not None)
    draft.findings["think_times"] = {
        "count": sessions.gap_count,
        "mean_s": rounded(sessions.gap_sum / sessions.gap_count),
        "fitted_to": len(sample),
        "pause_mean_s": rounded(best.mean),
        "least_s": LEAST_GAP,
        "chosen": best.name,
        "fits": [fit.document() for fit in fits],
    }
    draft.findings.setdefault("summary", []).extend(
        f"think times: {fit.name}{' (chosen)' if fit is best else ''}, "
        f"Kolmogorov-Smirnov D = {fit.statistic:.3f}, p = {fit.p:.3f}"
        + ("" if fit.pause is not None else ", not supported by the workload format")
        for fit in fits
    )
    if best.p < _P_AT_LEAST:
        why = f"no supported distribution fits; {best.name} is the nearest (p = {best.p:.3f}, D = {best.statistic:.3f})"
        draft.notes.add((1, 0), "distribution of think times", why)
    if sessions.with_response_time < sessions.pages:
        why = f"unknown for {sessions.pages - sessions.with_response_time} pages: their think times include it"
        draft.notes.add((1, 0), "response times", why)
    assert best.pause is not None  # `best` was chosen with this condition
    margin = 1.96 * float(np.std(sample)) / math.sqrt(len(sample))
    draft.findings["summary"].append(
        f"pause of the workload: {few_digits(best.mean, 4)} s on average (95 % interval "
        f"[{few_digits(best.mean - margin, 4)}, {few_digits(best.mean + margin, 4)}]), "
        f"fitted to {len(sample)} of {sessions.gap_count} gaps"
    )
    return best.pause, best.mean


def _findings(sessions: Sessions, patterns: Patterns, draft: ImportDraft, pause: float) -> None:
    """Add findings about sessions, arrivals over time, and the number of users at the peak to the draft."""
    rates = sessions.profile.rates()
    peak = max(rate["pages_per_s"] for rate in rates)
    pages = sum(pattern.count for pattern in patterns.patterns.values())
    took = sum(pattern.response_time for pattern in patterns.patterns.values())
    response, timed = took / pages, sessions.with_response_time
    # Little's law, N = X (R + Z): X is the peak rate, R the response time, Z the think time of the workload.
    users = peak * (response + pause)
    draft.findings["sessions"] = {
        "count": sessions.ended,
        "pages_mean": round(sessions.pages / sessions.ended, 3),
        "duration_mean_s": rounded(sessions.durations / sessions.ended),
        "ended_early": sessions.cut,
    }
    draft.findings["arrivals"] = {"stretch_s": sessions.profile.width, "peak_pages_per_s": peak, "rates": rates}
    mean = round(took / timed, 6) if timed else None
    draft.findings["load"] = {"users_at_peak": round(users, 2), "rate_at_peak_per_s": peak, "response_mean_s": mean}
    if mean is not None:
        draft.findings.setdefault("summary", []).append(
            f"response time: {format_duration(mean)} on average over {timed} pages, from the last number of each line: "
            f"microseconds, or seconds if the number has a decimal point"
        )
    draft.findings.setdefault("summary", []).append(
        f"sessions: {sessions.ended}, {sessions.pages / sessions.ended:.2f} pages each; "
        f"at most {few_digits(peak, 4)} pages /s over {format_duration(sessions.profile.width)}, "
        f"which corresponds to N = X (R + Z) = {few_digits(users, 4)} users"
    )
    why = "each page is chosen with its share of all pages; the order within a session is not kept"
    draft.notes.add((1, 0), "order of pages", why)
