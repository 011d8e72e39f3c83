"""Renders a comparison as JUnit XML, which servers for continuous integration display as test results.

Each compared metric is a test case, which fails if B is worse, and is skipped if the metric is undecided. Each case
states the smallest change that the runs can detect, because a passed test does not prove that nothing changed.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from towtank import junit
from towtank.analysis import Compared, Finding
from towtank.cli.compare_table import decisive, details, detectable, headline, interval, name_of
from towtank.errors import StudyError
from towtank.estimates import few_digits
from towtank.files import put_text

_CLASS = "towtank.compare"


def write_junit(compared: Compared, path: Path) -> None:
    """Write a comparison as a JUnit file.

    Raises
    ------
    StudyError
        If the path is a folder.
    """
    if path.is_dir():
        raise StudyError.of_option("--junit", f"must be a file, got the folder {path} instead")
    put_text(path, compare_junit(compared))


def compare_junit(compared: Compared) -> str:
    """Return a comparison as the text of a JUnit file."""
    cases = [_case(found) for found in compared.findings]
    if compared.is_invalid:
        cases.append(_invalid(compared))
    suite = junit.suite_of(f"{compared.a.name} and {compared.b.name}", cases)
    suite.insert(0, _properties(compared))
    suite.append(junit.element("system-out", text="\n".join([headline(compared), *details(compared)])))
    return junit.document("towtank compare", [suite])


def _properties(compared: Compared) -> ET.Element:
    """Return a JUnit element with the names and numbers of runs of both results, the threshold and the verdict."""
    values = {
        "a": compared.a.name,
        "b": compared.b.name,
        "runs of a": str(len(compared.a.usable)),
        "runs of b": str(len(compared.b.usable)),
        "threshold": f"{few_digits(100 * compared.threshold)} %",
        "verdict": str(compared.verdict),
    }
    properties = junit.element("properties")
    properties.extend(junit.element("property", name=name, value=value) for name, value in values.items())
    return properties


def _case(found: Finding) -> ET.Element:
    case = junit.element("testcase", classname=_CLASS, name=f"{name_of(found)} is not worse")
    bounds = "" if found.low is None else f", 95 % interval {interval(found)}"
    seen = f"{'A and B' if found.shares else 'B / A'} {decisive(found)}{bounds}; {_unseen(found)}"
    if found.verdict == "worse":
        case.append(junit.element("failure", text=seen, type="worse", message=f"B is worse: {seen}"))
    elif found.verdict == "undecided":
        case.append(junit.element("skipped", message=f"undecided: {seen}"))
    else:
        case.append(junit.element("system-out", text=f"{found.verdict}: {seen}"))
    return case


def _unseen(found: Finding) -> str:
    if found.shares is not None:
        return "differences below 0.1 percentage points are ignored"
    least = detectable(found)
    if least == "-":
        return "the runs do not show which changes they would detect"
    return f"changes below {least} are detected with a probability of less than 80 %"


def _invalid(compared: Compared) -> ET.Element:
    case = junit.element("testcase", classname=_CLASS, name="A and B have valid runs")
    reasons = "\n".join(compared.doubts)
    case.append(junit.element("error", text=reasons, type="invalid", message=headline(compared)))
    return case
