"""All commands work for an unprivileged operating-system user with a login's open-file limit, and with unusual home and
temporary folders.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from any_conditions import FILL, TINY, null_server
from results_1 import copy_with_model

pytestmark = [
    pytest.mark.waits,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounts and becoming another user need root"),
]
NOBODY = 65534
# User NOBODY may read all files, because the Python interpreter may be installed in a private home folder, but has no
# other rights.
READS = "--inh-caps=+dac_read_search --ambient-caps=+dac_read_search"
USER = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups {READS}"
COMMANDS = {
    "drive": "$towtank drive $url --users 2 --duration '300 ms'",
    "run": "$towtank run study.yaml --no-report --out run",
    "report": "$towtank report kept --out page.html",
    "size": "$towtank size kept --configuration present --users 100 --objective 'p95 < 500 ms'",
    "validate": "$towtank validate study.yaml",
}
TEMPORARY = "TMPDIR=$PWD/disk; export TMPDIR"
# By case: mount options of a small file system at `disk`, a command that prepares the file system, and the first
# commands in the user's shell. Cases combine conditions to save time.
CONDITIONS = {
    "no home, a full temporary folder": ("size=128k", FILL, f"unset HOME; {TEMPORARY}"),
    "home and temporary folder only to be read": (
        "size=128k",
        "mount -o remount,ro disk",
        f"HOME=/proc/self; {TEMPORARY}",
    ),
    "a temporary folder without programs": ("noexec,size=20m", ":", TEMPORARY),
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    yield from null_server()


@pytest.fixture
def own(kept_model: Path) -> Iterator[Path]:
    """A folder that belongs to the unprivileged user, with a study and results."""
    with tempfile.TemporaryDirectory(prefix="towtank-nobody-") as name:
        folder = Path(name)
        for file, text in TINY.items():
            (folder / file).write_text(text)
        copy_with_model(folder / "kept", kept_model)
        (folder / "disk").mkdir()
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        if subprocess.run(["sh", "-c", f"{USER} true"], check=False, capture_output=True).returncode != 0:
            pytest.skip("this user may not start programs as another user")
        yield folder


def beside_disk(
    folder: Path, options: str, before: str, script: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a shell script as the unprivileged user, with a small file system mounted at `disk` until the script ends."""
    mounted = (
        f"mount -t tmpfs -o mode=777,{options} tmpfs disk && {{ {before}; }} && exec {USER} sh -c {shlex.quote(script)}"
    )
    environment = {**os.environ, "towtank": f"{sys.executable} -m towtank", "HOME": str(folder), **variables}
    return subprocess.run(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", mounted],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize(("options", "before", "condition"), CONDITIONS.values(), ids=CONDITIONS)
def test_every_command_works(server: str, own: Path, options: str, before: str, condition: str) -> None:
    each = "; ".join(
        f"{{ {line}; }} >{name}.out 2>{name}.err; echo $? >{name}.status" for name, line in COMMANDS.items()
    )
    done = beside_disk(own, options, before, f"ulimit -Sn 1024; umask 077; {condition}; {each}", url=server)
    assert done.returncode == 0, done.stderr
    for name in COMMANDS:
        errors = (own / f"{name}.err").read_text()
        # A busy machine may make a measurement invalid (status 4), and an objective may be violated (status 3).
        assert (own / f"{name}.status").read_text().strip() in ("0", "3", "4"), f"{name}: {errors}"
        assert "internal fault" not in errors
        assert "Traceback" not in errors
        assert (own / f"{name}.out").read_text().strip(), f"{name}: {errors}"
    assert (own / "run/runs/r001/summary.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("size", ["4k", "60k"])
def test_a_temporary_folder_with_too_little_room_is_reported_before_the_load_begins(
    server: str, own: Path, size: str
) -> None:
    script = "TMPDIR=$PWD/disk $towtank drive $url --users 2 --duration '10 s'; s=$?; ls -A disk; exit $s"
    done = beside_disk(own, f"size={size}", ":", script, url=server)
    assert done.returncode == 1, done.stderr
    (line, *rest) = done.stderr.strip().splitlines()
    assert "disk" in line
    assert "the disk is full" in line
    assert all(not text or text.startswith("hint: ") for text in rest)
    assert not done.stdout
