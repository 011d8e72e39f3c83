"""A typing error in a shipped file is reported as one fault, at its position and with the correction.

A typing error must not hide other faults. In the text of a case, the test misspells the word in `⟦word⟧`. If the fault
is reported at another position than that of the word, `▸` marks this position.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from shipped_files import reports
from small_study import Files

from towtank.errors import StudyError
from towtank.filecheck import check_file
from towtank.study import find_shipped, load_study
from towtank.system.model import load_system
from towtank.workload import load_workload


class Case(NamedTuple):
    """A test case: a text of a shipped file with a marked word, and a wrong spelling of this word."""

    file: str
    text: str
    wrong: str

    @property
    def right(self) -> str:
        """The marked word in its correct spelling."""
        return re.findall("⟦(.*)⟧", self.text)[0]

    @property
    def clean(self) -> str:
        """The text without the marks, as it is in the shipped file."""
        return re.sub("[▸⟦⟧]", "", self.text)

    @property
    def misspelt(self) -> str:
        """The text with the wrong spelling of the marked word."""
        return re.sub("⟦.*⟧", self.wrong, self.text).replace("▸", "")

    @property
    def offset(self) -> int:
        """Position of the reported fault in the text."""
        return re.sub("[⟦⟧]" if "▸" in self.text else "⟧", "", self.text).index("▸" if "▸" in self.text else "⟦")


USERS = "studies/content-users/"
FAILURES = "studies/content-failures/"
SHOP = "examples/shop/"
ORDERS = "examples/order-entry/"
CASES = [
    # Misspelt keys of a workload file.
    Case(USERS + "workload.yaml", "\n⟦data⟧:\n", "dta"),
    Case(USERS + "workload.yaml", "\n⟦parameters⟧:\n", "paramters"),
    Case(USERS + "workload.yaml", "\n⟦transactions⟧:\n", "transactons"),
    Case(USERS + "workload.yaml", "folders:\n    ⟦csv⟧:", "cvs"),
    Case(ORDERS + "workload.yaml", "⟦schema⟧: towtank/workload/1", "shcema"),
    Case(ORDERS + "workload.yaml", "⟦loop⟧: {min: 5", "lopo"),
    Case(SHOP + "workload.yaml", "- ⟦draw⟧: accounts", "drwa"),
    Case(SHOP + "workload.yaml", "- ⟦post⟧: /login", "psot"),
    Case(SHOP + "workload.yaml", "- ⟦page⟧: orders", "pge"),
    Case(SHOP + "workload.yaml", "⟦extract⟧: {token", "extrct"),
    Case("examples/directory/workload.yaml", "⟦extract⟧: {entry", "exract"),
    # Misspelt names that a workload file refers to.
    Case(SHOP + "workload.yaml", "draw: ⟦accounts⟧", "acounts"),
    Case(SHOP + "workload.yaml", '{user: ▸"${accounts.⟦user⟧}', "usr"),
    Case(SHOP + "workload.yaml", "mix: {⟦look_at_orders⟧", "look_at_order"),
    Case(SHOP + "workload.yaml", "target: ⟦shop⟧", "shpo"),
    Case(SHOP + "workload.yaml", "  ⟦accounts⟧: {csv", "accuonts"),
    Case(ORDERS + "workload.yaml", "  ⟦warehouses⟧: 2", "warehuoses"),
    Case(ORDERS + "workload.yaml", "filled: ⟦order⟧}\n          then:\n            - sql: select item", "ordr"),
    Case("examples/directory/workload.yaml", 'search: ▸"${parameters.⟦base⟧}", scope', "bse"),
    # Misspelt words of study files.
    Case(USERS + "study.yaml", "\n⟦load⟧:\n  kind", "laod"),
    Case(USERS + "study.yaml", "\n  ⟦stages⟧:\n    ramp_up: 9 s", "stags"),
    Case(USERS + "study.yaml", "kind: ⟦closed⟧", "clsoed"),
    Case(USERS + "study.yaml", "\n⟦factors⟧:\n  users: [20", "fcators"),
    Case(USERS + "study.yaml", "  ⟦users⟧: [20 %", "usesr"),
    Case(USERS + "study.yaml", "\n⟦workload⟧: workload", "worklaod"),
    Case(USERS + "study.yaml", "{▸services.⟦content⟧.settings", "contnet"),
    Case(USERS + "study.yaml", "carry\n  ⟦search_index⟧:", "search_idnex"),
    Case(USERS + "study.yaml", "users: all}\n        to: {⟦search_index⟧", "serach_index"),
    Case(USERS + "study.yaml", "▸p95 of ⟦view_properties⟧ <", "view_propertis"),
    Case("studies/content-tuning/study.yaml", "max_connections: 400\n    ⟦factors⟧:", "fcators"),
    Case("studies/colony/study.yaml", "so.\n  ⟦servers⟧:", "servesr"),
    Case("examples/trace/study.yaml", "kind: ⟦open⟧", "opne"),
    Case("examples/trace/study.yaml", "  ⟦trace⟧: {", "trce"),
    # Misspelt words of system files.
    Case(FAILURES + "system.yaml", "\n⟦services⟧:", "servcies"),
    Case(FAILURES + "system.yaml", "\n⟦hosts⟧:", "host"),
    Case(FAILURES + "system.yaml", "web:\n    ⟦provider⟧:", "provder"),
    Case(FAILURES + "system.yaml", "web:\n    provider: ⟦namespaces⟧", "namespcaes"),
    Case(FAILURES + "system.yaml", "  gateway:\n    ⟦kind⟧:", "knid"),
    Case(FAILURES + "system.yaml", "kind: ⟦postgresql⟧", "postgrseql"),
    Case(FAILURES + "system.yaml", "⟦host⟧: web", "hots"),
    Case(FAILURES + "system.yaml", "storage: ⟦contents⟧", "contnets"),
    Case(FAILURES + "system.yaml", "members: ⟦content⟧", "contnt"),
    Case(FAILURES + "system.yaml", "service: ⟦gateway⟧", "gatway"),
    Case("studies/content-nodes/system.yaml", "\n  ⟦node-1⟧:\n", "ndoe-1"),
]  # fmt: skip


def with_typo(text: str, case: Case) -> tuple[str, tuple[int, int]]:
    """Return a text with the misspelt word of a case, and the line and column of the fault."""
    assert text.count(case.clean) == 1, case
    before = text[: text.index(case.clean)] + case.misspelt[: case.offset]
    return text.replace(case.clean, case.misspelt), (before.count("\n") + 1, len(before) - before.rfind("\n"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file}-{case.wrong}")
def test_a_typing_error_in_a_shipped_file_is_one_fault(case: Case, shipped: Path) -> None:
    path = shipped / case.file
    text, place = with_typo(path.read_text("utf-8"), case)
    found = [faults for faults in reports(path, text) if faults]
    assert found
    for faults in found:
        assert [(fault.line, fault.column) for fault in faults] == [place], faults
        assert f"did you mean {case.right!r}" in faults[0].message or f"did you mean 'accounts.{case.right}'" in (
            faults[0].message
        )


@pytest.mark.parametrize("case", [case for case in CASES if case.file != SHOP + "workload.yaml"][::4])
def test_a_file_with_a_typing_error_is_never_accepted(case: Case, shipped: Path) -> None:
    path = shipped / case.file
    written = path.read_text("utf-8")
    path.write_text(with_typo(written, case)[0], "utf-8")
    loaders = {"workload": load_workload, "system": load_system, "study": load_study}
    kind = next(kind for kind in loaders if path.name.startswith(kind))
    try:
        with pytest.raises(StudyError):
            loaders[kind](path)
    finally:
        path.write_text(written, "utf-8")


def faults_of(files: Files, *edits: tuple[str, str, str]) -> list[str]:
    """Return the faults of the small study after some edits, each as `file:line: message`."""
    for kind, old, new in edits:
        files.edit(kind, old, new)
    return [f"{Path(fault.file).stem}:{fault.line}: {fault.message}" for fault in check_file(files.study).faults]


def test_two_typing_errors_are_two_faults(files: Files) -> None:
    found = faults_of(files, ("workload", "\ndata:", "\ndta:"), ("study", "\nload:", "\nlaod:"))
    assert [fault.split(":")[0] for fault in found] == ["study", "workload"]
    assert "did you mean 'load'?" in found[0]
    assert "did you mean 'data'?" in found[1]


def test_a_typing_error_inside_a_misspelt_key_is_a_fault_of_its_own(files: Files) -> None:
    first, second = faults_of(
        files, ("workload", "\ndata:", "\ndta:"), ("workload", "    weight: popul", "    wieght: popul")
    )
    assert "did you mean 'data'?" in first
    assert "did you mean 'weight'?" in second


@pytest.mark.parametrize(
    ("kind", "old", "new", "words"),
    [
        ("workload", "think: 500 ms", "think: 500", "workload:27: must be"),
        ("workload", "draw: documents", "draw: folders", "workload:21: must be a pool of data (documents, words)"),
        ("workload", '"${etag}"', '"${cookie}"', "workload:29: must be a variable that a step sets"),
        ("workload", "share: 70 %", "share: 80 %", "workload:46: must have shares that add to 100 %"),
        ("study", "repetitions: 2", "repetitions: 0", "study:8: must be at least 1"),
        ("study", "p95 of view", "p95 of everything", "study:26: must be about a transaction of the workload"),
        ("study", "present: {}", "present: {services.content.settings.threads: 0}", "study:13: must be at least 1"),
        ("system", "threads: 8", "threads: 0", "system:10: must be at least 1"),
    ],
)
def test_another_fault_is_reported_beside_a_typing_error(
    files: Files, kind: str, old: str, new: str, words: str
) -> None:
    found = faults_of(files, ("workload", "defaults:\n", "defualts:\n"), (kind, old, new))
    assert len(found) == 2
    assert sum("did you mean 'defaults'?" in fault for fault in found) == 1
    assert sum(words in fault for fault in found) == 1, found


def test_a_fault_that_only_a_study_without_other_faults_shows_is_reported_beside_a_typing_error(files: Files) -> None:
    events = "events: {stop: {at: steady + 1 s, do: stop, service: other}}\npinning: auto"
    found = faults_of(files, ("workload", "\ndata:", "\ndta:"), ("study", "pinning: auto", events))
    assert len(found) == 2
    assert "must be a service that is started" in found[0]


def test_a_value_that_is_wrong_under_the_right_key_is_reported_beside_the_key(files: Files) -> None:
    first, second = faults_of(files, ("study", "steady: 10 s", "stedy: 10"))
    assert "did you mean 'steady'?" in first
    assert second.startswith("study:21: must be a duration")


def test_a_name_that_is_misspelt_where_it_is_defined_is_one_fault_there(files: Files) -> None:
    (found,) = faults_of(files, ("workload", "  documents:\n", "  docments:\n"))
    assert found == (
        "workload:6: must be the name as it is used (line 21, line 24, line 28), got 'docments' instead, "
        "did you mean 'documents'?"
    )


def test_a_name_that_is_misspelt_in_some_of_its_uses_is_a_fault_of_each(files: Files) -> None:
    found = faults_of(
        files, ("workload", "mix: {view: 100}", "mix: {viw: 100}"), ("workload", "        view: 60", "        viw: 60")
    )
    assert [fault.split(":")[1] for fault in found] == ["51", "58"]


def test_a_key_is_not_renamed_to_one_that_is_there_already(files: Files) -> None:
    (found,) = faults_of(files, ("study", "seed: 7", "seed: 7\nsede: 8"))
    assert found.startswith("study:8: ")


def test_a_word_misspelt_inside_a_place_of_a_shipped_study_is_one_fault(tmp_path: Path) -> None:
    """The check of a study also reads its workload file. A fault of that file must not be reported a second time."""
    shipped = find_shipped("content-users")
    assert shipped is not None
    folder = tmp_path / "study"
    shutil.copytree(shipped.parent, folder)
    workload = folder / "workload.yaml"
    workload.write_text(workload.read_text().replace("system.content.accounts", "sysem.content.accounts", 1))
    found = check_file(folder / "study.yaml").faults
    assert len(found) == 1
    assert "sysem" in found[0].message
