"""Coverage of the intervals of `towtank judge`, for files with known true values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from certification import Section
from covering import SERIES
from foreign_writers import WRITERS, write_form
from known_requests import Known, lognormal, queue, write_csv

from towtank.analysis.judgement import judge_file

FILES = SERIES or 4
REQUESTS = 10_000
SECTION = Section(
    "Intervals of files of other tools",
    "file | quantity | files with an interval | coverage of these intervals",
    f"{FILES} CSV files of {REQUESTS:,} requests each, with fixed seeds. 93 to 97 % of the 95 % intervals must "
    "contain the true value; the tolerance is three standard deviations. At least half of the files must have an "
    "interval of the mean, except at a utilization of 95 %. Intervals that fewer than a tenth of the files have are "
    "not tested, because only files without a long queue have them.",
)
FILES_OF_A_FORM = min(SERIES, 100) or 2
FORMS = Section(
    "Intervals of files of each tool",
    "format | file | quantity | files with an interval | coverage of these intervals",
    f"{FILES_OF_A_FORM} files of {REQUESTS:,} requests each, with fixed seeds and the time resolution of each tool. "
    "At least 93 % of the 95 % intervals must contain the true value; the tolerance is three standard deviations. At "
    "least half of the files must have an interval.",
)
_MAKE = {"M/M/1": queue, "lognormal": lognormal}
_TOO_HIGH = 0.95
# Resolution of response times, by file format. [s]
_STEP_S = {"JMeter JTL (CSV)": 1e-3, "JMeter JTL (XML)": 1e-3, "Gatling simulation.log (text)": 1e-3, "hey CSV": 1e-4}
CASES = [
    *(("M/M/1", utilization) for utilization in (0.5, 0.7, 0.8, 0.85, 0.9, 0.95)),
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
        # At a utilization of 95 %, a file of 10,000 requests lasts only seven relaxation times of the queue, and most
        # files yield no interval.
        right &= name != "mean" or parameter == _TOO_HIGH or count >= FILES / 2
        cells = f"{kind}, {parameter:g}", name, f"{100 * count / FILES:.0f} %", f"{100 * share:.1f} %"
        tabled(SECTION, *cells, holds=right)


@pytest.mark.certify
@pytest.mark.parametrize("form", ["plain CSV", *WRITERS])
@pytest.mark.parametrize(("kind", "parameter"), [("M/M/1", 0.7), ("lognormal", 0.5)])
def test_intervals_of_each_form_hold(kind: str, parameter: float, form: str, tmp_path: Path, tabled) -> None:
    rng = np.random.default_rng(round(1000 * parameter) + len(form))
    names = ("throughput", "mean", "p50", "p90", "p95")
    given, held = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for _ in range(FILES_OF_A_FORM):
        known: Known = _MAKE[kind](rng, REQUESTS, parameter)
        found = judge_file(write_form(tmp_path / "file", form, known.requests))
        assert (found.form, found.requests, found.errors) == (form, REQUESTS, 0)
        truth = {"throughput": known.throughput_per_s, **known.times_s}
        estimates = {"throughput": found.figures.throughput_per_s, **found.figures.response_time_s}
        for name in names:
            low, high = estimates[name].low, estimates[name].high
            if low is not None and high is not None:
                given[name] += 1
                # The number of requests in the window may be wrong by one, and response times are rounded to the
                # resolution.
                slack = 1 / REQUESTS * truth[name] if name == "throughput" else _STEP_S.get(form, 0.0) / 2
                held[name] += low - slack <= truth[name] <= high + slack
    for name in names:
        least = max(1, FILES_OF_A_FORM / 2)
        share, slack = held[name] / max(1, given[name]), 3 * (0.05 * 0.95 / max(1, given[name])) ** 0.5
        cells = f"{100 * given[name] / FILES_OF_A_FORM:.0f} %", f"{100 * share:.1f} %"
        # For a constant rate and for few values, all intervals may contain the true value.
        right = given[name] >= least and share >= 0.93 - slack
        tabled(FORMS, form, f"{kind}, {parameter:g}", name, *cells, holds=right)
