"""Connection options of `towtank drive`: the resulting load plan, and combinations that are refused."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from towtank.conduct.connecting import ConnectionOptions
from towtank.conduct.drive import Exchange, Load, manifest
from towtank.conduct.drive_targets import prepare_plan
from towtank.conduct.refusals import refuse_options
from towtank.errors import StudyError, TargetError
from towtank.files import engine_path
from towtank.results.folder import RunFolder

pytestmark = pytest.mark.waits

WORKLOAD = """\
schema: towtank/workload/1
name: one
defaults: {connections: 6, sources: [127.0.0.2]}
transactions: {view: [{get: /}]}
groups: {all: {loop: {mix: {view: 100}}}}
"""


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", manifest(Load()))


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (None, {"mode": "per_user"}),
        ("per-user", {"mode": "per_user"}),
        ("new", {"mode": "new_each_time"}),
        ("12", {"mode": "pool", "size": 12}),
    ],
)
def test_models(text: str | None, part: dict[str, object]) -> None:
    assert ConnectionOptions(connections=text).connections_part() == part
    assert ConnectionOptions(connections=text, sources=("::1",)).connections_part() == {**part, "sources": ["::1"]}


def test_options_go_over_the_workload() -> None:
    said = {"mode": "pool", "size": 3, "sources": ["127.0.0.2"]}
    assert ConnectionOptions().connections_part(said) == said
    assert ConnectionOptions(connections="new").connections_part(said) == {
        "mode": "new_each_time",
        "sources": ["127.0.0.2"],
    }
    assert ConnectionOptions(sources=("127.0.0.3",)).connections_part(said) == {**said, "sources": ["127.0.0.3"]}


def test_http2_and_streams(run: RunFolder, port: int) -> None:
    connections = ConnectionOptions(connections="4", http2=True, streams=25, connect_to=(f"127.0.0.1:{port}",))
    plan = prepare_plan(
        run, Exchange("http://shop.example/cart"), Load(threads=1), [], [], connections=connections
    ).document()
    assert plan["targets"][0]["http"] == "2"
    assert plan["connections"] == {"mode": "pool", "size": 4, "streams": 25}
    assert "http" not in prepare_plan(run, Exchange(f"http://127.0.0.1:{port}/"), Load(), [], []).workload["targets"][0]


@pytest.mark.parametrize(
    "connections",
    [
        ConnectionOptions(connections="4", streams=25),
        ConnectionOptions(http2=True, streams=25),
        ConnectionOptions(connections="new", http2=True, streams=25),
    ],
)
def test_streams_need_a_pool_and_http2(connections: ConnectionOptions) -> None:
    with pytest.raises(StudyError, match="--streams: must be given together with --http2 and a number"):
        connections.check(1)


def test_streams_of_a_workload_need_http2(run: RunFolder, port: int, tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text(WORKLOAD.replace("connections: 6", "connections: {pool: 6, streams: 9}"))
    addresses = [f"web=127.0.0.1:{port}"]
    plan = prepare_plan(
        run, Exchange(str(path)), Load(), addresses, [], connections=ConnectionOptions(http2=True)
    ).document()
    assert plan["targets"][0]["http"] == "2"
    assert plan["connections"] == {"mode": "pool", "size": 6, "streams": 9, "sources": ["127.0.0.2"]}
    with pytest.raises(StudyError, match=r"one\.yaml:3:44: defaults.connections.streams: .* HTTP/2") as caught:
        prepare_plan(run, Exchange(str(path)), Load(), addresses, [])
    assert len(caught.value.faults) == 1


def test_https_keeps_the_name_and_connects_elsewhere(run: RunFolder, port: int, tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    authority.write_text("")
    connections = ConnectionOptions(connect_to=(f"127.0.0.1:{port}",), cacert=str(authority))
    plan = prepare_plan(run, Exchange("https://shop.example/cart"), Load(), [], [], connections=connections).document()
    (target,) = plan["targets"]
    assert target["scheme"] == "https"
    assert target["host"] == "shop.example"
    assert target["addresses"] == [f"127.0.0.1:{port}"]
    assert target["tls"] == {"verify": True, "ca": engine_path(authority)}


def test_insecure_trusts_everybody(run: RunFolder, port: int) -> None:
    plan = prepare_plan(
        run, Exchange(f"https://127.0.0.1:{port}/"), Load(), [], [], connections=ConnectionOptions(insecure=True)
    ).document()
    assert plan["targets"][0]["tls"] == {"verify": False}


def test_unix_socket(run: RunFolder, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        connections = ConnectionOptions(connect_to=(f"unix:{path}",))
        with pytest.raises(TargetError, match="refused"):
            prepare_plan(run, Exchange("http://app/"), Load(), [], [], connections=connections)
        listening.listen()
        plan = prepare_plan(run, Exchange("http://app/"), Load(), [], [], connections=connections).document()
    assert plan["targets"][0]["addresses"] == [f"unix:{path}"]
    assert plan["targets"][0]["host"] == "app"


def test_workload_over_tls(run: RunFolder, port: int, tmp_path: Path) -> None:
    workload = tmp_path / "w.yaml"
    workload.write_text(WORKLOAD)
    connections = ConnectionOptions(insecure=True)
    addresses = [f"app=https://localhost:{port}"]
    plan = prepare_plan(run, Exchange(str(workload)), Load(), addresses, [], connections=connections).document()
    (target,) = plan["targets"]
    assert (target["scheme"], target["host"], target["tls"]) == ("https", f"localhost:{port}", {"verify": False})
    assert target["addresses"] == [f"127.0.0.1:{port}"]
    assert plan["connections"] == {"mode": "pool", "size": 6, "sources": ["127.0.0.2"]}


@pytest.mark.parametrize(
    ("connections", "words"),
    [
        (ConnectionOptions(connections="0"), "--connections: must be per-user, new, or a number above 0"),
        (ConnectionOptions(connections="1"), "--connections: must be at least one for each of 2 load threads"),
        (ConnectionOptions(sources=("here",)), "--source: must be an IP address"),
        (ConnectionOptions(insecure=True, cacert=__file__), "--cacert: must not be given together with --insecure"),
        (ConnectionOptions(cert=__file__), "--cert: must be given together with --key"),
        (ConnectionOptions(cacert="nowhere"), "--cacert: must be a PEM file"),
        (ConnectionOptions(insecure=True), "TARGET: must be an https:// URL"),
    ],
)
def test_what_is_refused(run: RunFolder, port: int, connections: ConnectionOptions, words: str) -> None:
    with pytest.raises(StudyError) as caught:
        prepare_plan(run, Exchange(f"http://127.0.0.1:{port}/"), Load(threads=2), [], [], connections=connections)
    assert words in str(caught.value)


@pytest.mark.parametrize("of_workload", [False, True])
@pytest.mark.parametrize(
    ("key", "option"), [("ca", "--cacert"), ("client_certificate", "--cert"), ("client_key", "--key")]
)
def test_a_fault_of_a_certificate_names_the_option_of_its_file(
    tmp_path: Path, key: str, option: str, *, of_workload: bool
) -> None:
    log = tmp_path / "engine.log"
    log.write_text(f"/runs/1/plan.json: targets[0].tls.{key}: cannot be used\n")
    with pytest.raises(StudyError) as caught:
        refuse_options(log, of_workload=of_workload)
    assert [str(fault) for fault in caught.value.faults] == [f"<command line>: {option}: cannot be used"]


def test_all_faults_at_once(run: RunFolder) -> None:
    connections = ConnectionOptions(connections="x", sources=("y",), cacert="z", key="w")
    with pytest.raises(StudyError) as caught:
        prepare_plan(run, Exchange("https://127.0.0.1:1/"), Load(), [], [], connections=connections)
    assert len(caught.value.faults) == 5


def test_what_goes_with_urls_only(run: RunFolder, port: int, tmp_path: Path) -> None:
    workload = tmp_path / "w.yaml"
    workload.write_text(WORKLOAD)
    exchange, load, address = Exchange(str(workload)), Load(), [f"127.0.0.1:{port}"]
    with pytest.raises(StudyError, match="--address gives the target"):
        prepare_plan(run, exchange, load, address, [], connections=ConnectionOptions(connect_to=("127.0.0.1:1",)))
    with pytest.raises(StudyError, match="must be https://host:port"):
        prepare_plan(run, exchange, load, address, [], connections=ConnectionOptions(insecure=True))
    with pytest.raises(StudyError, match="for all addresses of a target, or for none"):
        prepare_plan(run, exchange, load, [*address, f"https://127.0.0.1:{port}"], [], connections=ConnectionOptions())
