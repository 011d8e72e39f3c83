"""Results are sent while a run is recorded. No fault of a receiver may affect the run."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from mixed_run import EXCHANGES, TRANSACTIONS, write_mixed_run
from small_receiver import listening, nobody
from write_requests import decode

from towtank.results.folder import RunFolder
from towtank.sending import live
from towtank.sending.live import send_live
from towtank.sending.receiver import read_receivers
from towtank.sending.update import SentRun

SOURCE = SentRun("study", "r001", {"users": "5"})


@pytest.fixture
def receiver():
    with listening() as found:
        yield found


def send(run, texts, *, meanwhile=lambda: None, headers=()):
    notes: list[str] = []
    with send_live(run, SOURCE, read_receivers(texts, headers=headers), notes.append) as report:
        meanwhile()
    return report, notes


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return write_mixed_run(tmp_path / "r001")


def events(run):
    return [event for event in run.events() if event["k"] == "sent"]


def test_prometheus_gets_everything(run, receiver):
    report, notes = send(run, [f"prometheus={receiver.url}"], headers=(("X-Scope-OrgID", "us"),))
    path, headers, body = receiver.requests[0]
    assert path == "/api/v1/write"
    assert headers["Content-Encoding"] == "snappy"
    assert headers["Content-Type"] == "application/x-protobuf"
    assert headers["X-Prometheus-Remote-Write-Version"] == "0.1.0"
    assert headers["X-Scope-OrgID"] == "us"
    points = sum(len(points) for _, _, body in receiver.requests for _, points in decode(body).series)
    assert decode(body).metadata
    (sent,) = report.sent
    assert (sent["points"], sent["requests"], sent["dropped_points"]) == (points, len(receiver.requests), 0)
    assert (notes, report.notes) == ([], [])


def test_the_event_reports_counts_and_cost_but_no_secret(run, receiver):
    secret = receiver.url.replace("http://", "http://me:secret@")
    report, _ = send(run, [f"prometheus={secret}"], headers=(("Authorization-Key", "hush"),))
    (event,) = events(run)
    assert event["receivers"] == report.sent
    assert event["cpu_s"] > 0 < event["seconds"]
    text = (run.path / "events.ndjson").read_text()
    assert "secret" not in text
    assert "hush" not in text
    assert receiver.requests[0][1]["Authorization"] == "Basic bWU6c2VjcmV0"


def test_two_receivers_get_their_own(run, receiver):
    report, _ = send(run, [f"prometheus={receiver.url}", f"otlp={receiver.url}"])
    assert {path for path, _, _ in receiver.requests} == {"/api/v1/write", "/v1/metrics"}
    assert [sent["form"] for sent in report.sent] == ["prometheus", "otlp"]
    assert all(sent["dropped_points"] == sent["refused_points"] == 0 for sent in report.sent)


def test_an_absent_server_is_reported_and_harms_nothing(run):
    with nobody() as url:
        report, notes = send(run, [f"otlp={url}"])
    (sent,) = report.sent
    assert sent["points"] == 0 < sent["dropped_points"]
    assert "did not accept" in report.notes[0]
    assert "Connection refused" in report.notes[0]
    assert notes == [f"sending to {url}/v1/metrics: Connection refused; the run is not affected"]


def test_a_receiver_that_refuses_is_reported(run, receiver):
    receiver.answers = [(400, {}, b"out of bounds\x1b[31m")] * 9
    report, notes = send(run, [f"prometheus={receiver.url}"])
    assert report.sent[0]["refused_points"] > 0
    assert "status 400: out of bounds[31m" in notes[0]


def test_a_receiver_that_never_answers_holds_the_end_up_for_a_bounded_time(run, receiver, monkeypatch):
    monkeypatch.setattr(live, "_FINISH_WITHIN_S", 0.3)
    came, held = threading.Event(), threading.Event()

    def hold() -> None:
        came.set()
        held.wait(30)

    receiver.before = hold
    try:
        report, _ = send(run, [f"prometheus={receiver.url}"], meanwhile=lambda: came.wait(30))
    finally:
        held.set()
    assert report.sent[0]["points"] == 0
    assert report.sent[0]["dropped_points"] > 0
    assert events(run)


def test_an_error_of_the_sender_itself_is_reported(run, receiver, monkeypatch):
    def broken(*_args, **_more):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(live.Gatherer, "update", broken)
    report, _ = send(run, [f"otlp={receiver.url}"])
    assert report.notes == ["sending ended early: ZeroDivisionError: oh; the run is not affected"]


def test_without_receivers_nothing_is_done(run):
    report, _ = send(run, [])
    assert (report.sent, events(run)) == ([], [])


def test_outcomes_of_all_exchanges_arrive(run, receiver):
    send(run, [f"prometheus={receiver.url}"])
    last = {}
    for _, _, body in receiver.requests:
        for labels, points in decode(body).series:
            if dict(labels)["__name__"] == "towtank_live_transactions_total":
                last[labels] = [point for point in points if not point.is_stale][-1:] or last[labels]
    assert sum(points[-1].value for points in last.values()) == len(EXCHANGES)
    assert {dict(labels)["transaction"] for labels in last} == set(TRANSACTIONS)
