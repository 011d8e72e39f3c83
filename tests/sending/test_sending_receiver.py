from __future__ import annotations

import pytest

from towtank.errors import StudyError
from towtank.sending.receiver import read_receivers


def fault(*texts, **more):
    with pytest.raises(StudyError) as raised:
        read_receivers(texts, **more)
    return raised.value


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("prometheus=http://127.0.0.1:9090", "http://127.0.0.1:9090/api/v1/write"),
        ("prometheus=http://127.0.0.1:9090/", "http://127.0.0.1:9090/api/v1/write"),
        ("prometheus=http://127.0.0.1:8428/write/here", "http://127.0.0.1:8428/write/here"),
        ("prometheus=http://me:secret@127.0.0.1/w?tenant=1", "http://127.0.0.1/w"),
        ("otlp=http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics"),
        ("otlp=http://127.0.0.1:4318/v1/metrics", "http://127.0.0.1:4318/v1/metrics"),
        ("otlp=http://[::1]:4318/otlp", "http://[::1]:4318/otlp/v1/metrics"),
    ],
)
def test_requests_go_to_the_path_of_the_form(text, url):
    (found,) = read_receivers([text])
    assert found.shown == url
    assert found.addresses in (("127.0.0.1",), ("::1",))


@pytest.mark.parametrize(
    "text",
    [
        "", "http://127.0.0.1", "statsd=http://127.0.0.1", "otlp=", "otlp=127.0.0.1:4318", "otlp=ftp://127.0.0.1",
        "otlp=http://127.0.0.1/?a=b", "prometheus=http://", "prometheus=http://h:99999", "prometheus=http://[::1",
        "prometheus=http://127.0.0.1/a b", "prometheus=http://127.0.0.1/\r\nX: y", "prometheus=http://h/#f",
    ],
)  # fmt: skip
def test_what_is_no_receiver_is_refused(text):
    assert "--send: must be prometheus=http://127.0.0.1:9090/api/v1/write or otlp=" in str(fault(text))


def test_all_faults_are_reported_at_once():
    reported = str(fault("x", "y", headers=(("Two words", "a"), ("X", "λ"))))
    assert reported.count("--send:") == 2
    assert reported.count("--send-header:") == 2


def test_a_receiver_is_named_once():
    assert "each receiver once" in str(fault("otlp=http://127.0.0.1:1", "otlp=http://127.0.0.1:1/v1/metrics"))


def test_headers_alone_are_refused():
    assert "together with --send" in str(fault(headers=(("A", "b"),)))


def test_another_network_must_be_allowed_by_name():
    reported = fault("otlp=http://203.0.113.7:4318")
    assert "--send: must be on this machine or in a private network, got 203.0.113.7" in str(reported)
    assert "--i-may-send 203.0.113.7" in str(reported.hint)
    (found,) = read_receivers(["otlp=http://203.0.113.7:4318"], ["203.0.113.7"])
    assert found.addresses == ("203.0.113.7",)
