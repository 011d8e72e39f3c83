"""Connections to host names that have several addresses, and messages of failed connections."""

from __future__ import annotations

import errno
import http.client
import os
import re
import socket
import ssl
from contextlib import closing

import pytest

from towtank import dialing
from towtank.dialing import UnreachedError, connect_first, fact, next_step


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def test_the_next_address_is_tried_where_the_first_refuses() -> None:
    with closing(listening()) as server:
        port = server.getsockname()[1]
        # No program listens on this port at the first address.
        made, number = connect_first(["127.0.0.9", "127.0.0.1"], port, 60.0)
        with closing(made):
            assert number == "127.0.0.1"
            assert made.getpeername() == ("127.0.0.1", port)
            assert made.getblocking()


def test_the_first_address_that_takes_it_is_kept() -> None:
    with closing(listening()) as server:
        made, number = connect_first(["127.0.0.1", "127.0.0.9"], server.getsockname()[1], 60.0)
        made.close()
        assert number == "127.0.0.1"


def test_a_refusal_names_every_address_that_was_tried() -> None:
    with closing(listening()) as server:
        port = server.getsockname()[1]
    with pytest.raises(UnreachedError) as raised:
        connect_first(["127.0.0.9", "127.0.0.1"], port, 60.0)
    assert list(raised.value.attempts) == ["127.0.0.9", "127.0.0.1"]
    assert fact(raised.value) == "Connection refused, tried at 127.0.0.9, 127.0.0.1"
    assert next_step(raised.value) == "is the server up, and is the port right?"


def test_addresses_that_fail_differently_have_a_fact_each() -> None:
    attempts = {"::1": OSError(errno.ENETUNREACH, "x"), "127.0.0.1": OSError(errno.ECONNREFUSED, "x")}
    assert fact(UnreachedError(attempts)) == "::1: Network is unreachable; 127.0.0.1: Connection refused"


def test_without_time_nothing_is_reached() -> None:
    with pytest.raises(UnreachedError, match="timed out"):
        connect_first(["127.0.0.1"], 9, 0.0)


def test_addresses_keep_their_order_and_come_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(0, 0, 0, "", (number, 80)) for number in ("::1", "127.0.0.1", "::1")]
    monkeypatch.setattr(dialing.socket, "getaddrinfo", lambda *_, **__: found)
    assert dialing.addresses_of("localhost", 80) == ["::1", "127.0.0.1"]


EAI = [getattr(socket, name) for name in dir(socket) if name.startswith("EAI_") and name not in ("EAI_MAX",)]
FAILURES: list[BaseException] = [
    *(socket.gaierror(code, "raw") for code in EAI),
    *(OSError(number, os.strerror(number)) for number in dialing.NEXT_STEPS),
    ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)"),
    http.client.BadStatusLine("SSH-2.0"),
    http.client.LineTooLong("header line"),
    http.client.IncompleteRead(b"x", 9),
    http.client.RemoteDisconnected("Remote end closed connection without response"),
    UnicodeError("label too long"),
    TimeoutError("timed out"),
    OSError("raw"),
]


@pytest.mark.parametrize("error", FAILURES, ids=repr)
def test_each_failure_has_a_fact_and_a_next_step(error: BaseException) -> None:
    for text in (fact(error), next_step(error)):
        assert len(text) > 2
        assert not re.search(r"Error|Errno|_ssl|BadStatusLine|\bEAI_", text)


def test_each_code_of_a_name_has_its_own_fact() -> None:
    # On some systems two codes, such as EAI_NODATA and EAI_NONAME, have equal numbers and therefore the same
    # description.
    assert {code for code in EAI if code < 0} <= set(dialing.NAME_ERRORS)


# Numbers of X.509 errors of OpenSSL (`openssl/x509_vfy.h`). The `id` of a case is the name of the error without its
# prefix `X509_V_ERR_`.
STORE = "to the authorities of this machine (SSL_CERT_FILE)"
OF_A_NAME = "use a name that the certificate contains"
ANOTHER = "give the server another certificate"
CERTIFICATE_FAULTS = [
    pytest.param(9, "the certificate is not valid yet", "set the clocks of both machines", id="CERT_NOT_YET_VALID"),
    pytest.param(10, "the certificate has expired", "renew it", id="CERT_HAS_EXPIRED"),
    pytest.param(18, "the certificate is self-signed", f"add it {STORE}", id="DEPTH_ZERO_SELF_SIGNED_CERT"),
    pytest.param(
        19,
        "the root authority of the certificate is not known",
        f"add the authority {STORE}",
        id="SELF_SIGNED_CERT_IN_CHAIN",
    ),
    pytest.param(
        20,
        "the authority of the certificate is not known",
        f"add the authority {STORE}",
        id="UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    ),
    pytest.param(
        21,
        "the server sent no certificate of the issuing authority",
        "let the server send the whole chain",
        id="UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    ),
    pytest.param(62, "the certificate is not valid for the name", OF_A_NAME, id="HOSTNAME_MISMATCH"),
    pytest.param(64, "the certificate is not valid for the address", OF_A_NAME, id="IP_ADDRESS_MISMATCH"),
    pytest.param(23, "the certificate is not accepted", ANOTHER, id="CERT_REVOKED"),
    pytest.param(0, "the certificate is not accepted", ANOTHER, id="no-number"),
    pytest.param(9999, "the certificate is not accepted", ANOTHER, id="a-number-of-the-future"),
]


@pytest.mark.parametrize(("code", "said", "advice"), CERTIFICATE_FAULTS)
def test_each_fault_of_a_certificate_has_a_fact_and_a_next_step(code: int, said: str, advice: str) -> None:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] (_ssl.c:1006)")
    error.verify_code = code
    assert (fact(error), next_step(error)) == (said, advice)
