"""Options of `towtank drive`: the resulting load plan, and combinations that are refused."""

import socket
from pathlib import Path

import pytest
from held_port import held_port

from towtank.analysis.run import study_limits
from towtank.conduct.drive import Exchange, Load, manifest, split_url
from towtank.conduct.drive_options import DriveOptions
from towtank.conduct.drive_targets import prepare_plan
from towtank.errors import StudyError, TargetError
from towtank.files import engine_path
from towtank.results.folder import RunFolder


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", manifest(Load()))


@pytest.fixture
def server() -> object:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_plan_of_a_closed_load(run: RunFolder, server: int) -> None:
    load = Load(users=64, duration_s=15.0, ramp_s=2.0, think_s=0.5, threads=2, cpus=(1,), seed=7)
    plan = prepare_plan(run, Exchange(f"http://127.0.0.1:{server}/a%20b?c=d#e"), load, [], []).document()
    assert plan["schema"] == "towtank/plan/1"
    assert plan["out"] == engine_path(run.engine)
    assert (plan["threads"], plan["cpus"], plan["seed"]) == (2, [1], 7)
    assert plan["targets"][0]["addresses"] == [f"127.0.0.1:{server}"]
    assert plan["targets"][0]["host"] == f"127.0.0.1:{server}"
    assert plan["load"]["users_at_most"] == 64
    assert [(each["phase"], each["duration_s"], each["users"]) for each in plan["load"]["stages"]] == [
        ("ramp_up", 2.0, 64),
        ("steady", 15.0, 64),
    ]
    (transaction,) = plan["transactions"]
    assert transaction["name"] == "request"
    assert transaction["ops"][0]["path"] == ["/a%20b?c=d"]
    assert plan["groups"][0]["think"] == {"dist": "fixed", "mean_s": 0.5}


def test_plan_of_an_open_load(run: RunFolder, server: int) -> None:
    load = Load(rate=250.0, arrivals="poisson")
    plan = prepare_plan(run, Exchange(f"http://localhost:{server}"), load, [], []).document()
    assert plan["load"]["kind"] == "open"
    assert plan["load"]["arrivals"] == "poisson"
    assert [each["rate"] for each in plan["load"]["stages"]] == [250.0, 250.0]
    assert plan["targets"][0]["addresses"] == [f"127.0.0.1:{server}"]
    assert plan["targets"][0]["host"] == f"localhost:{server}"
    assert plan["transactions"][0]["ops"][0]["path"] == ["/"]
    assert plan["groups"][0]["think"] is None


def test_login_in_the_url_becomes_a_header_and_leaves_the_host(run: RunFolder, server: int) -> None:
    plan = prepare_plan(run, Exchange(f"http://user:p%40ss@127.0.0.1:{server}/"), Load(), [], []).document()
    assert plan["transactions"][0]["ops"][0]["headers"] == [["Authorization", ["Basic dXNlcjpwQHNz"]]]
    assert plan["targets"][0]["host"] == f"127.0.0.1:{server}"


@pytest.mark.parametrize(
    ("written", "sent"), [("/a?", "/a?"), ("?", "/?"), ("/a?#b", "/a?"), ("/a#b?c", "/a"), ("", "/"), ("?a=b", "/?a=b")]
)
def test_an_empty_query_keeps_its_mark(run: RunFolder, server: int, written: str, sent: str) -> None:
    plan = prepare_plan(run, Exchange(f"http://127.0.0.1:{server}{written}"), Load(), [], []).document()
    assert plan["transactions"][0]["ops"][0]["path"] == [sent]


def test_method_headers_and_body(run: RunFolder, server: int, tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text("{}")
    url = f"http://127.0.0.1:{server}/"
    text = Exchange(url, "post", (("Content-Type", "text/plain"),), "hello", 4.0)
    (request,) = prepare_plan(run, text, Load(), [], []).workload["transactions"][0]["ops"]
    assert (request["method"], request["timeout_s"]) == ("POST", 4.0)
    assert request["headers"] == [["Content-Type", ["text/plain"]]]
    assert request["body"] == {"kind": "text", "template": ["hello"]}
    from_file = Exchange(url, "PUT", (), f"@{tmp_path / 'body.json'}")
    (request,) = prepare_plan(run, from_file, Load(), [], []).workload["transactions"][0]["ops"]
    assert request["body"] == {"kind": "file", "path": engine_path(tmp_path / "body.json")}


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://127.0.0.1/", "must be a URL such as http://host:port/path, or an existing workload file"),
        ("127.0.0.1:80", "must be a URL such as http://host:port/path, or an existing workload file"),
        ("http://127.0.0.1:99999/", "must be a URL such as http://host:port/path"),
        ("http:///path", "must be a URL"),
        ("http://127.0.0.1/a\x7fb", "must be a URL without control characters"),
        ("http://127.0.0.1/a\tb", "must be a URL without control characters"),
        ("", "must be a URL"),
    ],
)
def test_target_that_is_no_http_url_is_refused(url: str, words: str) -> None:
    with pytest.raises(StudyError) as caught:
        split_url(url)
    assert words in str(caught.value)
    assert str(caught.value).startswith("<command line>: TARGET: ")


def test_host_outside_of_private_ranges_needs_leave(run: RunFolder) -> None:
    with pytest.raises(StudyError, match=r"--i-may-load 192\.0\.2\.7"):
        prepare_plan(run, Exchange("http://192.0.2.7/"), Load(), [], [])


def test_unreachable_target_is_reported_before_the_run(run: RunFolder) -> None:
    with (
        held_port() as port,
        pytest.raises(TargetError, match=rf"cannot be reached: 127\.0\.0\.1:{port}: Connection refused"),
    ):
        prepare_plan(run, Exchange(f"http://127.0.0.1:{port}/"), Load(), [], [])


def test_first_look_is_a_connect_without_a_request(run: RunFolder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        prepare_plan(run, Exchange(f"http://127.0.0.1:{listening.getsockname()[1]}/"), Load(), [], [])
        connection, _ = listening.accept()
        with connection:
            assert connection.recv(100) == b""


@pytest.fixture
def name(monkeypatch: pytest.MonkeyPatch) -> str:
    """A host name with two addresses, of which the first refuses connections."""
    known = socket.getaddrinfo

    def resolve(host: str, port: int, *rest: int, **options: int) -> list[object]:
        numbers = ("127.0.0.9", "127.0.0.1") if host == "two.test" else (host,)
        return [found for number in numbers for found in known(number, port, *rest, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return "two.test"


def test_the_address_of_a_name_that_answers_is_loaded_first(run: RunFolder, server: int, name: str) -> None:
    plan = prepare_plan(run, Exchange(f"http://{name}:{server}/"), Load(), [], []).document()
    assert plan["targets"][0]["addresses"] == [f"127.0.0.1:{server}"]
    assert plan["targets"][0]["fallbacks"] == [[f"127.0.0.9:{server}"]]
    assert plan["targets"][0]["host"] == f"{name}:{server}"


def test_a_refusal_names_all_addresses_of_the_name(run: RunFolder, name: str) -> None:
    with (
        held_port() as port,
        pytest.raises(TargetError, match=rf"port {port}: Connection refused, tried at 127\.0\.0\.9, 127\.0\.0\.1\n"),
    ):
        prepare_plan(run, Exchange(f"http://{name}:{port}/"), Load(), [], [])


def test_a_workload_has_the_name_as_host_and_its_addresses_to_fall_back_to(
    run: RunFolder, server: int, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text(WORKLOAD)
    plan = prepare_plan(run, Exchange(str(path)), Load(users=3), [f"{name}:{server}"], []).document()
    (target,) = plan["targets"]
    assert (target["addresses"], target["fallbacks"]) == ([f"127.0.0.1:{server}"], [[f"127.0.0.9:{server}"]])
    assert target["host"] == f"{name}:{server}"


def test_a_session_of_a_driver_falls_back_too(run: RunFolder, server: int, name: str, tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text(WORKLOAD.replace("{get: /}", "{sql: select 1, name: one}"))
    plan = prepare_plan(run, Exchange(str(path)), Load(users=3), [f"mysql://user@{name}:{server}/shop"], []).document()
    (target,) = plan["targets"]
    assert (target["addresses"], target["fallbacks"]) == ([f"127.0.0.1:{server}"], [[f"127.0.0.9:{server}"]])


WORKLOAD = """
schema: towtank/workload/1
name: look
transactions:
  look: [{get: /}]
groups:
  readers: {loop: {mix: {look: 100}}}
"""


def test_workload_file_with_its_address(run: RunFolder, server: int, tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text(WORKLOAD)
    plan = prepare_plan(run, Exchange(str(path)), Load(users=3), [f"127.0.0.1:{server}"], []).document()
    assert [each["name"] for each in plan["transactions"]] == ["look"]
    assert plan["targets"][0]["addresses"] == [f"127.0.0.1:{server}"]
    assert plan["load"]["users_at_most"] == 3


def test_workload_file_needs_its_address_and_none_of_the_requests_options(run: RunFolder, tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text(WORKLOAD)
    with pytest.raises(StudyError, match="--address: must give the address"):
        prepare_plan(run, Exchange(str(path)), Load(), [], [])
    with pytest.raises(StudyError) as caught:
        prepare_plan(run, Exchange(str(path), "POST", body="x"), Load(think_s=1.0), ["127.0.0.1:1"], [])
    assert len(caught.value.faults) == 3


def test_threads_leave_half_of_the_cpus_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    assert Load().load_threads == 4
    assert Load(cpus=(5, 6, 7)).load_threads == 3
    assert Load(threads=9).load_threads == 9


def test_limits_are_those_of_a_study(tmp_path: Path) -> None:
    options = DriveOptions("http://127.0.0.1:1/", limit=["interference=20 %", "start_lag_p99=50 ms"])
    options.checked()
    assert options.limits == {"interference": 0.2, "start_lag_p99": 0.05}
    run = RunFolder.create(tmp_path / "runs" / "kept", manifest(Load(), options.limits))
    assert study_limits(run) == options.limits
    plain = RunFolder.create(tmp_path / "runs" / "plain", manifest(Load(), DriveOptions("http://127.0.0.1:1/").limits))
    assert ("limits" in plain.manifest, study_limits(plain)) == (False, {})


def test_all_faults_of_limits_are_reported() -> None:
    options = DriveOptions("http://127.0.0.1:1/", limit=["interferance=20 %", "errors=soon", "start_lag_p99"])
    with pytest.raises(StudyError) as raised:
        options.checked()
    assert {fault.where for fault in raised.value.faults} == {"--limit"}
    said = str(raised.value)
    assert "interferance: must be one of the keys errors, start_lag_p99," in said
    assert "did you mean 'interference'?" in said
    assert "errors: must be a share in %" in said
    assert "must be PATH=VALUE, got 'start_lag_p99' instead" in said
