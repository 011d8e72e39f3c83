"""Share of the intervals of `towtank judge` that contain the true value, for files with known true values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from certification import Section
from covering import SERIES
from known_requests import Known, lognormal, queue, write_csv

from towtank.analysis.judgement import judge_file

FILES = SERIES or 4
REQUESTS = 10_000
SECTION = Section(
    "Intervals of files of other tools",
    "file | quantity | with an interval | of these, held",
    f"{FILES} files of {REQUESTS:,} requests each, plain CSV, seeds fixed. 93 to 97 % of 95 % intervals are to hold, "
    "with three standard deviations of so many allowed, and half of the files are to have an interval of the mean. "
    "Intervals that fewer than a tenth of the files have are not judged: these are the files without a long queue.",
)
_MAKE = {"M/M/1": queue, "lognormal": lognormal}
CASES = [
    *(("M/M/1", utilization) for utilization in (0.5, 0.7, 0.8, 0.9)),
    ("lognormal", 0.0),
    ("lognormal", 0.5),
    ("lognormal", 0.9),
]


@pytest.mark.certify
@pytest.mark.parametrize(("kind", "parameter"), CASES)
def test_intervals_of_files_hold(kind: str, parameter: float, tmp_path: Path, tabled) -> None:
    rng = np.random.default_rng(round(1000 * parameter) + len(kind))
    given, held = dict[str, int](), dict[str, int]()
    for _ in range(FILES):
        known: Known = _MAKE[kind](rng, REQUESTS, parameter)
        times = judge_file(write_csv(tmp_path / "file.csv", known.requests)).figures.response_time_s
        for name in ("mean", "p50", "p90", "p95", "p99"):
            estimate = times[name]
            if estimate.low is not None and estimate.high is not None:
                given[name] = given.get(name, 0) + 1
                held[name] = held.get(name, 0) + (estimate.low <= known.times_s[name] <= estimate.high)
    for name, count in given.items():
        share, slack = held[name] / count, 3 * (0.05 * 0.95 / count) ** 0.5
        right = 0.93 - slack <= share <= min(1.0, 0.97 + slack) or count < FILES / 10
        right &= name != "mean" or count >= FILES / 2
        cells = f"{kind}, {parameter:g}", name, f"{100 * count / FILES:.0f} %", f"{100 * share:.1f} %"
        tabled(SECTION, *cells, holds=right)
