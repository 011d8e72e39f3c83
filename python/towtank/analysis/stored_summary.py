"""Checks stored run summaries. Malformed entries are named as a doubt of the run, because their defaults are no
measured values.
"""

from __future__ import annotations

from collections.abc import Mapping

from towtank.analysis.doubts import VERDICTS, Doubt, DoubtKind, DoubtLevel
from towtank.analysis.run_summary import RunSummary
from towtank.analysis.run_summary_forms import is_written_doubt
from towtank.digging import dig
from towtank.documents import malformed, usable_entries
from towtank.results import kept

_WHY = "A malformed entry was left out, so its value is unknown."
# Entries that every version of the format has. An earlier version lacks others, which it did not measure.
_ALWAYS = frozenset(
    {"verdict", "window", "throughput_per_s", "response_time_s", "errors", "transactions", "tiers", "damage"}
)
_ALWAYS_OF_TRANSACTION = frozenset({"count", "errors", "throughput_per_s", "response_time_s"})
_HINT = "make the folder writable, so that Towtank computes this summary again from the records"


def is_whole(summary: Mapping[str, object]) -> bool:
    """Return True if a run summary has the entries of every version of the format, and none of its entries is
    malformed.
    """
    if not summary.keys() >= _ALWAYS or malformed(RunSummary, summary):
        return False
    transactions = dig(summary, "transactions").values()
    has_all = all(each.keys() >= _ALWAYS_OF_TRANSACTION for each in transactions)
    has_errors = dig(summary, "errors").keys() >= {"count", "share"}
    has_verdict = dig(summary, "verdict", "level") in VERDICTS and isinstance(dig(summary, "verdict", "reasons"), list)
    return has_all and has_errors and has_verdict


def readable_summary(summary: kept.Document, file: str) -> kept.Document:
    """Return a run summary without its malformed entries, with a doubt that names them.

    The doubt makes the run suspect. If the verdict is malformed, the run is invalid, because it may have been.

    Parameters
    ----------
    summary : dict
        Content of `summary.json`; empty if the file is missing.
    file : str
        Name of the file, for the doubt.
    """
    faults = malformed(RunSummary, summary)
    if not faults:
        return summary
    level = DoubtLevel.INVALID if "verdict" in faults else DoubtLevel.SUSPECT
    usable = {"verdict": dig(summary, "verdict"), **usable_entries(RunSummary, summary)}
    return _doubted(usable, left_out(file, faults, level, (_WHY, _HINT)))


def with_known_verdict(run: kept.Document) -> kept.Document:
    """Return the summary of a run. If the level of its verdict is unknown, the run is invalid, with a doubt."""
    level = dig(run, "verdict", "level")
    if level in VERDICTS:
        return run
    fault = f"verdict.level must be {', '.join(VERDICTS[:-1])} or {VERDICTS[-1]}, got {level!r} instead"
    return _doubted(run, left_out("summary.json", {"verdict": fault}, DoubtLevel.INVALID, (_WHY, _HINT)))


def left_out(file: str, faults: Mapping[str, str], level: DoubtLevel, special: tuple[str, str] | None = None) -> Doubt:
    """Return the doubt that entries of a file were left out, with the fault of each entry."""
    entries = "this entry is" if len(faults) == 1 else f"these {len(faults)} entries are"
    return Doubt(
        DoubtKind.DATA_DAMAGED, level, f"{file}: {'; '.join(faults.values())}; {entries} left out", special=special
    )


def _doubted(run: Mapping[str, object], doubt: Doubt) -> kept.Document:
    """Return the summary of a run with one more doubt, and a verdict that is no better than the doubt."""
    verdict, given = dig(run, "verdict"), dig(run, "verdict", "reasons")
    others = verdict if isinstance(verdict, Mapping) else {}
    reasons = list(filter(is_written_doubt, given)) if isinstance(given, list | tuple) else []
    worst = [level for level in VERDICTS if level in (dig(run, "verdict", "level"), doubt.level)][-1]
    return {**run, "verdict": {**others, "level": worst, "reasons": [doubt.document(), *reasons]}}
