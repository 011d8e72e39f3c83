"""A certificate authority of the recording: made once, for its user only, and certificates for hosts on the fly.

Whoever has the key of the authority can pretend to be any server to a browser that trusts it. The key never leaves its
file, which only its owner can read.
"""

from __future__ import annotations

import base64
import ipaddress
import os
import ssl
from contextlib import suppress
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
_AUTHORITY_LIVES = timedelta(days=3650)
# Browsers refuse certificates of servers that live longer than 398 days.
_HOST_LIVES = timedelta(days=30)
# Clocks of other machines may be behind ours.
_BEFORE = timedelta(days=1)


@dataclass
class Authority:
    """An authority, and the one key of all its certificates for hosts."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    def __post_init__(self) -> None:
        self._host_key = ec.generate_private_key(ec.SECP256R1())
        self._contexts: dict[str, ssl.SSLContext] = {}

    @property
    def pem(self) -> bytes:
        """Its certificate, to be installed in browsers."""
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def pin(self) -> str:
        """SHA-256 of the key of all certificates for hosts, in base64, as Chromium takes it."""
        public = self._host_key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        digest = hashes.Hash(hashes.SHA256())
        digest.update(public)
        return base64.b64encode(digest.finalize()).decode()

    def context(self, host: str) -> ssl.SSLContext:
        """How a server of that name speaks TLS; made on the first use."""
        if host not in self._contexts:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.set_alpn_protocols(["http/1.1"])
            _load(context, self.signed(host))
            self._contexts[host] = context
        return self._contexts[host]

    def signed(self, host: str) -> bytes:
        """Key and certificate of a host, in PEM."""
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host[:64])]))
            .issuer_name(self.certificate.subject)
            .public_key(self._host_key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BEFORE)
            .not_valid_after(now + _HOST_LIVES)
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
    """Give a context its certificate; it takes files only, so that the key goes through one in memory."""
    file = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        os.write(file, pem)
        context.load_cert_chain(f"/proc/self/fd/{file}")
    finally:
        os.close(file)


def new_authority() -> Authority:
    """Make an authority that lives as long as its object."""
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
        .not_valid_after(now + _AUTHORITY_LIVES)
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


def kept_authority(folder: Path) -> Authority:
    """The authority kept in a folder; made on the first use, readable by its owner only.

    Raises
    ------
    StudyError
        If what is kept there cannot be read, or nothing can be kept there.
    """
    certificate, key = folder / CERTIFICATE, folder / _KEY
    try:
        if certificate.exists() and key.exists():
            found = _read(certificate, key)
            if found.certificate.not_valid_after_utc > datetime.now(UTC) + _HOST_LIVES:
                return found
        return _keep(new_authority(), certificate, key)
    except OSError as error:
        message = f"must be a folder in which the certificate authority can be kept, got: {error.strerror}"
        raise StudyError.at(folder, message) from None


def _read(certificate: Path, key: Path) -> Authority:
    try:
        private = load_pem_private_key(key.read_bytes(), password=None)
        read = x509.load_pem_x509_certificate(certificate.read_bytes())
    except (ValueError, TypeError) as error:
        message = f"must be the certificate authority of recordings (remove both files to make a new one), got: {error}"
        raise StudyError.at(certificate.parent, message) from None
    sound = isinstance(private, ec.EllipticCurvePrivateKey)
    if not sound or private.public_key() != read.public_key():
        message = "must be a certificate and its key (remove both files to make new ones), got two that do not match"
        raise StudyError.at(certificate.parent, message)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    return Authority(private, read)


def _keep(authority: Authority, certificate: Path, key: Path) -> Authority:
    """Write an authority; its key is private from its first byte on."""
    key.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for path, pem, mode in ((key, _private_pem(authority.key), 0o600), (certificate, authority.pem, 0o644)):
        scratch = path.with_suffix(".new")
        with suppress(FileNotFoundError):
            scratch.unlink()
        with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            stream.write(pem)
        scratch.replace(path)
    return authority
