"""Exports objectives and verdicts as JUnit test cases, which tools for continuous integration display.

A test case passes only if measured values show that the objective is met. Objectives without a valid run, missing runs
and invalid runs are errors.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from towtank import junit
from towtank.results.exports import judged
from towtank.results.exports.format import ExportFile, ExportFormat, text_file
from towtank.results.exports.material import Material, RunMaterial


def _files(material: Material) -> list[ExportFile]:
    return [text_file("junit.xml", lambda: _document(material))]


def _document(material: Material) -> str:
    seconds = sum(run.seconds or 0.0 for run in material.runs)
    return junit.document(material.study, [_objectives(material), _runs(material)], time=_seconds(seconds))


def _seconds(value: float | None) -> str:
    return f"{value or 0.0:.3f}"


def _suite(material: Material, name: str, cases: list[ET.Element]) -> ET.Element:
    suite = junit.suite_of(f"{material.study}: {name}", cases)
    suite.set("time", _seconds(sum(float(case.get("time", 0.0)) for case in cases)))
    started = [run.manifest.started_wall_ns for run in material.runs if run.manifest.started_wall_ns]
    if started:
        suite.set("timestamp", datetime.fromtimestamp(min(started) // 10**9, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    return suite


def _objectives(material: Material) -> ET.Element:
    return _suite(
        material, "objectives", [_objective(material, objective) for objective in material.summary["objectives"]]
    )


def _objective(material: Material, objective: Mapping[str, Any]) -> ET.Element:
    label = str(objective["label"])
    case = junit.element(
        "testcase",
        classname=f"{material.study}.objectives",
        name=f"{objective['text']} ({label})",
        time=_seconds(0.0),
    )
    found = judged.state(objective)
    if found != "met":
        why = judged.explained(objective)
        tag = "failure" if found == "missed" else "error"
        case.append(junit.element(tag, text=why, type=f"objective {found}".replace(" ", "_"), message=why))
    if doubt := judged.doubt(objective):
        case.append(junit.element("system-out", text=doubt))
    return case


def _runs(material: Material) -> ET.Element:
    cases = [_run(material, run) for run in material.runs]
    for absent in material.missing:
        case = _case(material, str(absent.run), absent.factors or {}, None)
        case.append(junit.element("error", type="missing", message="this run of the design has no results"))
        cases.append(case)
    return _suite(material, "runs", cases)


def _case(material: Material, run: str, factors: Mapping[str, Any], seconds: float | None) -> ET.Element:
    levels = ", ".join(f"{name} {level}" for name, level in factors.items())
    name = f"{run}: measurement is valid" + (f" ({levels})" if levels else "")
    return junit.element("testcase", classname=f"{material.study}.runs", name=name, time=_seconds(seconds))


def _run(material: Material, run: RunMaterial) -> ET.Element:
    case = _case(material, run.name, run.factors, run.seconds)
    verdict = run.summary["verdict"]
    doubts = [f"{reason['level']}: {reason['message']}" for reason in verdict["reasons"]]
    if verdict["level"] == "invalid":
        reasons = [str(reason["message"]) for reason in verdict["reasons"] if reason["level"] == "invalid"]
        case.append(junit.element("error", text="\n".join(doubts), type="invalid", message="; ".join(reasons)))
    elif doubts:
        case.append(junit.element("system-out", text=f"verdict: {verdict['level']}\n" + "\n".join(doubts)))
    return case


FORMAT = ExportFormat("junit", "objectives and verdicts of runs as test cases", _files)
