"""`towtank.validate`, `towtank.import_workload` and `towtank.rate` return the results of the commands as typed
objects.
"""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from in_process import towtank as command
from rating_lines import lines

import towtank
from towtank.conduct import rating
from towtank.errors import StudyError
from towtank.sizing.machines import load_machines
from towtank.sizing.rating import RatingMeasurement, RatingTurn

MODEL = """\
schema: towtank/model/1
name: one
stations:
  cpu: {demand: {web: 10 ms}}
classes:
  web: {users: 4, think: 1 s}
"""
CURL = "curl -X POST 'http://shop.test/orders?day=1' -d 'item=3'\ncurl http://shop.test/list --limit-rate 5k\n"
WRONG_FILES: list[tuple[object, str]] = [
    (300 * "x", "must be a file that can be written, got .*: File name too long"),
    ("a\0b", "must be a file that can be written, got .*: the name contains a zero byte"),
    ("\ud800", "must be a file that can be written, got .*: the name contains .* cannot be encoded"),
    (".", "must be a file, got the folder"),
    ("no/such/folder.yaml", "must be in a folder that exists"),
    (5, "must be a text or a path, got 5 instead"),
]


def test_a_valid_file_has_its_kind_and_no_fault() -> None:
    checked = towtank.validate("content-users")
    assert checked.valid
    (file,) = checked.files
    assert (Path(file.file).parent.name, file.kind, file.valid) == ("content-users", "study", True)
    assert checked.faults == ()
    assert repr(checked) == "<Validation of 1 file: valid>"
    checked.raise_faults()


def test_faults_are_results_with_places(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(MODEL)
    bad.write_text(MODEL.replace("10 ms", "10 parsecs"))
    checked = towtank.validate(good, str(bad), tmp_path / "absent.yaml")
    assert not checked.valid
    assert [each.valid for each in checked.files] == [True, False, False]
    assert repr(checked) == f"<Validation of 3 files: {len(checked.faults)} faults>"
    fault = checked.files[1].faults[0]
    assert (fault.file, fault.line, fault.where) == (str(bad), 4, "stations.cpu.demand.web")
    assert str(checked).startswith(f"{good}: ok (model)\n{bad}:4:")
    with pytest.raises(StudyError) as raised:
        checked.raise_faults()
    assert tuple(raised.value.faults) == checked.faults
    done = command("validate", good, bad, tmp_path / "absent.yaml", "--json")
    assert checked.document == json.loads(done.stdout)
    assert "parsecs" in checked._repr_html_()
    assert f"{len(checked.faults)} faults" in repr(checked)


def test_an_import_has_text_transactions_and_notes(tmp_path: Path) -> None:
    source, out = tmp_path / "calls.txt", tmp_path / "shop.yaml"
    source.write_text(CURL)
    found = towtank.import_workload("curl", source, out=out)
    assert out.read_text() == found.text
    assert found.out == out
    assert found.transactions == ("commands",)
    assert list(found.targets.values()) == ["http://shop.test"]
    assert found.document == json.loads(command("import", "curl", source, "--out", out, "--force", "--json").stdout)
    assert [note.times for note in found.notes] == [note["times"] for note in found.document["notes"]]
    assert towtank.validate(out).valid
    with pytest.raises(StudyError, match=r"^towtank\.import_workload\(\): out: must not exist yet \(force overwrites"):
        towtank.import_workload("curl", source, out=out)
    assert towtank.import_workload("curl", source).out is None
    assert "1 transactions" in repr(found)


@pytest.mark.parametrize(("form", "named"), [("jmeter", "form"), ("curl", "calls.txt")])
def test_wrong_arguments_of_an_import_are_named(tmp_path: Path, form: str, named: str) -> None:
    with pytest.raises(StudyError, match=named):
        towtank.import_workload(form, tmp_path / "calls.txt")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ((), "must name at least one file, got none"),
        (("study.yaml", None), "must be a text or a path, got nothing instead"),
        ((5,), "must be a text or a path, got 5 instead"),
    ],
)
def test_a_check_needs_paths(files: Any, message: str) -> None:
    with pytest.raises(StudyError, match=rf"^towtank\.validate\(\): files: {message}"):
        towtank.validate(*files)


@pytest.mark.parametrize(
    ("name", "reason"), [(300 * "x", "File name too long"), ("a\0b", "null byte"), ("\ud800", "surrogates")]
)
def test_a_name_that_no_file_can_have_is_a_fault(name: str, reason: str) -> None:
    (file,) = towtank.validate(name).files
    assert reason in file.faults[0].message


def test_a_note_about_another_host_names_the_argument(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    line = '10.0.0.1 - - [10/Oct/2025:13:55:{second} +0000] "GET http://{host}/ HTTP/1.1" 200 5 "-" "Browser"\n'
    log.write_text("".join(line.format(second=10 + n, host=host) for n, host in enumerate(("a.test", "b.test"))))
    notes = towtank.import_workload("accesslog", log, hosts="a.test").notes
    assert "left out: the host is not selected with hosts" in [note.why for note in notes]


@pytest.mark.parametrize("folder", ["missing", 5])
def test_a_folder_that_cannot_be_rated_names_the_argument(folder: Any) -> None:
    with pytest.raises(StudyError) as raised:
        towtank.rate(folder)
    assert raised.value.faults[0].where == "folder"


@pytest.mark.parametrize(("out", "message"), WRONG_FILES)
def test_a_file_that_cannot_be_written_is_refused_as_by_the_command(tmp_path: Path, out: Any, message: str) -> None:
    source = tmp_path / "calls.txt"
    source.write_text(CURL)
    place = tmp_path / out if isinstance(out, str) else out
    for force in (False, True):
        with pytest.raises(StudyError, match=rf"^towtank\.import_workload\(\): out: {message}"):
            towtank.import_workload("curl", source, out=place, force=force)
    if isinstance(out, str) and out.isprintable():
        done = command("import", "curl", source, "--out", place)
        assert done.returncode == 2
        assert re.search(rf"<command line>: --out: {message}", done.stderr)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["curl"], "calls.txt"), r"form: must be one of har, .*, got \['curl'\] instead"),
        ((5, "calls.txt"), "form: must be one of har, .*, got 5 instead"),
        (("curl", 5), "file: must be a text or a path, got 5 instead"),
        (("curl", b"calls.txt"), "file: must be a text or a path, got b'calls.txt' instead"),
        (("curl", None), "file: must be a text or a path, got nothing instead"),
    ],
)
def test_arguments_of_other_types_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(StudyError, match=rf"^towtank\.import_workload\(\): {message}"):
        towtank.import_workload(*arguments)


@pytest.mark.parametrize("force", [False, True])
def test_the_imported_file_is_not_written_over(tmp_path: Path, force: bool) -> None:
    source, link = tmp_path / "calls.txt", tmp_path / "link"
    source.write_text(CURL)
    link.symlink_to(source)
    for out in (source, link):
        with pytest.raises(StudyError, match="out: must be another file than the imported file"):
            towtank.import_workload("curl", source, out=out, force=force)
        done = command("import", "curl", source, "--out", out, *["--force"] * force)
        assert done.returncode == 2
        assert "<command line>: --out: must be another file than the imported file" in done.stderr
    assert source.read_text() == CURL


def test_a_rating_has_scales_kernels_and_a_machine_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: list[Any] = []

    def measure(_folder: Path, length: rating.RatingLength, progress: Any, _stop: Any) -> RatingMeasurement:
        handlers.append(signal.getsignal(signal.SIGINT))
        progress(RatingTurn(kernel="sort", mode="single", round=0), 4)
        assert length == rating.QUICK_RATING
        return RatingMeasurement.of_lines(lines())

    monkeypatch.setattr(rating, "measure", measure)
    before, steps = signal.getsignal(signal.SIGINT), []
    found = towtank.rate(tmp_path, quick=True, progress=lambda kernel, share: steps.append((kernel, share)))
    assert handlers == [before], "a library must not change signal handlers"
    assert steps == [("sort", 0.25)]
    assert found.scales["towtank"] == pytest.approx(found.document["ratings"]["towtank"]["whole"]["value"])
    assert found.per_cpu["towtank"] == pytest.approx(found.scales["towtank"] / found.cpus)
    assert found.scales["towtank"].interval is not None
    assert found.kernels.keys() == found.document["kernels"].keys()
    assert found.valid == found.document["valid"]
    out = found.save(tmp_path / "box.yaml", "box")
    assert list(load_machines(out)) == ["box"]
    with pytest.raises(StudyError, match=r"^Rating\.save\(\): out: must not exist yet \(force overwrites it\)"):
        found.save(out)
    with pytest.raises(StudyError) as raised:
        found.save(out, "9 x")
    assert [fault.where for fault in raised.value.faults] == ["name", "out"]
    for name in ("9 x", "", "a" * 81, 5):
        with pytest.raises(StudyError, match=r"^Rating\.save\(\): name: must be a name of letters"):
            found.save(tmp_path / "other.yaml", name)  # type: ignore[arg-type]
    for bad, message in WRONG_FILES:
        with pytest.raises(StudyError, match=rf"^Rating\.save\(\): out: {message}"):
            found.save(tmp_path / bad if isinstance(bad, str) else bad, force=True)  # type: ignore[arg-type]
    assert not (tmp_path / "other.yaml").exists()
    assert "CPUs" in repr(found)
    assert "verdict" in found._repr_html_()
