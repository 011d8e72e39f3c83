"""Certificate authority of a recording. It issues certificates for hosts on demand.

With the key of the authority, anyone can impersonate any server to a browser that trusts the authority. The key
therefore stays in memory, unless the user keeps the authority: then a private file stores the key for a month.
"""

from __future__ import annotations

import base64
import ipaddress
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from towtank.errors import StudyError

CERTIFICATE = "ca.pem"
_KEY = "ca.key"
_LIVES = timedelta(days=30)
# Shortest remaining validity with which a kept certificate authority is used again, so that it does not expire during a
# recording.
_LEFT_AT_LEAST = timedelta(days=1)
# The validity of a certificate starts this long before its creation, because the clocks of other machines may be slow.
_BEFORE = timedelta(days=1)


@dataclass
class Authority:
    """Certificate authority, with one key for the certificates of all hosts."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    def __post_init__(self) -> None:
        self._host_key = ec.generate_private_key(ec.SECP256R1())
        self._contexts: dict[str, ssl.SSLContext] = {}

    @property
    def pem(self) -> bytes:
        """Certificate of the authority in PEM, for installation in browsers."""
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def pin(self) -> str:
        """SHA-256 hash, in base64, of the key of all host certificates, in the form that Chromium expects."""
        public = self._host_key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        digest = hashes.Hash(hashes.SHA256())
        digest.update(public)
        return base64.b64encode(digest.finalize()).decode()

    def context(self, host: str) -> ssl.SSLContext:
        """Return the TLS server settings for a host. The settings are created at the first call for the host."""
        if host not in self._contexts:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.set_alpn_protocols(["http/1.1"])
            _load(context, self.signed(host))
            self._contexts[host] = context
        return self._contexts[host]

    def signed(self, host: str) -> bytes:
        """Return the private key and the certificate of a host in PEM."""
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            # The host is stated in the alternative name. The common name is constant, because its length is limited and
            # clients choose the host names.
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Towtank recorded server")]))
            .issuer_name(self.certificate.subject)
            .public_key(self._host_key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BEFORE)
            .not_valid_after(self.certificate.not_valid_after_utc)
            .add_extension(x509.SubjectAlternativeName([_general_name(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return _private_pem(self._host_key) + certificate.public_bytes(Encoding.PEM)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host.encode("idna").decode() if not host.isascii() else host)


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    """Load a certificate and its key into a TLS context, which reads only files; this file is in memory."""
    file = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        os.write(file, pem)
        context.load_cert_chain(f"/proc/self/fd/{file}")
    finally:
        os.close(file)


def new_authority() -> Authority:
    """Create a certificate authority that exists only in memory."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Towtank recording")])
    now = datetime.now(UTC)
    usage = {name: name in {"key_cert_sign", "crl_sign"} for name in _USAGES}
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BEFORE)
        .not_valid_after(now + _LIVES)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(key, certificate)


_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


@contextmanager
def authority_in(folder: Path, *, keep: bool) -> Iterator[Authority]:
    """Yield the certificate authority kept in a folder, or a new authority, which `keep` keeps for later recordings.
    The folder contains the certificate as long as the context is open; only the user can access it.

    Raises
    ------
    StudyError
        If a kept authority cannot be read, or the folder cannot be written.
    """
    certificate, key = folder / CERTIFICATE, folder / _KEY
    try:
        authority = _kept(certificate, key)
        if authority is None:
            authority = new_authority()
            key.unlink(missing_ok=True)
            if keep:
                _write(key, _private_pem(authority.key), 0o600)
            _write(certificate, authority.pem, 0o644)
    except OSError as error:
        message = f"must be a folder in which the certificate authority can be kept, got: {error.strerror}"
        raise StudyError.at(folder, message) from None
    try:
        yield authority
    finally:
        with suppress(OSError):
            # Another recording may have stored its authority in the meantime.
            if not key.exists() and certificate.read_bytes() == authority.pem:
                certificate.unlink()


def _kept(certificate: Path, key: Path) -> Authority | None:
    """Return the certificate authority stored in two files; None if a file is missing, or if the remaining validity of
    the certificate is too short or too long.
    """
    if not (certificate.exists() and key.exists()):
        return None
    found = _read(certificate, key)
    left = found.certificate.not_valid_after_utc - datetime.now(UTC)
    return found if _LEFT_AT_LEAST < left <= _LIVES else None


def _read(certificate: Path, key: Path) -> Authority:
    try:
        private = load_pem_private_key(key.read_bytes(), password=None)
        read = x509.load_pem_x509_certificate(certificate.read_bytes())
    except (ValueError, TypeError) as error:
        message = f"must be the certificate authority of recordings (remove both files to make a new one), got: {error}"
        raise StudyError.at(certificate.parent, message) from None
    sound = isinstance(private, ec.EllipticCurvePrivateKey)
    if not sound or private.public_key() != read.public_key():
        message = (
            "must be a certificate and its key, got a key of another certificate: remove both files to make new ones"
        )
        raise StudyError.at(certificate.parent, message)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    return Authority(private, read)


def _write(path: Path, pem: bytes, mode: int) -> None:
    """Write a file. It has the given access mode before it contains data."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    scratch = path.with_suffix(".new")
    with suppress(FileNotFoundError):
        scratch.unlink()
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
        stream.write(pem)
    scratch.replace(path)
