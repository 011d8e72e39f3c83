"""Records of the observers are read completely; damaged records are read up to the damage."""

from __future__ import annotations

import pytest

from towtank.results import lines, observe

PROBE_HEADER = {"k": "header", "schema": "towtank/probe/1", "host": {"cpus": 2}, "groups": {}}
SERVICE_HEADER = {"k": "header", "schema": "towtank/service-metrics/1", "service": "db", "kind": "postgresql"}


def write(path, documents):
    path.write_bytes(b"".join(lines.encode(document) for document in documents))


def test_probe_samples_come_in_the_order_of_their_time(tmp_path):
    samples = [{"k": "sample", "t_ns": t, "wall_ns": t, "host": {}} for t in (3, 1, 2)]
    write(tmp_path / "probe.ndjson", [PROBE_HEADER, *samples])
    stream = observe.read_probe(tmp_path)
    assert [sample["t_ns"] for sample in stream.samples] == [1, 2, 3]
    assert stream.header.host == {"cpus": 2}


def test_without_a_probe_there_is_an_empty_stream(tmp_path):
    stream = observe.read_probe(tmp_path)
    assert (stream.header, stream.samples, stream.damage) == (None, [], lines.Damage())


def test_streams_of_services_have_metrics_and_failed_scrapes(tmp_path):
    write(
        tmp_path / "db.ndjson",
        [
            SERVICE_HEADER,
            {"k": "metrics", "t_ns": 2, "wall_ns": 2, "took_s": 0.1, "values": {"x_total": 1.0}},
            {"k": "failure", "t_ns": 3, "message": "refused"},
        ],
    )
    write(tmp_path / "probe.ndjson", [PROBE_HEADER])
    found = observe.read_services(tmp_path)
    assert list(found) == ["db"]
    assert found["db"].kind == "postgresql"
    assert [sample["values"] for sample in found["db"].samples] == [{"x_total": 1.0}]
    assert found["db"].failures == ["refused"]


@pytest.mark.parametrize(
    "document",
    [{"k": "sample"}, {"k": "sample", "t_ns": "1"}, {"k": "sample", "t_ns": True}, {"k": "other"}, {}],
)
def test_lines_of_a_wrong_form_are_damage(tmp_path, document):
    write(tmp_path / "probe.ndjson", [PROBE_HEADER, document])
    stream = observe.read_probe(tmp_path)
    assert (stream.samples, stream.damage.bad_lines) == ([], 1)


def test_metrics_without_values_are_damage(tmp_path):
    write(tmp_path / "db.ndjson", [SERVICE_HEADER, {"k": "metrics", "t_ns": 1, "values": [1]}])
    assert observe.read_services(tmp_path)["db"].damage.bad_lines == 1


def test_a_torn_stream_gives_its_whole_lines_whatever_the_byte(tmp_path):
    path = tmp_path / "probe.ndjson"
    write(path, [PROBE_HEADER, *({"k": "sample", "t_ns": t, "wall_ns": t, "host": {}} for t in range(5))])
    whole = path.read_bytes()
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        stream = observe.read_probe(tmp_path)
        assert len(stream.samples) + bool(stream.header) == whole[:length].count(b"\n")


def test_the_first_header_of_a_probe_is_its_header(tmp_path):
    second = PROBE_HEADER | {"host": {"cpus": 9}}
    write(tmp_path / "probe.ndjson", [PROBE_HEADER, second])
    write(tmp_path / "far.probe.ndjson", [second, PROBE_HEADER])
    assert observe.read_probe(tmp_path).header.host == {"cpus": 2}
    assert {name: stream.header.host for name, stream in observe.read_remote_probes(tmp_path).items()} == {
        "far": {"cpus": 9}
    }
