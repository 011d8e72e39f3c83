"""Counts the documents that users stored in a run. Counts from a sample have an interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank.analysis.run_summary_forms import StoredFileForm
from towtank.analysis.statistics import estimates
from towtank.analysis.statistics.estimates import BINOMIAL, Estimate
from towtank.distributions import binomial_interval
from towtank.documents import malformed, usable_entries
from towtank.errors import StudyError
from towtank.results import (
    ITEM_DIFFERENT,
    ITEM_FATES,
    ITEM_FOUND,
    ITEM_LOST,
    ITEM_UNREAD,
    ITEM_UNREADABLE,
    STORED_NOTES,
    RunFolder,
    earlier,
    read_ledger,
    read_object,
)

Json = dict[str, Any]
COUNTS = ("acknowledged", "removed", "uncertain", "read", *ITEM_FATES)
# The run summary lists at most this number of documents individually; `stored.json` lists more.
_NAMED_AT_MOST = 20
STORED_DAMAGED = "stored.json is damaged: "
"""Beginning of the reason in an entry `stored` if the file `stored.json` has faults."""
_CUT_OFF = "the run was cut off before the read-back"


def read_stored(run: RunFolder) -> Json | None:
    """Read the counts of stored documents of a run. Return None if the system confirmed no document as stored.

    If `stored.json` does not exist or cannot be used, the counts are derived from the records of the engine about
    stored documents. Faults of the file are added to the entry `reason`.
    """
    try:
        document = earlier.stored_document(read_object(run.stored))
    except FileNotFoundError:
        return _cut_off(run, _CUT_OFF)
    except (OSError, ValueError, StudyError):
        return _cut_off(run, f"{STORED_DAMAGED}it cannot be read") or _unknown(f"{STORED_DAMAGED}it cannot be read")
    faults = malformed(StoredFileForm, document)
    if not faults:
        return document
    usable = dict(usable_entries(StoredFileForm, document))
    what = f"{STORED_DAMAGED}{'; '.join(faults.values())}"
    if not usable.keys() >= {*COUNTS, "kinds"}:
        return _cut_off(run, what) or _unknown(what)
    return {**usable, "reason": "; ".join(map(str, filter(None, (usable.get("reason"), what))))}


def _unknown(reason: str) -> dict[str, object]:
    """Return the counts of a run without any record of its stored documents."""
    return {**dict.fromkeys(COUNTS, 0), "reason": reason, "kinds": {}}


def _cut_off(run: RunFolder, reason: str) -> Json | None:
    if not any(run.engine.glob(STORED_NOTES)):
        return None
    ledger = read_ledger(run.engine)
    kinds: dict[str, Json] = {
        kind: {
            **dict.fromkeys(COUNTS, 0),
            "acknowledged": len(things),
            ITEM_UNREAD: len(things),
            "named": [],
            "sample": False,
        }
        for kind, things in ledger.things.items()
    }
    acknowledged = sum(counts["acknowledged"] for counts in kinds.values())
    return {
        **dict.fromkeys(COUNTS, 0),
        "acknowledged": acknowledged,
        ITEM_UNREAD: acknowledged,
        "reason": reason,
        "kinds": kinds,
    }


def stored(document: Json | None) -> Json | None:
    """Return the entry `stored` of a run summary; None if the system confirmed no document as stored."""
    if document is None:
        return None
    if missing := _missing(document):
        return stored(_unknown(f"{STORED_DAMAGED}{missing}"))
    counts = document["kinds"]
    kinds = {kind: _kind(about) for kind, about in counts.items()}
    named = [{"kind": kind, **each} for kind, about in counts.items() for each in about["named"]]
    named.sort(key=lambda entry: entry["acknowledged_s"])
    sums = {key: document[key] for key in COUNTS}
    if any(about.get("sample") for about in document["kinds"].values()):
        sums |= {key: _sum_of([kinds[kind][key] for kind in kinds]).document() for key in ITEM_FATES}
    return {
        **sums,
        "reason": document.get("reason"),
        "bad_lines": document.get("bad_lines", 0),
        "kinds": kinds,
        "named": [
            {key: entry[key] for key in ("kind", "key", "fate", "acknowledged_s", "read") if key in entry}
            for entry in named[:_NAMED_AT_MOST]
        ],
    }


def _missing(document: Mapping[str, Any]) -> str | None:
    """Return the fault that counts of stored documents lack a number or a list; None if they are complete."""
    if "kinds" not in document:
        return "it must have the key 'kinds', got none"
    for place, counts, keys in (
        ("it", document, COUNTS),
        *((f"kinds.{kind}", about, (*COUNTS, "named")) for kind, about in document["kinds"].items()),
    ):
        for key in keys:
            if counts.get(key) is None:
                return f"{place} must have the key {key!r}, got none"
    return None


def _kind(about: Json) -> Json:
    """Return the counts of one kind of stored document. Counts in a sample are scaled to all documents, with an
    interval.
    """
    counts = {key: about[key] for key in COUNTS}
    if not about.get("sample"):
        return counts
    drawn = sum(about[key] for key in ITEM_FATES)
    return {**counts, **{key: scaled(about[key], drawn, about["acknowledged"]).document() for key in ITEM_FATES}}


def scaled(seen: int, drawn: int, whole: int) -> Estimate:
    """Estimate how many items of a population have a property, from the number in a sample.

    Parameters
    ----------
    seen : int
        Number of items with the property in the sample. [1]
    drawn : int
        Size of the sample. [1]
    whole : int
        Size of the population. [1]

    Returns
    -------
    Estimate
        Estimate with the exact interval of a binomial share [1]_. For a sample drawn without replacement, this
        interval is too wide and never too narrow.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
           binomial", Biometrika 26(4), 404-413, 1934, doi:10.1093/biomet/26.4.404.
    """
    if not drawn:
        return estimates.NO_ESTIMATE
    low, high = binomial_interval(seen, drawn, estimates.CONFIDENCE)
    return Estimate(seen / drawn * whole, low * whole, high * whole, BINOMIAL, drawn)


def _sum_of(found: list[Any]) -> Estimate:
    read = [
        estimates.estimate_from_document(count) if isinstance(count, dict) else Estimate(count, count, count, n=1)
        for count in found
    ]
    sums = [sum(getattr(estimate, name) or 0.0 for estimate in read) for name in ("value", "low", "high")]
    return Estimate(sums[0], sums[1], sums[2], BINOMIAL, min((estimate.n for estimate in read), default=1))


def not_read_back(found: Json, key: str) -> Estimate:
    """Return the number of documents that could not be read back but may belong to the count `key`, such as `lost`. [1]

    A document that was not read, or only partly, may exist unchanged, be lost, or have other content. A document that
    was not read may also be unreadable.
    """
    unknown = {
        ITEM_FOUND: (ITEM_UNREAD, ITEM_UNREADABLE),
        ITEM_LOST: (ITEM_UNREAD, ITEM_UNREADABLE),
        ITEM_DIFFERENT: (ITEM_UNREAD, ITEM_UNREADABLE),
    }
    return _sum_of(
        [found.get(name) or 0 for name in unknown.get(key, (ITEM_UNREAD,) if key == ITEM_UNREADABLE else ())]
    )


def bounds_of(found: Json | None, key: str, *, by_intervals: bool = False) -> tuple[float, float] | None:
    """Return a lower and an upper bound of a count in a run summary. The upper bound includes the documents that were
    not read back. Return None if the count is unknown.

    Parameters
    ----------
    found : dict or None
        Entry `stored` of a run summary, or an entry of its `kinds`.
    key : str
        Name of the count.
    by_intervals : bool, default False
        True to use the interval of a count from a sample, False to use its value.
    """
    count = None if found is None else found.get(key)
    if found is None or count is None:
        return None
    known, unknown = _sum_of([count]), not_read_back(found, key)
    if by_intervals:
        return known.low or 0.0, (known.high or 0.0) + (unknown.high or 0.0)
    return known.value or 0.0, (known.value or 0.0) + (unknown.value or 0.0)


def count_of(found: Mapping[str, Any] | None, key: str) -> float | None:
    """Return a count of the entry `stored` as a number; the value if the count is an estimate. Return None if it is
    missing. [1]
    """
    value = None if found is None else found.get(key)
    if isinstance(value, dict):
        return estimates.estimate_from_document(value).value
    return None if value is None else float(value)
