from __future__ import annotations

import copy
import dataclasses

import report_synthetic as synthetic

from towtank.report import format as people
from towtank.report.content import audit, build_document, tables
from towtank.report.document import Paragraph, Table

MIX = {
    "test": "mix",
    "group": "readers",
    "stage": None,
    "method": "chi-square",
    "statistic": 3.125,
    "degrees_of_freedom": 3,
    "p_value": 0.3727,
    "n": 1200,
    "asked": {"search": 0.1, "view": 0.4, "download": 0.3, "add": 0.2},
    "seen": {"search": 0.13, "view": 0.38, "download": 0.3, "add": 0.19},
    "verdict": "ok",
}
GAPS = {
    **MIX,
    "test": "gaps between arrivals",
    "group": None,
    "stage": "steady 50",
    "method": "exact",
    "statistic": None,
    "p_value": 0.0,
    "asked": {"dist": "fixed", "mean_s": 0.02},
    "seen": {"mean_s": 0.021},
    "verdict": "suspect",
}
UNTESTED = {"test": "think time", "group": "editors", "stage": None, "why": "no pause began in the window"}


def results(tests, untested=()):
    """Return a study of two runs: the first has the given audit, the second an audit without a finding."""
    found = synthetic.results(levels=(30,))
    first, *others = found.runs
    summary = {**first.summary, "audit": document(tests, untested)}
    runs = [dataclasses.replace(first, summary=summary)]
    runs += [dataclasses.replace(other, summary={**other.summary, "audit": document([MIX])}) for other in others]
    return dataclasses.replace(found, runs=tuple(runs))


def document(tests, untested=()):
    return {"verdict": "ok", "level": 1e-4, "family_level": 1e-3, "tests": list(tests), "untested": list(untested)}


def words(section):
    return " ".join(run.text for block in section.blocks if isinstance(block, Paragraph) for run in block.content)


def rows(section):
    return next(block for block in section.blocks if isinstance(block, Table)).rows


def test_every_test_has_a_row_with_asked_and_seen():
    section = audit.build(results([MIX, GAPS]))
    found = rows(section)
    assert len(found) == 3
    # The table shows the three transactions whose share is furthest from the specified share.
    assert found[0][1:5] == (
        "mix",
        "readers",
        "search 10.0 %, view 40.0 %, add 20.0 %",
        "search 13.0 %, view 38.0 %, add 19.0 %",
    )
    assert found[0][-4:] == ("3.12", "1,200", "0.37", "ok")
    assert found[1][1:5] == ("gaps between arrivals", "steady 50", "fixed, mean 20.0 ms", "mean 21.0 ms")
    assert found[1][-2:] == ("< 1e-12", "suspect")
    assert "1 of 3 tests shows a load that differs from the requested load" in words(section)


def test_sound_loads_and_what_was_not_tested():
    section = audit.build(results([MIX], [UNTESTED]))
    assert "None of 2 tests gives reason for doubt." in words(section)
    assert "Not tested: think time of editors, because no pause began in the window (r001)." in words(section)


def test_nothing_to_audit():
    left = audit.build(results([], [{"test": "all", "group": None, "stage": None, "why": "there is no plan"}]))
    assert len(rows(left)) == 1
    assert "anything, because there is no plan (r001)" in words(left)
    assert words(audit.build(synthetic.results())) == "An audit of the load was not recorded."


def test_the_report_has_the_section():
    (section,) = [each for each in build_document(results([MIX])).sections if each.title == "Audit of the load"]
    assert section.appendix


def test_windows_of_an_objective_are_shown():
    found = results([MIX])
    windows = {"count": 40, "met": 39, "share": 0.975, "empty": 0}
    worst = {"run": "r003", "start_s": 25.0, "end_s": 35.0, "value": 1.2}
    summary = copy.deepcopy(dict(found.summary))
    summary["objectives"] = [
        {
            "text": "p95 < 1 s in every 10 s",
            "met": False,
            "seen": 1.2,
            "at": {},
            "windows": {**windows, "worst": worst},
        },
        {"text": "p95 < 2 s", "met": True, "seen": 1.1, "at": {}},
    ]
    section = tables.build(dataclasses.replace(found, summary=summary))
    (table,) = [each.rows for each in section.blocks if isinstance(each, Table) and "Objectives" in each.caption]
    assert table[0][4:] == ("39 of 40 (97.5 %)", "25 to 35 s of r003")
    assert table[1][4:] == (people.ABSENT, people.ABSENT)
