"""Selection of running processes by name: in simulated kernel files, in system files, and in options."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from towtank.errors import StudyError, TargetError
from towtank.system.bounded_search import matching
from towtank.system.model import load_system
from towtank.system.watched import roots_of
from towtank.system.watched_model import Watched, parse_watched

CONTAINER = "3f" * 32


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Simulated process tables. The unit shop.service contains processes 20 and 22, and process 21, a worker of 20.
    Processes 30, 31 and 33 are in containers. Shell 40 has started server 41.
    """
    folder = tmp_path / "proc"
    (folder / "net").mkdir(parents=True)
    for pid, above, line, group in (
        (1, 0, "init", "/init.scope"),
        (20, 1, "shop --serve", "/system.slice/shop.service"),
        (21, 20, "shop: worker", "/system.slice/shop.service/workers"),
        (22, 1, "shop --log", "/system.slice/shop.service"),
        (23, 1, "shopping", "/system.slice/shop.service.d"),
        (30, 1, "java -jar shop.jar", f"/system.slice/docker-{CONTAINER}.scope"),
        (31, 1, "nginx", "/docker/" + "ab" * 32),
        (32, 31, "nginx: worker", "/docker/" + "ab" * 32),
        (33, 1, "slapd", "/own/directory"),
        (40, 1, "sh -c python3 app.py", "/user.slice"),
        (41, 40, "python3 app.py --port 8080", "/user.slice"),
        (50, 2, "", "/"),
    ):
        (folder / str(pid)).mkdir()
        (folder / str(pid) / "stat").write_text(f"{pid} (x) S {above} 1 1 0")
        (folder / str(pid) / "comm").write_text(line.split(" ")[0] + "\n")
        (folder / str(pid) / "cmdline").write_text(line.replace(" ", "\0") + "\0")
        # The first line has the format of control groups version 1, the second line that of version 2.
        (folder / str(pid) / "cgroup").write_text(f"1:name=systemd:{group}\n0::{group}\n")
    return folder


@pytest.mark.parametrize(
    ("text", "roots"),
    [
        ("pid=21", [21]),
        ("unit=shop.service", [20, 22]),
        ("unit=shop", [20, 22]),
        ("container=" + "3f" * 6, [30]),
        (f"container={CONTAINER}", [30]),
        ("container=" + "ab" * 32, [31]),
        ("container=directory", [33]),
        ("command=app\\.py", [40]),
        ("command=^python3 .*8080$", [41]),
        ("command=^shop --", [20, 22]),
    ],
)
def test_the_roots_of_a_name_are_found(proc: Path, text: str, roots: list[int]) -> None:
    assert roots_of(parse_watched(text), proc=proc) == roots


@pytest.mark.parametrize(
    "text", ["unit=sho", "container=3f3f", "container=no-such-container", "command=nothing", "port=9"]
)
def test_a_name_without_a_process_is_an_error(proc: Path, text: str) -> None:
    with pytest.raises(
        TargetError, match=re.escape(f"{text.replace('=', ' ', 1)}: no matching process runs on this machine")
    ):
        roots_of(parse_watched(text), proc=proc)


def test_a_file_with_a_process_id_is_read_from_the_folder_of_the_system(proc: Path, tmp_path: Path) -> None:
    (tmp_path / "shop.pid").write_text("20\n")
    assert roots_of(parse_watched("pid_file=shop.pid"), tmp_path, proc) == [20]
    for content, words in (("99\n", "no process has the id 99"), ("secret\n", "must begin with a process id")):
        (tmp_path / "shop.pid").write_text(content)
        with pytest.raises(TargetError, match=words) as refused:
            roots_of(parse_watched("pid_file=shop.pid"), tmp_path, proc)
        assert "secret" not in str(refused.value)
    with pytest.raises(TargetError, match="the file cannot be read: No such file"):
        roots_of(parse_watched("pid_file=nowhere.pid"), tmp_path, proc)


def test_what_is_no_file_with_a_process_id_is_refused(proc: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    (tmp_path / "large").write_text("20\n" + "x" * 62)
    for name, words in (
        ("pipe", "the file must be a regular file, got a named pipe"),
        ("endless", "the file must be a regular file, got a device"),
        ("large", "at most 64 bytes"),
        ("a\0b", "the file cannot be read: embedded null byte"),
    ):
        with pytest.raises(TargetError, match=words):
            roots_of(Watched(pid_file=name), tmp_path, proc)


def test_a_search_without_end_is_refused() -> None:
    assert matching("b", {1: "abc", 2: "a"}) == [1]
    with pytest.raises(TimeoutError, match=r"the search for '\(a\+\)\+\$' takes longer than 0.5 s"):
        matching("(a+)+$", {1: "a" * 60 + "!"}, 0.5)


def test_only_the_beginning_of_a_command_line_is_searched(proc: Path) -> None:
    (proc / "23" / "cmdline").write_text("x" * 4096 + "beyond")
    with pytest.raises(TargetError, match="no matching process runs on this machine"):
        roots_of(Watched(command="beyond"), proc=proc)
    assert roots_of(Watched(command="^x+$"), proc=proc) == [23]


def test_a_pattern_for_many_processes_is_refused_with_their_names(proc: Path) -> None:
    for pid in range(100, 121):
        (proc / str(pid)).mkdir()
        (proc / str(pid) / "stat").write_text(f"{pid} (x) S 1 1 1 0")
        (proc / str(pid) / "comm").write_text(f"w{pid}\n")
        (proc / str(pid) / "cmdline").write_text("work\0")
    with pytest.raises(TargetError, match=r"must match at most 20 .*, got 21: 100 'w100', .* and 1 more"):
        roots_of(Watched(command="^work$"), proc=proc)


def test_the_listener_on_a_port_of_any_address_is_found(proc: Path) -> None:
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    rest = "00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0"
    (proc / "net" / "tcp").write_text(f"{head}   0: 0500000A:1F90 {rest} 7 1\n   1: 0100007F:1F91 {rest} 8 1\n")
    for pid, inode in ((41, 7), (20, 8), (21, 8)):
        (proc / str(pid) / "fd").mkdir()
        (proc / str(pid) / "fd" / "3").symlink_to(f"socket:[{inode}]")
    assert roots_of(Watched(port=8080), proc=proc) == [41]
    assert roots_of(Watched(port=8081), proc=proc) == [20]


def test_this_process_and_those_above_it_are_never_the_target() -> None:
    for pid in (os.getpid(), os.getppid()):
        with pytest.raises(TargetError, match="must not be this process or a process that started it"):
            roots_of(Watched(pid=pid))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("shop", "must be one of pid=VALUE, pid_file=VALUE"),
        ("name=shop", "must be one of pid=VALUE, pid_file=VALUE"),
        ("pid=x", "must be a valid pid in pid=VALUE, got 'pid=x'"),
        ("port=70000", "must be a valid port"),
        ("unit=a/b", "must be a valid unit"),
        ("command=(", "must be a regular expression"),
    ],
)
def test_a_wrong_name_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        parse_watched(text)


def test_a_system_file_names_one_or_several(tmp_path: Path) -> None:
    path = tmp_path / "system.yaml"
    head = "schema: towtank/system/1\nname: own\nservices:\n"
    head += "  shop: {kind: existing, address: 'http://127.0.0.1:1', watch: "
    path.write_text(head + "[{pid: 5}, {unit: shop}]}\n")
    assert [str(each) for each in load_system(path).services["shop"].watch] == ["pid 5", "unit shop"]  # type: ignore[attr-defined]
    path.write_text(head + "{unit: shop}}\n")
    assert [str(each) for each in load_system(path).services["shop"].watch] == ["unit shop"]  # type: ignore[attr-defined]
    path.write_text(head + "[{pid: 5, unit: shop}, {}, {name: x}]}\n")
    with pytest.raises(StudyError) as refused:
        load_system(path)
    found = str(refused.value)
    assert (
        "services.shop.watch[0]: must have exactly one of pid, pid_file, port, unit, container, command, got" in found
    )
    assert "services.shop.watch[1]: must have exactly one of" in found
    assert "services.shop.watch[2]" in found
