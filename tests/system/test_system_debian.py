"""The installation of Debian packages starts no service and enables no service. It removes its policy file even if
Towtank is killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from host_support import until

from towtank.errors import TargetError
from towtank.system import debian, packages

pytestmark = pytest.mark.waits


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Simulate a Debian machine with root rights, with folders for the policy file and for links to boot services."""
    monkeypatch.setattr(debian, "_POLICY", tmp_path / "policy-rc.d")
    monkeypatch.setattr(debian, "_UNITS", tmp_path / "units")
    monkeypatch.setattr(debian, "_RUN_LEVELS", tmp_path)
    monkeypatch.setattr(debian.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(debian.os, "geteuid", lambda: 0)
    for name in ("units/multi-user.target.wants", "rc2.d"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def test_installing_starts_nothing_and_leaves_no_policy(machine: Path) -> None:
    policy = machine / "policy-rc.d"
    ran = []

    def run(command: list[str]) -> int:
        ran.append(command)
        assert "exit 101" in policy.read_text()
        assert os.access(policy, os.X_OK)
        return 0

    packages.install([each for each in packages.PACKAGES if each.kind in ("nginx", "openldap")], run)
    assert [command[1] for command in ran] == ["update", "install"]
    assert ran[1][-3:] == ["nginx-light", "slapd", "ldap-utils"]
    assert not policy.exists()


def test_a_policy_of_the_machine_stays(machine: Path) -> None:
    policy = machine / "policy-rc.d"
    policy.write_text("mine")
    debian.install(["nginx-light"], lambda command: 0)
    assert policy.read_text() == "mine"


def test_a_policy_of_the_machine_in_any_encoding_stays(machine: Path) -> None:
    policy = machine / "policy-rc.d"
    policy.write_bytes(b"#!/bin/sh\n# \xe9\n")
    debian.install(["nginx-light"], lambda command: 0)
    assert policy.read_bytes() == b"#!/bin/sh\n# \xe9\n"


def test_a_policy_that_came_meanwhile_stays(machine: Path) -> None:
    policy = machine / "policy-rc.d"

    def run(command: list[str]) -> int:
        policy.write_text("#!/bin/sh\nexit 0\n")
        return 0

    debian.install(["nginx-light"], run)
    assert policy.read_text() == "#!/bin/sh\nexit 0\n"


def test_a_policy_that_an_installation_left_is_removed(machine: Path) -> None:
    (machine / "policy-rc.d").write_text(debian._FORBID)
    debian.install(["nginx-light"], lambda command: 0)
    assert not (machine / "policy-rc.d").exists()


def test_services_that_packages_enable_are_disabled_again(machine: Path) -> None:
    wants, levels = machine / "units/multi-user.target.wants", machine / "rc2.d"
    (wants / "ssh.service").symlink_to("/lib/systemd/system/ssh.service")
    (levels / "S01ssh").symlink_to("../init.d/ssh")
    ran = []

    def run(command: list[str]) -> int:
        ran.append(command)
        if command[:2] == ["apt-get", "install"]:
            (wants / "nginx.service").symlink_to("/lib/systemd/system/nginx.service")
            (levels / "S02nginx").symlink_to("../init.d/nginx")
        return 0

    debian.install(["nginx-light"], run)
    assert [path.name for path in wants.iterdir()] == ["ssh.service"]
    assert ran[2:] == [["update-rc.d", "nginx", "disable"]]


KILLED = """
import sys
from pathlib import Path
from towtank.system import debian

debian._POLICY = Path(sys.argv[1])
with debian._nothing_started():
    debian.run_quietly(["sh", "-c", "echo $$ >&2; exec sleep 60"])
"""


def test_an_installation_that_is_killed_leaves_no_policy_and_none_goes_while_apt_get_runs(machine: Path) -> None:
    policy = machine / "killed"
    command = [sys.executable, "-c", KILLED, str(policy)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        install = int(process.stderr.readline())
        try:
            assert policy.exists()
            process.kill()
            process.wait()
            # Towtank was killed, but the installation that it started still runs. A helper process will remove the
            # policy file when the installation ends.
            assert policy.exists()
        finally:
            os.kill(install, signal.SIGKILL)
    until(lambda: not policy.exists())


TORN = """
import os, signal, sys
from pathlib import Path
from towtank.system import debian

class Torn(type(Path())):
    def write_text(self, *_):
        self.touch()
        os.kill(os.getpid(), signal.SIGKILL)

debian._POLICY = Torn(sys.argv[1])
with debian._nothing_started():
    pass
"""


def test_an_installation_that_is_killed_in_the_middle_of_the_policy_leaves_none(machine: Path) -> None:
    policy = machine / "torn"
    ended = subprocess.run([sys.executable, "-c", TORN, str(policy)], check=False)
    assert ended.returncode == -signal.SIGKILL
    until(lambda: not policy.exists())
    # This file simulates a power failure, after which the policy file remains, because the helper process has ended,
    # too.
    (machine / "policy-rc.d").touch()
    debian.install(["nginx-light"], lambda command: 0)
    assert not (machine / "policy-rc.d").exists()


def test_packages_that_cannot_be_installed_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TargetError, match="ended with status 100"):
        debian.install(["nginx-light"], lambda command: 100)
    monkeypatch.setattr(debian.os, "geteuid", lambda: 1000)
    with pytest.raises(TargetError, match="only root"):
        debian.install(["nginx-light"], lambda command: 0)
    monkeypatch.setattr(debian.shutil, "which", lambda name: None)
    with pytest.raises(TargetError, match="apt-get is not available; install the equivalents of Debian's nginx-light"):
        debian.install(["nginx-light"], lambda command: 0)


def test_dpkg_reports_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = "make installed\nslapd config-files\nwrk not-installed\n"
    monkeypatch.setattr(
        debian.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1, stdout=answer)
    )
    assert debian.missing(["make", "slapd", "wrk", "unheard-of"]) == ["slapd", "wrk", "unheard-of"]
    monkeypatch.setattr(debian.shutil, "which", lambda name: None)
    assert debian.missing(["make"]) == ["make"]


def test_an_installation_that_takes_too_long_is_asked_to_end_and_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready, ended = tmp_path / "ready", tmp_path / "ended"

    class Begun(subprocess.Popen[bytes]):
        """A command whose time limit begins only when it can handle SIGTERM."""

        def wait(self, timeout: float | None = None) -> int:
            until(ready.exists)
            return super().wait(timeout)

    monkeypatch.setattr(debian, "_INSTALL_WITHIN_S", 0.3)
    monkeypatch.setattr(debian.subprocess, "Popen", Begun)
    slow = ["sh", "-c", f"trap 'sleep 0.2; touch {ended}; exit 1' TERM; touch {ready}; while :; do sleep 0.05; done"]
    with pytest.raises(TargetError, match=r"took longer than 0\.3 s and was terminated"):
        debian.run_quietly(slow)
    assert ended.exists(), "the command must end by SIGTERM, without SIGKILL"
