"""Every command works or ends with one clear message, for any operating-system user, resource limit and standard
output.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from any_conditions import FILL, RESULTS, TINY, TOWTANK, null_server, on_mount, sh
from results_1 import copy_with_model
from waiting import until

from towtank.results import folder
from towtank.results.folder import RunFolder

pytestmark = pytest.mark.waits

NOBODY = 65534
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
SMALL = "size=128k"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    yield from null_server()


@pytest.fixture(scope="module")
def silent() -> Iterator[str]:
    """Address of a server that accepts connections but never responds."""
    yield from null_server("--misbehave", "silent")


def drive(url: str, options: str = "") -> str:
    return f"$towtank drive {url} --users 2 --duration '300 ms' {options}"


CONDITIONS = {
    "1,024 files": "ulimit -Sn 1024; {}",
    "umask 077": "umask 077; {}",
    "no home": "unset HOME; {}",
    "a home only to be read": "HOME=/proc/self {}",
    "no temporary folder of one's own": "TMPDIR=/nowhere/at/all {}",
    "40 columns": "COLUMNS=40 {}",
    "ASCII": "PYTHONIOENCODING=ascii {}",
    "Latin-1": "PYTHONIOENCODING=latin-1 {}",
    "the locale C": "LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 {}",
    "no output": "{} >&-",
}


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
def test_drive_measures_under_any_condition(server: str, tmp_path: Path, condition: str) -> None:
    done = sh(condition.format(drive(server, "--out results")), tmp_path)
    assert "internal fault" not in done.stderr
    assert json.loads((tmp_path / "results" / "run.json").read_text())["status"] == "complete"
    # A busy machine may make the measurement invalid (status 4). No other status is correct.
    assert done.returncode in (0, 4), done.stderr
    assert condition.endswith(">&-") or "requests/s over" in done.stdout


@pytest.mark.parametrize("width", [40, 80])
def test_the_output_has_every_percentile_at_any_width(server: str, tmp_path: Path, width: int) -> None:
    done = sh(drive(server), tmp_path, COLUMNS=str(width))
    assert "…" not in done.stdout
    assert "p99.9" in done.stdout


def test_a_reader_that_leaves_changes_nothing(server: str, tmp_path: Path) -> None:
    done = sh(f"{{ {drive(server, '--out results')}; echo $? >status; }} 2>&1 | head -1", tmp_path)
    assert done.stdout.count("\n") == 1
    assert (tmp_path / "status").read_text().strip() in ("0", "4")
    assert (tmp_path / "results" / "summary.json").is_file()


@AS_ROOT
def test_drive_measures_as_a_user_without_rights(server: str, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="towtank-nobody-") as name:
        own = Path(name)
        os.chown(own, NOBODY, NOBODY)
        # User NOBODY may read all files, because the Python interpreter may be installed in a private home folder, but
        # has no other rights.
        read = "--inh-caps=+dac_read_search --ambient-caps=+dac_read_search"
        user = f"umask 077; ulimit -Sn 256; setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups {read}"
        if sh(f"{user} true", own).returncode != 0:
            pytest.skip("this user may not start programs as another user")
        done = sh(f"{user} {drive(server, '--out results')}", own)
        assert done.returncode in (0, 4), done.stderr
        assert (own / "results" / "summary.json").stat().st_uid == NOBODY


@AS_ROOT
def test_a_report_of_results_that_are_only_read_is_written_elsewhere_or_refused_with_the_cause(tmp_path: Path) -> None:
    bind = f"mount --bind {shlex.quote(str(RESULTS))} disk && mount -o remount,bind,ro disk"
    script = "$towtank report disk --out report.html && ! $towtank report disk"
    done = on_mount(tmp_path, SMALL, script, bind)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.html").stat().st_size > 0
    assert done.stderr == "the report could not be written to disk/report.html: Read-only file system\n"
    assert not list(RESULTS.glob(".*.tmp"))


RUN = "$towtank run study.yaml --no-report --out results"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """Folder of a study with one short run against the null server."""
    for name, text in TINY.items():
        (tmp_path / name).write_text(text)
    return tmp_path


# Each entry combines several conditions, because separate tests of all conditions would take ten minutes instead of
# one.
AT_ONCE = {
    "1,024 files, umask, no home, 40 columns, ASCII": (
        "ulimit -Sn 1024; umask 077; unset HOME; COLUMNS=40 PYTHONIOENCODING=ascii {}"
    ),
    "home only to be read, no temporary folder, Latin-1, C": (
        "HOME=/proc/self TMPDIR=/nowhere/at/all PYTHONIOENCODING=latin-1 LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 {}"
    ),
    "no output": "{} >&-",
}


def assert_ran(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    assert done.returncode in (0, 4), done.stderr  # A busy machine may make the measurement invalid (status 4).
    assert "internal fault" not in done.stderr
    assert json.loads((folder / "results/runs/r001/run.json").read_text())["status"] == "complete"
    assert (folder / "results/study-summary.json").is_file()


@pytest.mark.parametrize("condition", AT_ONCE.values(), ids=AT_ONCE)
def test_a_study_runs_under_any_condition(tiny: Path, condition: str) -> None:
    done = sh(condition.format(RUN), tiny)
    assert_ran(done, tiny)
    assert condition.endswith(">&-") or "verdict: " in done.stdout


def test_a_study_runs_in_a_folder_whose_name_the_locale_lacks(tiny: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tiny) + "/ablage ä".encode()))
    folder.mkdir()
    for name in TINY:
        (tiny / name).rename(folder / name)
    assert_ran(sh(f"LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 {RUN}", folder), folder)


def test_a_study_goes_on_when_its_reader_leaves(tiny: Path) -> None:
    done = sh(f"{{ {RUN}; echo $? >status; }} 2>&1 | head -1", tiny)
    assert done.stdout.count("\n") == 1
    assert (tiny / "status").read_text().strip() in ("0", "4")
    assert (tiny / "results/study-summary.json").is_file()


@AS_ROOT
def test_a_study_runs_with_a_temporary_folder_without_programs(tiny: Path) -> None:
    assert_ran(on_mount(tiny, "noexec,size=20m", f"TMPDIR=$PWD/disk {RUN}"), tiny)


KEPT = {
    "report": ("$towtank report kept --out page.html", "page.html"),
    "size": ("$towtank size kept --configuration present --users 100 --objective 'p95 < 500 ms'", None),
    "model fit": ("$towtank model fit closed kept --configuration present --out model.yaml", "model.yaml"),
}


@pytest.fixture
def kept(tmp_path: Path, kept_model: Path) -> Path:
    """Results of a study, in a folder that commands may change."""
    return copy_with_model(tmp_path / "kept", kept_model)


HARD = (
    "ulimit -Sn 1024; umask 077; unset HOME; {{ TMPDIR=/nowhere/at/all COLUMNS=40 PYTHONIOENCODING=ascii LC_ALL=C {}; "
    "echo $? >status; }} | head -1"
)


@pytest.mark.parametrize(("command", "written"), KEPT.values(), ids=KEPT)
def test_kept_results_are_worked_on_under_all_conditions_at_once(kept: Path, command: str, written: str | None) -> None:
    tmp_path = kept.parent
    done = sh(HARD.format(command), tmp_path)
    assert "internal fault" not in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "status").read_text().strip() in ("0", "3"), done.stderr
    assert done.stdout.strip()
    if written is not None:
        assert (tmp_path / written).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("$towtank model fit closed kept --configuration present --out .", "--out"),
        ("$towtank report kept --out ''", "--out"),
        ("$towtank run study.yaml --no-report --out study.yaml", "study.yaml"),
        ("$towtank run study.yaml --no-report --out study.yaml/below", "study.yaml"),
        ("$towtank model fit closed kept --configuration present --out study.yaml/m", "study.yaml/m"),
        ("$towtank export kept --to csv --out study.yaml/below", "study.yaml/below"),
        # Folder `/proc` accepts no new files. Therefore the results folder cannot be created, and the message names it
        # as missing.
        ("$towtank run study.yaml --no-report --out /proc/out", "/proc/out"),
        ("$towtank run study.yaml --no-report --out /proc/out/below", "/proc/out"),
        ("$towtank drive http://127.0.0.1:9/ --out /proc/out", "/proc/out"),
        ("$towtank report kept --out /proc/out.html", "/proc/out.html"),
        ("$towtank model fit closed kept --configuration present --out /proc/out.yaml", "/proc/out.yaml"),
        ("$towtank export kept --to csv --out /proc/out.csv", "/proc/out.csv"),
        ("$towtank import curl study.yaml --out /proc/out.yaml", "/proc/out.yaml"),
        ("$towtank rate --quick --out /proc/out.yaml", "/proc/out.yaml"),
        ("$towtank record proxy --for 1h --out /proc/out.yaml", "/proc/out.yaml"),
        ("$towtank record proxy --for 1h --har /proc/out.har", "/proc/out.har"),
    ],
)
@pytest.mark.usefixtures("kept")
def test_an_out_that_cannot_be_written_is_one_clear_line(tiny: Path, command: str, place: str) -> None:
    done = sh(command, tiny)
    assert done.returncode == 2, done.stderr
    (line, *rest) = done.stderr.splitlines()
    assert place in line
    assert all(not text or text.startswith("hint: ") for text in rest)
    assert (tiny / "study.yaml").read_text() == TINY["study.yaml"]


@AS_ROOT
@pytest.mark.parametrize(
    ("before", "cause", "status"),
    [(FILL, "No space left on device", 1), ("mount -o remount,ro disk", "Read-only file system", 2)],
    ids=["full", "read-only"],
)
def test_results_that_cannot_be_written_are_one_clear_line(
    server: str, tmp_path: Path, before: str, cause: str, status: int
) -> None:
    done = on_mount(tmp_path, SMALL, drive(server, "--out disk/results"), before)
    assert done.returncode == status
    assert done.stderr.splitlines()[0].startswith("disk/results")
    assert cause in done.stderr.splitlines()[0]
    assert done.stdout.split() in ([], ["fill"])


@AS_ROOT
@pytest.mark.parametrize(
    ("options", "before"), [("noexec,size=20m", ":"), (SMALL, FILL), (SMALL, "mount -o remount,ro disk")]
)
def test_drive_measures_with_a_bad_temporary_folder(server: str, tmp_path: Path, options: str, before: str) -> None:
    done = on_mount(tmp_path, options, f"TMPDIR=$PWD/disk {drive(server)}", before)
    assert done.returncode in (0, 4), done.stderr
    assert done.stdout.split()[-1] != "fill" or "requests/s" in done.stdout


@pytest.mark.parametrize("files", [32, 80])
def test_too_low_a_limit_of_open_files_is_refused_with_its_number(server: str, tmp_path: Path, files: int) -> None:
    done = sh(f"ulimit -n {files}; $towtank drive {server} --users 300 --duration 1s", tmp_path)
    assert done.returncode == 2
    assert f"hard limit of open files (ulimit -Hn) is {files}, got 300 instead" in done.stderr
    assert "plan.json" not in done.stderr


def test_a_study_with_more_users_than_open_files_is_refused_before_anything_starts(tiny: Path) -> None:
    (tiny / "study.yaml").write_text(TINY["study.yaml"].replace("users: [2]", "users: [2, 300]"))
    done = sh(f"ulimit -n 80; {RUN}", tiny)
    assert done.returncode == 2, done.stderr
    (line, *rest) = done.stderr.splitlines()
    assert line.startswith("study.yaml: load: must be at most 64 if each user has a separate connection")
    assert line.endswith("hard limit of open files (ulimit -Hn) is 80, got 300 instead")
    assert all(not text or text.startswith("hint: ") for text in rest)
    assert not (tiny / "results").exists()
    # Each user has a connection to each of the two targets, so the open-file limit allows half as many users as with
    # one target.
    both = TINY["system.yaml"].replace("}}\n", "}, other: {kind: null_server, host: here}}\n", 1)
    calls = "[{get: /, target: web}, {get: /, target: other}]"
    (tiny / "study.yaml").write_text(TINY["study.yaml"].replace("users: [2]", "users: [60]"))
    (tiny / "system.yaml").write_text(both)
    (tiny / "workload.yaml").write_text(TINY["workload.yaml"].replace("[get: /]", calls))
    done = sh(f"ulimit -n 80; {RUN}", tiny)
    assert done.stderr.startswith("study.yaml: load: must be at most 32 if each user has a separate connection"), (
        done.stderr
    )
    for name, text in TINY.items():
        (tiny / name).write_text(text)
    shared = "name: tiny\ndefaults: {connections: 4}\n"
    (tiny / "workload.yaml").write_text(TINY["workload.yaml"].replace("name: tiny\n", shared))
    assert_ran(sh(f"ulimit -n 100; {RUN}", tiny), tiny)


def test_a_sufficient_limit_of_open_files_is_accepted(server: str, tmp_path: Path) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    done = sh(f"ulimit -n {min(100, hard)}; {drive(server)}", tmp_path)
    assert done.returncode in (0, 4), done.stderr


def start(url: str, folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [*TOWTANK, "drive", url, "--users", "2", "--duration", "60 s", *options]
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for(folder: Path, pattern: str) -> Path:
    return Path(until(lambda: next(folder.glob(pattern), None)))


def test_the_first_request_to_stop_does_not_wait_for_a_silent_server(silent: str, tmp_path: Path) -> None:
    process = start(silent, tmp_path, "--out", "results")
    wait_for(tmp_path, "results/engine/*.ndjson")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 5
    assert "up to 5 s for pending responses" in errors
    events = RunFolder(tmp_path / "results").events()
    assert [each["drain_s"] for each in events if each["k"] == "engine_asked_to_stop"] == [5.0, 0.0]


def test_leaving_at_once_names_where_results_are(silent: str, tmp_path: Path) -> None:
    for options, message in ((("--out", "kept"), "is kept in kept"), ((), "nothing is kept")):
        process = start(silent, tmp_path, *options)
        wait_for(tmp_path, "kept/engine/*.ndjson" if options else "towtank-drive-*/engine/*.ndjson")
        process.send_signal(signal.SIGINT)
        # The second signal has another number, because the kernel may merge two pending signals with the same number.
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=240)
        assert process.returncode == 5
        assert message in errors
    assert not list(tmp_path.glob("towtank-drive-*"))


def test_the_next_drive_removes_the_folder_of_a_killed_one(server: str, silent: str, tmp_path: Path) -> None:
    process = start(silent, tmp_path)
    left = wait_for(tmp_path, "towtank-drive-*/engine/*.ndjson").parents[1]
    process.kill()
    process.communicate(timeout=240)
    assert left.is_dir()
    assert sh(drive(server), tmp_path, TMPDIR=str(tmp_path)).returncode in (0, 4)
    assert not list(tmp_path.glob("towtank-drive-*"))


def test_derived_documents_are_not_written_into_a_read_only_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int) -> None:
        def refused(*_: object, **__: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(folder, "write_json", refused)

    refuse(errno.EROFS)
    folder.keep_json(Path("summary.json"), {})
    refuse(errno.ENOSPC)
    with pytest.raises(OSError, match="No space"):
        folder.keep_json(Path("summary.json"), {})
