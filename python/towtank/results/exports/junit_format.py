"""Exports objectives and verdicts as JUnit test cases, which continuous integration shows on its page of tests.

A test case passes only if measured values show that the objective is met. Objectives without a valid run, missing runs
and invalid runs are errors.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from towtank.results.exports import judged
from towtank.results.exports.format import ExportFile, ExportFormat, text_file
from towtank.results.exports.material import Material, RunMaterial

# Characters that are not allowed in XML 1.0.
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _files(material: Material) -> list[ExportFile]:
    return [text_file("junit.xml", lambda: _document(material))]


def _document(material: Material) -> str:
    suites = [_objectives(material), _runs(material)]
    root = _element("testsuites", name=material.study)
    root.extend(suites)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, 0)) for suite in suites)))
    root.set("time", _seconds(sum(run.seconds or 0.0 for run in material.runs)))
    ET.indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _element(tag: str, text: str = "", **attributes: str) -> ET.Element:
    element = ET.Element(tag, {name: _plain(value) for name, value in attributes.items()})
    if text:
        element.text = _plain(text)
    return element


def _plain(text: str) -> str:
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _seconds(value: float | None) -> str:
    return f"{value or 0.0:.3f}"


def _suite(material: Material, name: str, cases: list[ET.Element]) -> ET.Element:
    suite = _element("testsuite", name=f"{material.study}: {name}")
    suite.extend(cases)
    suite.set("tests", str(len(cases)))
    for tag, result in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(tag, str(sum(case.find(result) is not None for case in cases)))
    suite.set("time", _seconds(sum(float(case.get("time", 0.0)) for case in cases)))
    started = [int(run.manifest["started_wall_ns"]) for run in material.runs if run.manifest.get("started_wall_ns")]
    if started:
        suite.set("timestamp", datetime.fromtimestamp(min(started) // 10**9, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    return suite


def _objectives(material: Material) -> ET.Element:
    return _suite(
        material, "objectives", [_objective(material, objective) for objective in material.summary["objectives"]]
    )


def _objective(material: Material, objective: Mapping[str, Any]) -> ET.Element:
    label = str(objective["label"])
    case = _element(
        "testcase",
        classname=f"{material.study}.objectives",
        name=f"{objective['text']} ({label})",
        time=_seconds(0.0),
    )
    found = judged.state(objective)
    if found != "met":
        why = judged.explained(objective)
        tag = "failure" if found == "missed" else "error"
        case.append(_element(tag, text=why, type=f"objective {found}".replace(" ", "_"), message=why))
    if doubt := judged.doubt(objective):
        case.append(_element("system-out", text=doubt))
    return case


def _runs(material: Material) -> ET.Element:
    cases = [_run(material, run) for run in material.runs]
    for absent in material.missing:
        case = _case(material, str(absent["run"]), absent.get("factors") or {}, None)
        case.append(_element("error", type="missing", message="this run of the design has no results"))
        cases.append(case)
    return _suite(material, "runs", cases)


def _case(material: Material, run: str, factors: Mapping[str, Any], seconds: float | None) -> ET.Element:
    levels = ", ".join(f"{name} {level}" for name, level in factors.items())
    name = f"{run}: measurement is valid" + (f" ({levels})" if levels else "")
    return _element("testcase", classname=f"{material.study}.runs", name=name, time=_seconds(seconds))


def _run(material: Material, run: RunMaterial) -> ET.Element:
    case = _case(material, run.name, run.factors, run.seconds)
    verdict = run.summary["verdict"]
    doubts = [f"{reason['level']}: {reason['message']}" for reason in verdict["reasons"]]
    if verdict["level"] == "invalid":
        reasons = [str(reason["message"]) for reason in verdict["reasons"] if reason["level"] == "invalid"]
        case.append(_element("error", text="\n".join(doubts), type="invalid", message="; ".join(reasons)))
    elif doubts:
        case.append(_element("system-out", text=f"verdict: {verdict['level']}\n" + "\n".join(doubts)))
    return case


FORMAT = ExportFormat("junit", "objectives and verdicts of runs as test cases", _files)
