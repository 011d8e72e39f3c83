"""Checks receivers of measurements, given on the command line as `prometheus=URL` or `otlp=URL`, and resolves their
host names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from towtank.errors import Fault, StudyError
from towtank.results import otlp_address
from towtank.workload import check_targets, host_and_port

OPTION = "--send"
Headers = tuple[tuple[str, str], ...]

_WRITE_PATH = "/api/v1/write"
_EXAMPLES = {"prometheus": "prometheus=http://127.0.0.1:9090/api/v1/write", "otlp": "otlp=http://127.0.0.1:4318"}
_NAME = re.compile(r"[A-Za-z0-9-]+")
_VALUE = re.compile("[\t\x20-\x7e\xa0-\xff]*")


@dataclass(frozen=True)
class Receiver:
    """Receiver of the measurements that are sent during a run: format (`prometheus` or `otlp`), URL, IP addresses of
    the host in the order of the attempts, and headers.

    The addresses are resolved before the run, so that they cannot change. The headers from the command line are never
    recorded, because they may contain a secret.
    """

    form: str
    url: SplitResult
    addresses: tuple[str, ...]
    headers: Headers = ()

    @property
    def shown(self) -> str:
        """URL of the receiver without login and query."""
        return f"{self.url.scheme}://{self.url.netloc.rpartition('@')[2]}{self.url.path}"


def read_receivers(texts: Sequence[str], allowed: Sequence[str] = (), headers: Headers = ()) -> list[Receiver]:
    """Parse the values of the option `--send`: `prometheus=URL` or `otlp=URL`. `allowed` are the hosts named with
    `--i-may-send`, and `headers` are the values of `--send-header`.

    Raises
    ------
    StudyError
        If a value is wrong, or names a host outside loopback and private networks that is not in `allowed`; contains
        all faults.
    TargetError
        If a host name cannot be resolved.
    """
    faults = [_fault("--send-header", _HEADER, f"{name}: {value}") for name, value in headers if _bad(name, value)]
    if headers and not texts:
        faults.append(Fault.of_option("--send-header", f"must be given together with {OPTION}"))
    found: list[tuple[str, SplitResult]] = []
    for text in texts:
        form, _, address = text.partition("=")
        url = _url(form, address)
        if url is None:
            faults.append(_fault(OPTION, f"must be {' or '.join(_EXAMPLES.values())}", text))
        elif any((form, url) == known for known in found):
            faults.append(_fault(OPTION, "must name each receiver once", text))
        else:
            found.append((form, url))
    if faults:
        raise StudyError(faults)
    addresses = [f"{url.scheme}://{url.netloc.rpartition('@')[2]}" for _, url in found]
    numbers = check_targets(addresses, allowed, where=OPTION, permit="--i-may-send")
    return [
        Receiver(form, url, tuple(numbers[host_and_port(address)[0]]), headers)
        for (form, url), address in zip(found, addresses, strict=True)
    ]


_HEADER = "must be a valid HTTP header: a name of letters, digits and dashes, and a value in Latin-1"


def _bad(name: str, value: str) -> bool:
    return not _NAME.fullmatch(name) or not _VALUE.fullmatch(value)


def _fault(option: str, must: str, got: str) -> Fault:
    return Fault.of_option(option, f"{must}, got {got!r} instead")


def _url(form: str, address: str) -> SplitResult | None:
    """Return the URL to which requests are posted, with the default path if none is given; None if it is invalid."""
    if form not in _EXAMPLES or not address.isascii() or not address.isprintable() or " " in address:
        return None
    try:
        url = urlsplit(address)
        right = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0 and not url.fragment
    except ValueError:
        return None
    if not right or (form == "otlp" and url.query):
        return None
    if form == "otlp":
        return urlsplit(otlp_address(address))
    return url._replace(path=_WRITE_PATH) if url.path in ("", "/") else url
