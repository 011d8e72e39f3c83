"""The authority is made once, kept private, and what cannot be used is told."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path

import pytest

from towtank.errors import StudyError
from towtank.record.authority import kept_authority, new_authority


def test_it_is_made_once_and_kept_private(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "record"
    first, second = kept_authority(folder), kept_authority(folder)
    assert first.pem == second.pem == (folder / "ca.pem").read_bytes()
    assert stat.S_IMODE((folder / "ca.key").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "host", ["shop.example", "127.0.0.1", "::1", "a-very-long-label." * 5 + "example", "bücher.example"]
)
def test_a_client_that_trusts_it_trusts_its_hosts(host: str, tmp_path: Path) -> None:
    """A whole handshake in memory, with the verification of the standard library."""
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


def test_files_that_do_not_belong_together_are_told(tmp_path: Path) -> None:
    kept_authority(tmp_path)
    (tmp_path / "ca.pem").write_bytes(new_authority().pem)
    with pytest.raises(StudyError, match="got two that do not match"):
        kept_authority(tmp_path)
    (tmp_path / "ca.key").write_text("rubbish")
    with pytest.raises(StudyError, match="must be the certificate authority of recordings"):
        kept_authority(tmp_path)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="must be a folder in which the certificate authority can be kept"):
        kept_authority(tmp_path / "file" / "record")
