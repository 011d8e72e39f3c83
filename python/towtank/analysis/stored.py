"""What became of what users were told is stored: counts of a run, and of a sample with its interval."""

from __future__ import annotations

import json
from typing import Any

from scipy import stats

from towtank.analysis.statistics import estimates
from towtank.analysis.statistics.estimates import BINOMIAL, Estimate
from towtank.files import read_regular
from towtank.results.folder import RunFolder
from towtank.results.stored import FATES, NOTES, UNREAD, read_ledger

Json = dict[str, Any]
COUNTS = ("told", "removed", "uncertain", "read", *FATES)
# Shown one by one; `stored.json` has more.
_NAMED_AT_MOST = 20
_CUT_OFF = "the run was cut off before it could be read back"


def read_stored(run: RunFolder) -> Json | None:
    """`stored.json` of a run; what is known without it where notes were left; None where nothing was told."""
    try:
        document = json.loads(read_regular(run.stored))
        return document if isinstance(document, dict) else None
    except (OSError, ValueError):
        return _cut_off(run)


def _cut_off(run: RunFolder) -> Json | None:
    if not any(run.engine.glob(NOTES)):
        return None
    ledger = read_ledger(run.engine)
    kinds: dict[str, Json] = {
        kind: {**dict.fromkeys(COUNTS, 0), "told": len(things), UNREAD: len(things), "named": [], "sample": False}
        for kind, things in ledger.things.items()
    }
    told = sum(one["told"] for one in kinds.values())
    return {**dict.fromkeys(COUNTS, 0), "told": told, UNREAD: told, "reason": _CUT_OFF, "kinds": kinds}


def stored(document: Json | None) -> Json | None:
    """`stored` of the summary of a run; None where nobody was told anything."""
    if document is None:
        return None
    kinds = {kind: _kind(one) for kind, one in document["kinds"].items()}
    named = [{"kind": kind, **each} for kind, one in document["kinds"].items() for each in one["named"]]
    named.sort(key=lambda one: one["told_s"])
    sums = {key: document[key] for key in COUNTS}
    if any(one.get("sample") for one in document["kinds"].values()):
        sums |= {key: _sum([kinds[kind][key] for kind in kinds]) for key in FATES}
    return {
        **sums,
        "reason": document.get("reason"),
        "kinds": kinds,
        "named": [
            {key: one[key] for key in ("kind", "key", "fate", "told_s", "read") if key in one}
            for one in named[:_NAMED_AT_MOST]
        ],
    }


def _kind(one: Json) -> Json:
    """Counts of a kind; of a sample what follows for all, with the interval."""
    counts = {key: one[key] for key in COUNTS}
    if not one.get("sample"):
        return counts
    drawn = sum(one[key] for key in FATES)
    return {**counts, **{key: scaled(one[key], drawn, one["told"]).document() for key in FATES}}


def scaled(seen: int, drawn: int, told: int) -> Estimate:
    """How many of all there are, from how many were seen in a sample.

    Parameters
    ----------
    seen : int
        Of the sample. [1]
    drawn : int
        Size of the sample. [1]
    told : int
        How many there are. [1]

    Returns
    -------
    Estimate
        With the exact interval of a binomial share [1]_, which is too wide for a sample drawn without putting back,
        never too narrow.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
           binomial", Biometrika 26(4), 404-413, 1934, doi:10.1093/biomet/26.4.404.
    """
    if not drawn:
        return estimates.NOTHING
    bounds = stats.binomtest(seen, drawn).proportion_ci(estimates.CONFIDENCE, method="exact")
    return Estimate(seen / drawn * told, float(bounds.low) * told, float(bounds.high) * told, BINOMIAL, drawn)


def _sum(found: list[Any]) -> Json:
    read = [estimates.from_document(one) if isinstance(one, dict) else Estimate(one, one, one, n=1) for one in found]
    sums = [sum(getattr(one, name) or 0.0 for one in read) for name in ("value", "low", "high")]
    return Estimate(sums[0], sums[1], sums[2], BINOMIAL, min(one.n for one in read)).document()


def count_of(found: Json | None, key: str) -> float | None:
    """A count of the summary as a number, also where it is an estimate."""
    value = None if found is None else found.get(key)
    if isinstance(value, dict):
        return estimates.from_document(value).value
    return None if value is None else float(value)
