"""The certificate authority of a recording is deleted at its end, or stored privately for a month. A stored authority
that cannot be used is reported.
"""

from __future__ import annotations

import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from towtank.errors import StudyError
from towtank.record import authority as module
from towtank.record.authority import Authority, authority_in, new_authority


def kept(folder: Path) -> Authority:
    with authority_in(folder, keep=True) as authority:
        return authority


def test_it_goes_with_its_recording_and_its_key_is_in_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "record"
    with authority_in(folder, keep=False) as authority:
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"ca.pem": authority.pem}
    assert list(folder.iterdir()) == []


def test_one_that_is_kept_is_made_once_and_private(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "record"
    first = kept(folder)
    with authority_in(folder, keep=False) as second:
        assert first.pem == second.pem
    assert first.pem == (folder / "ca.pem").read_bytes()
    assert stat.S_IMODE((folder / "ca.key").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_it_and_its_certificates_live_for_a_month(tmp_path: Path) -> None:
    ends = datetime.now(UTC) + timedelta(days=30)
    authority = new_authority()
    host = x509.load_pem_x509_certificate(authority.signed("shop.example"))
    assert host.not_valid_after_utc == authority.certificate.not_valid_after_utc
    assert authority.certificate.not_valid_after_utc < ends + timedelta(hours=1)


@pytest.mark.parametrize("days", [3650, 31, 1], ids=["too long", "a little too long", "ends soon"])
def test_one_that_lives_too_long_or_ends_soon_is_not_taken(
    days: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LIVES", timedelta(days=days))
    old = new_authority()
    module._write(tmp_path / "ca.pem", old.pem, 0o644)
    module._write(tmp_path / "ca.key", module._private_pem(old.key), 0o600)
    monkeypatch.undo()
    with authority_in(tmp_path, keep=False) as authority:
        assert authority.pem != old.pem
    assert list(tmp_path.iterdir()) == []


def test_the_certificate_of_another_recording_stays(tmp_path: Path) -> None:
    with authority_in(tmp_path, keep=False), authority_in(tmp_path, keep=False):
        pass
    assert list(tmp_path.iterdir()) == []
    with authority_in(tmp_path, keep=False):
        (tmp_path / "ca.pem").write_bytes(b"of another one")
    assert (tmp_path / "ca.pem").read_bytes() == b"of another one"


def test_what_a_client_calls_a_host_is_no_name_of_its_owner() -> None:
    host = x509.load_pem_x509_certificate(new_authority().signed("shop.example"))
    assert "shop" not in host.subject.rfc4514_string()


@pytest.mark.parametrize(
    "host", ["shop.example", "127.0.0.1", "::1", "a-very-long-label." * 5 + "example", "bücher.example"]
)
def test_a_client_that_trusts_it_trusts_its_hosts(host: str, tmp_path: Path) -> None:
    """A TLS client that trusts the authority completes a handshake in memory. The standard library verifies the
    certificate.
    """
    authority = new_authority()
    trust = ssl.create_default_context(cadata=authority.pem.decode())
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = authority.context(host).wrap_bio(to_server, to_client, server_side=True)
    client = trust.wrap_bio(to_client, to_server, server_hostname=host)
    for _ in range(4):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert client.getpeercert()
    assert client.version() == "TLSv1.3"


def test_files_that_do_not_belong_together_are_reported(tmp_path: Path) -> None:
    kept(tmp_path)
    (tmp_path / "ca.pem").write_bytes(new_authority().pem)
    with pytest.raises(StudyError, match="got a key of another certificate"):
        kept(tmp_path)
    (tmp_path / "ca.key").write_text("rubbish")
    with pytest.raises(StudyError, match="must be the certificate authority of recordings"):
        kept(tmp_path)


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="must be a folder in which the certificate authority can be kept"):
        kept(tmp_path / "file" / "record")
